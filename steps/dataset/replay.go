package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Timed is a Source whose prompts have times.
type Timed interface {
	Source
	// Len returns the number of requests that have a time.
	Len() int
	// Times returns the planned times of the first n requests, from the start of the run.
	Times(n int) []time.Duration
}

// Sessions is a source of sessions, in which some requests wait for others. The sessions of a trace are
// [Timed]: a request that waits for none begins at its time, and after its end the trace starts over with new
// sessions of the same lengths.
type Sessions interface {
	Source
	// Session returns the number of the session of request i. Requests returns the requests of a session,
	// ascending.
	Session(i int) int
	Requests(session int) []int
	// After returns the requests that must have ended before request i, and how long it waits after the last of
	// them. All have smaller numbers.
	After(i int) (requests []int, wait time.Duration)
	// Answers returns the requests whose answers are part of the prompt of request i, in order. It returns nil
	// if the answers are made up.
	Answers(i int) []int
	// Continue returns Prompt(i, s) with these answers as JSON strings. A nil answer is made up.
	Continue(i int, s Seeds, answers []json.RawMessage) Prompt
}

// CheckSessions returns an *InvalidError for a load that cannot send sessions, whose requests wait for each
// other.
func CheckSessions(l steps.Load) error {
	if l.Recorded() || l.Closed() {
		return nil
	}
	return invalid("arrival %q cannot send the sessions of a trace, whose requests wait for each other: "+
		"send them at their times with arrival = \"trace\", or so many at once with \"closed\" and max_concurrency", l.Arrival)
}

// trace makes the prompts of a trace.
type trace struct {
	maker
	entries []Entry
	block   int
	scale   float64
}

// sessions makes the prompts of a trace with sessions.
type sessions struct {
	trace
	// members holds the entries of each session.
	members [][]int
	// real means that prompts contain the server's answers.
	real bool
}

func newTrace(_ context.Context, d steps.Dataset, given Material) (Source, error) {
	m := newMaker(d, given.Corpus, false)
	t := trace{maker: m, entries: given.Table.Entries, block: option(m.spec, "block_size"), scale: timeScaleOf(m.spec)}
	if err := replayable(given.Table, d); err != nil {
		return nil, err
	}
	real := RealAnswers(d)
	switch {
	case given.Table.Sessions > 0 && real && !given.Chat:
		return nil, invalid("real_answers needs endpoint \"chat\", whose messages can hold them")
	case given.Table.Sessions > 0:
		return sessions{t, members(given.Table), real}, nil
	case real:
		return nil, invalid("%s: real_answers needs a trace of sessions, and this one does not say which requests belong together", m.spec.Path)
	}
	return t, nil
}

// replayable rejects a time_scale that makes a trace too long, and a block_size that names more tokens than the
// prompts have. It tolerates single prompts with one block too many.
func replayable(t *Table, d steps.Dataset) error {
	if last, scale := t.Entries[len(t.Entries)-1].At, timeScaleOf(d); float64(last)*scale > float64(maxTraceTime) {
		return invalid("%s: with a time_scale of %g the trace lasts too long", d.Path, scale)
	}
	block, named, have := option(d, blockSize.Name), 0, 0
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.blockSize != 0 || len(e.Blocks) == 0 {
			continue
		}
		named += (len(e.Blocks) - 1) * block
		have += e.Input
		if e.adds && e.Turn != nil {
			have -= e.Turn.Shared
		}
	}
	if named > have {
		return invalid("%s: all whole blocks of its hash_ids have %d tokens with a block_size of %d, and all its prompts %d: "+
			"give block_size, in the dataset or in each line, as the tokens that its blocks have", d.Path, named, block, have)
	}
	return nil
}

func (t trace) Len() int { return len(t.entries) }

func (t trace) Times(n int) []time.Duration {
	out := make([]time.Duration, min(n, len(t.entries)))
	for i := range out {
		out[i] = t.scaled(t.entries[i].At)
	}
	return out
}

func (t trace) scaled(d time.Duration) time.Duration { return time.Duration(float64(d) * t.scale) }

// piece is the part of a prompt up to a token, and its generator.
type piece struct {
	end int
	r   *rand.Rand
}

// pieces returns the parts of the prompt of request i. Blocks with the same name have the same content
// throughout a run, so the prefix cache hits as in the recorded service. The same holds for messages after the
// same messages. Tokens outside of any block are unique to this request. After its end the trace starts over
// with new content.
func (t trace) pieces(i int, seeds Seeds) []piece {
	at, round := i%len(t.entries), i/len(t.entries)
	e := &t.entries[at]
	content := seeds.Content + uint64(round)
	if e.Turn != nil && (e.adds || len(e.Blocks) == 0 && e.lastMessage == nil) {
		return t.turns(at, content)
	}
	var out []piece
	for _, m := range e.lastMessage.path() {
		out = append(out, piece{min(m.end, e.Input), stream(content, streamBlock, int(m.name))})
	}
	out = append(out, t.blocks(e, 0, e.Input, content)...)
	return append(out, piece{e.Input, stream(seeds.Content, streamContent, i)})
}

// blocks returns the blocks of an entry between two tokens of its prompt.
func (t trace) blocks(e *Entry, from, to int, content uint64) []piece {
	size := cmp.Or(e.blockSize, t.block)
	out := make([]piece, len(e.Blocks))
	for k, name := range e.Blocks {
		out[k] = piece{min(from+(k+1)*size, to), stream(content, streamBlock, int(name))}
	}
	return out
}

// turns returns the parts of a prompt that continues others: their prompts, their answers, and its own tokens.
func (t trace) turns(at int, content uint64) []piece {
	var out []piece
	e := &t.entries[at]
	for end := e.Input; ; {
		turn := e.Turn
		if turn.Shared < end {
			out = append(out, piece{end, stream(content, streamContent, at)})
			own := t.blocks(e, turn.Shared, end, content)
			slices.Reverse(own)
			out = append(out, own...)
		}
		end = min(end, turn.Shared)
		if turn.From == nil {
			if end > 0 {
				out = append(out, piece{end, stream(content, streamPrefix, 0)})
			}
			break
		}
		at = *turn.From
		e = &t.entries[at]
		if e.Input < end {
			out = append(out, piece{end, stream(content, streamAnswer, at)})
			end = e.Input
		}
	}
	slices.Reverse(out)
	return out
}

// output returns the number of tokens to request.
func (t trace) output(i int, seeds Seeds) int {
	if t.spec.OutputMin > 0 {
		return between(stream(seeds.Lengths, streamLengths, i), t.spec.OutputMin, t.spec.OutputMax)
	}
	return t.entries[i%len(t.entries)].Output
}

// Prompt returns a prompt with the lengths of entry i.
func (t trace) Prompt(i int, seeds Seeds) Prompt {
	p := Prompt{Input: t.entries[i%len(t.entries)].Input, Output: t.output(i, seeds)}
	pieces := t.pieces(i, seeds)
	if t.exact {
		for _, part := range pieces {
			p.IDs = t.draw.appendIDs(p.IDs, part.end, part.r)
		}
		return p
	}
	p.Text = t.text(pieces)
	return p
}

func (t trace) text(pieces []piece) string {
	var text strings.Builder
	for _, part := range pieces {
		t.draw.fill(&text, t.draw.bytes(part.end), part.r)
	}
	return text.String()
}

func (s sessions) Session(i int) int {
	return i/len(s.entries)*len(s.members) + s.entries[i%len(s.entries)].Turn.Session
}

func (s sessions) Requests(session int) []int {
	round := session / len(s.members)
	return s.inRound(round*len(s.entries), s.members[session%len(s.members)])
}

// members returns the entries of each session of a table.
func members(t *Table) [][]int {
	out := make([][]int, t.Sessions)
	for i := range t.Entries {
		at := t.Entries[i].Turn.Session
		out[at] = append(out[at], i)
	}
	return out
}

func (s sessions) After(i int) ([]int, time.Duration) {
	turn := s.entries[i%len(s.entries)].Turn
	return s.inRound(i, turn.After), s.scaled(turn.Wait)
}

// inRound maps entries to requests in the round of request i.
func (s sessions) inRound(i int, entries []int) []int {
	first := i / len(s.entries) * len(s.entries)
	if first == 0 {
		return entries
	}
	out := make([]int, len(entries))
	for k, at := range entries {
		out[k] = first + at
	}
	return out
}

// chain returns the entries that a prompt continues, the first one first.
func (s sessions) chain(at int) []int {
	var out []int
	for turn := s.entries[at].Turn; turn.From != nil; turn = s.entries[*turn.From].Turn {
		out = append(out, *turn.From)
	}
	slices.Reverse(out)
	return out
}

func (s sessions) Answers(i int) []int {
	if !s.real {
		return nil
	}
	return s.inRound(i, s.chain(i%len(s.entries)))
}

// Prompt implements Source. With real answers, made-up ones stand in for them.
func (s sessions) Prompt(i int, seeds Seeds) Prompt {
	if !s.real {
		return s.trace.Prompt(i, seeds)
	}
	return s.Continue(i, seeds, nil)
}

// Continue makes messages: the addition of each call to the prompt that it continues, and the answers in
// between.
func (s sessions) Continue(i int, seeds Seeds, answers []json.RawMessage) Prompt {
	at := i % len(s.entries)
	first := i - at
	p := Prompt{Input: s.entries[at].Input, Output: s.output(i, seeds)}
	var messages []message
	begin := 0
	for k, call := range append(s.chain(at), at) {
		e := &s.entries[call]
		messages = append(messages, message{"user", quote(s.between(first+call, seeds, begin, e.Input))})
		if call == at {
			break
		}
		answer := message{"assistant", nil}
		if begin = e.Input + e.Output; k < len(answers) && answers[k] != nil {
			answer.Content = answers[k]
		} else {
			r := stream(seeds.Content, streamAnswer, first+call)
			answer.Content = quote(s.draw.text(0, r, e.Output, r))
		}
		messages = append(messages, answer)
	}
	raw, err := json.Marshal(messages)
	if err != nil {
		panic("dataset: text cannot be JSON: " + err.Error()) // cannot happen for strings
	}
	p.Messages = raw
	return p
}

// between returns the text of a request's prompt between two tokens.
func (s sessions) between(i int, seeds Seeds, from, to int) string {
	var own []piece
	for _, part := range s.pieces(i, seeds) {
		if part.end > from {
			own = append(own, piece{min(part.end, to) - from, part.r})
		}
	}
	return s.text(own)
}
