package dataset

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"slices"
)

// utterance is a message of a recorded prompt, after those that come before it. Prompts that begin with the same
// messages end in the same branch of one tree. Its text is not kept.
type utterance struct {
	before *utterance
	name   int64 // of it and all before it
	bytes  int   // of it alone
	// end is how many tokens a prompt has up to here, unmeasured until a call has said it.
	end int
}

// utterances are the tree of a file. The seed of its hashes does not leave the process: names are only compared.
type utterances struct {
	seed  maphash.Seed
	known map[utteranceKey]*utterance
}

const unmeasured = -1

// namesEach is how many names of blocks an utterance counts for, whose memory it takes.
const namesEach = 12

type utteranceKey struct {
	before int64
	hash   uint64
}

func newUtterances() *utterances {
	return &utterances{seed: maphash.MakeSeed(), known: map[utteranceKey]*utterance{}}
}

// add returns the last of the messages of a prompt, and counts in t those that are new.
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

// path are the messages of a prompt, from the first one on.
func (m *utterance) path() []*utterance {
	var out []*utterance
	for ; m != nil; m = m.before {
		out = append(out, m)
	}
	slices.Reverse(out)
	return out
}

// measure divides the tokens of a prompt among its messages: what an earlier call has said of the first of them
// holds, and the others have the rest by their lengths.
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

// messagesOf are the members of a JSON array, each without white space between its tokens; a text that is no
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
