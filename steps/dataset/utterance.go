package dataset

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"slices"
)

// utterance is a message of a recorded prompt, in its place after the earlier ones. Prompts that begin with the
// same messages share a branch of a tree. The text is not stored.
type utterance struct {
	before *utterance
	name   int64 // identifies it and all messages before it
	bytes  int   // length of this message
	// end is the number of tokens in a prompt up to here; unmeasured until a call determines it.
	end int
}

// utterances is the tree of a file. The seed of its hashes is random, because names are only compared within
// the process.
type utterances struct {
	seed  maphash.Seed
	known map[utteranceKey]*utterance
}

const unmeasured = -1

// namesEach is how many block names take as much memory as an utterance.
const namesEach = 12

type utteranceKey struct {
	before int64
	hash   uint64
}

func newUtterances() *utterances {
	return &utterances{seed: maphash.MakeSeed(), known: map[utteranceKey]*utterance{}}
}

// add returns the node of the last message of a prompt, and counts the new nodes in t.
func (u *utterances) add(t *Table, messages [][]byte) *utterance {
	var last *utterance
	for _, text := range messages {
		key := utteranceKey{hash: maphash.Bytes(u.seed, text)}
		if last != nil {
			key.before = last.name
		}
		next := u.known[key]
		if next == nil {
			next = &utterance{before: last, name: int64(len(u.known) + 1), bytes: len(text), end: unmeasured}
			u.known[key] = next
			t.blocks += namesEach
		}
		last = next
	}
	return last
}

// path returns the messages of a prompt, the first one first.
func (m *utterance) path() []*utterance {
	var out []*utterance
	for ; m != nil; m = m.before {
		out = append(out, m)
	}
	slices.Reverse(out)
	return out
}

// measure divides the tokens of a prompt among its messages. Messages measured by an earlier call keep their
// tokens; the others share the rest in proportion to their lengths.
func (m *utterance) measure(input int) {
	path := m.path()
	from := slices.IndexFunc(path, func(x *utterance) bool { return x.end == unmeasured })
	if from < 0 {
		return
	}
	begin, all := 0, 0
	if from > 0 {
		begin = path[from-1].end
	}
	for _, x := range path[from:] {
		all += x.bytes
	}
	room, read := max(input-begin, 0), 0
	for _, x := range path[from:] {
		read += x.bytes
		x.end = begin + int(float64(room)*float64(read)/float64(max(all, 1)))
	}
}

// follows reports whether a prompt begins with all messages of another and has more.
func (m *utterance) follows(other *utterance) bool {
	for x := m.before; x != nil; x = x.before {
		if x == other {
			return true
		}
	}
	return false
}

// messagesOf returns the elements of a JSON array, without white space between tokens. A text that is not an
// array is one message.
func messagesOf(text []byte) [][]byte {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		return [][]byte{text}
	}
	out := make([][]byte, len(list))
	for i, raw := range list {
		var b bytes.Buffer
		if json.Compact(&b, raw) != nil {
			b.Write(raw)
		}
		out[i] = b.Bytes()
	}
	return out
}
