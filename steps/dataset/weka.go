package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// wekaTrace is a session in the format of Weka's kv-cache-tester
// (https://github.com/callanjfox/kv-cache-tester), which AgentX also uses: a line with all calls of an agent.
// Times are in seconds.
type wekaTrace struct {
	BlockSize int         `json:"block_size"`
	Requests  []wekaEntry `json:"requests"`
}

// wekaEntry is a call (type "n", or "s" if streamed), or a subagent with its calls.
type wekaEntry struct {
	Type    string      `json:"type"`
	At      *float64    `json:"t"`
	Input   int         `json:"in"`
	Output  int         `json:"out"`
	HashIDs []int64     `json:"hash_ids"`
	Took    *float64    `json:"api_time"`
	Thought *float64    `json:"think_time"`
	Calls   []wekaEntry `json:"requests"`
	// Lasted is the duration of a subagent in milliseconds.
	Lasted float64 `json:"duration_ms"`
}

// weka reads lines of Weka's format.
type weka struct{ orderer }

func beginWeka(t *Table) (func(int, []byte) error, func() error) {
	w := &weka{orderer{table: t}}
	return w.line, func() error { w.finish(); return nil }
}

// line reads a session. Each session has its own clock and block names.
func (w *weka) line(n int, text []byte) error {
	var s wekaTrace
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("not a session of agents: %w", err)
	}
	if limit := options[blockSize.Name].high; s.BlockSize < 1 || s.BlockSize > limit {
		return fmt.Errorf("block_size = %d must be a whole number from 1 to %d", s.BlockSize, limit)
	}
	list, err := wekaSession{orderer: &w.orderer, line: n, block: s.BlockSize, relative: relative(s.Requests)}.spans(s.Requests, 0)
	if err != nil || len(list) == 0 {
		return err
	}
	_, err = w.arrange(list, nil, 1)
	w.number++
	return err
}

// relative reports whether the calls of subagents are timed from the start of the subagent, as kv-cache-tester
// writes them. Published sets time them from the start of the session.
func relative(list []wekaEntry) bool {
	return slices.ContainsFunc(list, func(e wekaEntry) bool {
		return e.At != nil && len(e.Calls) > 0 && e.Calls[0].At != nil && *e.Calls[0].At < *e.At
	})
}

// wekaSession reads the calls of one line.
type wekaSession struct {
	*orderer
	line, block int
	relative    bool
}

// spans reads the calls of an agent whose clock began at a given time. It drops calls without an answer, which
// failed in the recorded service.
func (s wekaSession) spans(list []wekaEntry, begin float64) ([]*span, error) {
	var out []*span
	var names blockNames
	timed := slices.ContainsFunc(list, func(e wekaEntry) bool { return e.Took != nil || e.Thought != nil })
	for i, e := range list {
		switch {
		case e.At == nil:
			return nil, fmt.Errorf("request %d has no t", i+1)
		case i > 0 && *e.At < *list[i-1].At:
			return nil, fmt.Errorf("request %d begins at %g s, before the one above it: times run backwards", i+1, *e.At)
		}
		at := begin + *e.At
		switch e.Type {
		case "n", "s":
			if e.Output == 0 {
				continue
			}
			if !timed && i+1 < len(list) {
				return nil, fmt.Errorf(
					"request %d: it has no api_time, nor what follows it a think_time, so that it is not known how long its tools took", i+1)
			}
			if err := s.addCall(s.entry(e, &names), at, e.took(list[i+1:])); err != nil {
				return nil, fmt.Errorf("request %d: %w", i+1, err)
			}
			out = append(out, s.callSpan(len(s.table.Entries)-1))
		case "subagent":
			group, err := s.subagent(e, begin)
			if err != nil {
				return nil, fmt.Errorf("subagent at request %d: %w", i+1, err)
			}
			if group != nil {
				out = append(out, group)
			}
		default:
			return nil, fmt.Errorf("request %d has the type %q; known are n, s and subagent", i+1, e.Type)
		}
	}
	return out, nil
}

func (s wekaSession) entry(e wekaEntry, names *blockNames) Entry {
	out := Entry{Input: e.Input, Output: e.Output, blockSize: s.block, line: s.line}
	if len(e.HashIDs) > 0 {
		scope := make([]int64, len(e.HashIDs))
		for k, id := range e.HashIDs {
			scope[k] = scoped(s.line, id)
		}
		out.Blocks = names.keep(s.table, scope)
	}
	return out
}

// took returns the duration of a call. A following call with a think_time began that long after it ended.
// Published traces have whole seconds, so an answer may seem to end up to a second too late. Without a
// duration, the call ends think_time before the next one, or at once if that has none, so that the next call
// waits for the whole gap, as in kv-cache-tester.
func (e wekaEntry) took(next []wekaEntry) float64 {
	took := 0.0
	if e.Took != nil {
		took = *e.Took
	}
	if len(next) == 0 || next[0].At == nil || next[0].Thought == nil {
		return took
	}
	switch gap := *next[0].At - *e.At; {
	case e.Took == nil:
		return max(gap-*next[0].Thought, 0)
	case took > gap && took < gap+1:
		return gap
	}
	return took
}

// subagent returns a subagent as a span, nil without calls.
func (s wekaSession) subagent(e wekaEntry, begin float64) (*span, error) {
	if slices.ContainsFunc(e.Calls, func(c wekaEntry) bool { return len(c.Calls) > 0 }) {
		return nil, errors.New("it has subagents of its own, which this form does not have")
	}
	start := begin
	if s.relative { // t is the end, if the duration is given
		start += *e.At - e.Lasted/1000
	}
	inner, err := s.spans(e.Calls, start)
	if err != nil || len(inner) == 0 {
		return nil, err
	}
	return group(inner, s.line), nil
}

// group returns the span over concurrent spans.
func group(inner []*span, line int) *span {
	g := &span{start: inner[0].start, end: inner[0].end, line: line, inner: inner}
	for _, s := range inner {
		g.start, g.end = min(g.start, s.start), max(g.end, s.end)
	}
	return g
}
