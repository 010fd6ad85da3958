package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// mooncakeLine is a line of Mooncake's format (https://github.com/kvcache-ai/Mooncake), which has the first
// four members. The others describe sessions: session_id and delay follow NVIDIA's aiperf and Dynamo;
// block_size, duration, id and parents are extensions of this project.
type mooncakeLine struct {
	Timestamp *float64 `json:"timestamp"` // all times in milliseconds
	Input     *int     `json:"input_length"`
	Output    *int     `json:"output_length"`
	HashIDs   []int64  `json:"hash_ids"`
	BlockSize int      `json:"block_size"`

	Session  *string  `json:"session_id"`
	Delay    *float64 `json:"delay"`
	Duration *float64 `json:"duration"`
	ID       *string  `json:"id"`
	Parents  []string `json:"parents"`

	// ChatID occurs in Alibaba's Bailian traces (https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon).
	ChatID json.RawMessage `json:"chat_id"`
	// WaitFor occurs in Dynamo's agent graphs, which are not supported.
	WaitFor json.RawMessage `json:"wait_for"`
}

// bailianBlock is the block size of Bailian's traces in tokens. Their times are in seconds.
const bailianBlock = 16

// mooncake reads lines of Mooncake's format.
type mooncake struct {
	orderer
	names    map[string]*mooncakeSession
	sessions []*mooncakeSession // includes sessions of a single call
	plain    blockNames         // of lines without a session
	latest   float64            // latest timestamp, in milliseconds
}

// mooncakeSession holds the lines of one session, in order.
type mooncakeSession struct {
	blockNames
	calls []int
	ids   map[string]int
	// parents of the calls by ID; either all calls have them or none.
	parents map[int][]string
	// chained means that the lines give their delay after the line before.
	chained bool
	// first is the first block of the session. whole is set by the second line of a chain: whether the later
	// lines begin with it.
	first *int64
	whole *bool
	// untimed is the first call without a recorded duration.
	untimed *int
}

func beginMooncake(t *Table) (func(int, []byte) error, func() error) {
	m := &mooncake{orderer: orderer{table: t}, names: map[string]*mooncakeSession{}, latest: math.Inf(-1)}
	return m.line, m.end
}

func (m *mooncake) line(n int, text []byte) error {
	var l mooncakeLine
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("not a JSON object of a trace: %w", err)
	}
	if l.Input == nil || l.Output == nil || (l.Timestamp == nil && (l.Session == nil || l.Delay == nil)) {
		return errors.New("it needs timestamp (milliseconds), input_length and output_length; a later line of a session_id can have a delay in " +
			"the place of its timestamp")
	}
	if l.WaitFor != nil {
		return errors.New("it has wait_for, of Dynamo's agentic traces, which are not read: give its session id, parents and duration instead")
	}
	if l.ChatID != nil && l.Timestamp != nil {
		*l.Timestamp *= 1000
		l.BlockSize = bailianBlock
	}
	if limit := options[blockSize.Name].high; l.BlockSize < 0 || l.BlockSize > limit {
		return fmt.Errorf("block_size = %d must be a whole number from 1 to %d", l.BlockSize, limit)
	}
	s := m.session(l.Session)
	e := Entry{Input: *l.Input, Output: *l.Output, blockSize: l.BlockSize, line: n}
	at, err := m.time(l, s, &e)
	if err != nil {
		return err
	}
	switch {
	case len(l.HashIDs) == 0:
	case l.Session == nil:
		e.Blocks = m.plain.keep(m.table, l.HashIDs)
	default:
		e.Blocks = s.keep(m.table, l.HashIDs)
	}
	took := 0.0
	if l.Duration != nil {
		took = *l.Duration / 1000
	}
	if err := m.addCall(e, at, took); err != nil {
		return err
	}
	return s.add(l, len(m.table.Entries)-1)
}

// session returns the session of a line, a new one if it has no name or a new name.
func (m *mooncake) session(name *string) *mooncakeSession {
	if name != nil && m.names[*name] != nil {
		return m.names[*name]
	}
	s := &mooncakeSession{}
	m.sessions = append(m.sessions, s)
	if name != nil {
		m.names[*name] = s
	}
	return s
}

// time returns when a line's call began, in seconds. It sets e.adds if the prompt continues the previous
// line's.
func (m *mooncake) time(l mooncakeLine, s *mooncakeSession, e *Entry) (float64, error) {
	switch first := len(s.calls) == 0; {
	case l.Delay != nil && !first && !(*l.Delay >= 0):
		return 0, fmt.Errorf("its delay of %g ms is negative: times run backwards", *l.Delay)
	case l.Delay != nil && !first:
		last := s.calls[len(s.calls)-1]
		if e.adds = s.adds(l); e.adds {
			e.Input += m.table.Entries[last].Input + m.table.Entries[last].Output
		}
		if s.whole != nil && *s.whole == e.adds {
			return 0, errors.New("of its session some later lines begin with the first block, as whole prompts do, and others do not, as what is " +
				"added to a prompt: give all of them whole, or none")
		}
		s.whole = new(!e.adds)
		return m.ends[last].Seconds() + *l.Delay/1000, nil
	case l.Timestamp == nil:
		return 0, errors.New("the first line of a session needs a timestamp")
	case l.ID == nil && *l.Timestamp < m.latest: // a line with an ID is written when its call has ended
		return 0, errors.New("its time is before that of a line above: sort the trace by time")
	}
	m.latest = max(m.latest, *l.Timestamp)
	return *l.Timestamp / 1000, nil
}

// adds reports whether a later line of a chain lists only its addition to the conversation, as aiperf writes
// it. A whole prompt, as Dynamo writes it, begins with the first block of the session.
func (s *mooncakeSession) adds(l mooncakeLine) bool {
	return len(l.HashIDs) == 0 || s.first == nil || l.HashIDs[0] != *s.first
}

// add records which earlier lines a line refers to.
func (s *mooncakeSession) add(l mooncakeLine, call int) error {
	first := len(s.calls) == 0
	s.calls = append(s.calls, call)
	if first && len(l.HashIDs) > 0 {
		s.first = new(l.HashIDs[0])
	}
	if l.ID != nil {
		if _, twice := s.ids[*l.ID]; twice {
			return fmt.Errorf("the id %q is there twice", *l.ID)
		}
		if s.ids == nil {
			s.ids = map[string]int{}
		}
		s.ids[*l.ID] = call
	}
	switch chained := l.Delay != nil && !first; {
	case chained && len(s.calls) > 2 && !s.chained, !chained && s.chained:
		return errors.New("lines of its session have a delay, and others a timestamp: give all later ones a delay, or none")
	case (l.Parents != nil) != (s.parents != nil) && !first:
		return errors.New("lines of its session have parents, and others not: give them to all, as a list that can be empty, or to none")
	case chained && l.Parents != nil:
		return errors.New("it has both parents and a delay; the delay is that after the line before")
	case l.Parents != nil:
		if s.parents == nil {
			s.parents = map[int][]string{}
		}
		s.parents[call] = l.Parents
	default:
		s.chained = chained
	}
	if l.Duration == nil && s.untimed == nil {
		s.untimed = &call
	}
	return nil
}

// end determines what the calls of each session waited for.
func (m *mooncake) end() error {
	if len(m.names) == 0 {
		return nil
	}
	for _, s := range m.sessions {
		if err := m.arrangeCalls(s); err != nil {
			return err
		}
		m.number++
	}
	m.finish()
	return nil
}

func (m *mooncake) arrangeCalls(s *mooncakeSession) error {
	switch {
	case s.parents != nil:
		return m.followParents(s)
	case s.chained:
		for i, call := range s.calls {
			if err := m.set(call, s.calls[max(i-1, 0):i], nil); err != nil {
				return err
			}
		}
		return nil
	case s.untimed != nil && *s.untimed != s.calls[len(s.calls)-1]:
		return lineError(m.table.Entries[*s.untimed].line, "other lines of its session come after it: give it a duration (milliseconds), or "+
			"them a delay, so that it is known how long they waited")
	}
	list := make([]*span, len(s.calls))
	for i, call := range s.calls {
		list[i] = m.callSpan(call)
	}
	_, err := m.arrange(list, nil, 1)
	return err
}

// followParents makes each call wait for its parents. It visits parents before children.
func (m *mooncake) followParents(s *mooncakeSession) error {
	waits, left, children := map[int][]int{}, map[int]int{}, map[int][]int{}
	var ready []int
	for _, call := range s.calls {
		for _, id := range s.parents[call] {
			parent, known := s.ids[id]
			if !known {
				return lineError(m.table.Entries[call].line, "its session has no line with the id %q, which its parents name", id)
			}
			waits[call] = append(waits[call], parent)
			children[parent] = append(children[parent], call)
		}
		if slices.Sort(waits[call]); len(waits[call]) > maxWaits {
			return lineError(m.table.Entries[call].line, "it has more than %d parents", maxWaits)
		}
		if left[call] = len(waits[call]); left[call] == 0 {
			ready = append(ready, call)
		}
	}
	done := 0
	for ; done < len(ready); done++ {
		call := ready[done]
		if err := m.set(call, slices.Compact(waits[call]), nil); err != nil {
			return err
		}
		for _, child := range children[call] {
			if left[child]--; left[child] == 0 {
				ready = append(ready, child)
			}
		}
	}
	if done == len(s.calls) {
		return nil
	}
	for _, call := range s.calls {
		if left[call] > 0 {
			return lineError(m.table.Entries[call].line, "its parents wait for it, or for one that does: a cycle")
		}
	}
	return nil
}
