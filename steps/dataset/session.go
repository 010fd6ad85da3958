package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Limits for recorded sessions, whose files are untrusted.
const (
	maxDepth = 1000 // nesting of agents
	maxWaits = 4096 // calls that one call may wait for
	maxLook  = 64   // concurrent calls that are examined for the one that a call continues
)

// Turn is the place of a call in a recorded session.
type Turn struct {
	// Session is the number of the session from 0, ordered by first calls.
	Session int
	// After lists the entries whose answers must be complete before this one is sent.
	After []int
	// Wait is the time between the last of these answers and this call, spent by tools or a person. Without
	// After it is 0, and the call begins at its own time.
	Wait time.Duration
	// From is the call whose prompt and answer this prompt begins with, nil if none.
	From *int
	// Shared is the number of tokens at the start of the prompt that already existed: of the prompt and answer
	// of From or, without it, of a beginning common to sessions. If there are blocks, they determine it.
	Shared int
	// rank orders calls with equal times.
	rank int
}

// span is an interval of a recorded session: one call, or an agent or tool with the spans inside it.
type span struct {
	start, end time.Duration
	line       int
	// call is the entry of a call; nil for a group, which has inner spans.
	call  *int
	inner []*span

	place int   // position among its siblings by start
	exits []int // its last calls
}

// lineError returns an error about a line of the file, which may be found while reading a later line.
func lineError(line int, format string, args ...any) error {
	return &faultyLine{line, fmt.Errorf(format, args...)}
}

type faultyLine struct {
	line int
	err  error
}

func (e *faultyLine) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *faultyLine) Unwrap() error { return e.err }

// orderer determines what each call of the sessions in a table waited for.
type orderer struct {
	table *Table
	// ends are the end times of the calls, by entry.
	ends []time.Duration
	// number of the current session, and rank of the next call.
	number, rank int
}

// addCall adds a call with its begin and duration, in seconds.
func (o *orderer) addCall(e Entry, begin, took float64) error {
	if !(took >= 0) || took > maxTraceTime.Seconds() {
		return fmt.Errorf("it took %g s: times run backwards, or out of range", took)
	}
	if err := o.table.addAt(e, begin); err != nil {
		return err
	}
	o.ends = append(o.ends, o.table.Entries[len(o.table.Entries)-1].At+seconds(took))
	return nil
}

// callSpan returns the span of an entry.
func (o *orderer) callSpan(entry int) *span {
	e := &o.table.Entries[entry]
	return &span{start: e.At, end: o.ends[entry], line: e.line, call: &entry}
}

// arrange determines what the calls in a list of sibling spans waited for. A span waits for those that ended
// before it began, except those that another of them waited for. Overlapping calls do not wait for each other.
// A group's first calls wait for what the group waits for, and the spans after a group wait for its last calls.
// It returns the last calls of the list.
func (o *orderer) arrange(list []*span, before []int, depth int) ([]int, error) {
	if depth > maxDepth {
		return nil, lineError(list[0].line, "more than %d spans within each other", maxDepth)
	}
	slices.SortStableFunc(list, func(a, b *span) int { return cmp.Compare(a.start, b.start) })
	for i, s := range list {
		s.place = i
	}
	byEnd := slices.Clone(list)
	slices.SortStableFunc(byEnd, func(a, b *span) int { return cmp.Compare(a.end, b.end) })
	over, latest := 0, -1 // number of ended spans in byEnd, and the place of the one among them that began last
	for i, s := range list {
		for over < len(byEnd) && byEnd[over].end <= s.start && byEnd[over].place < i {
			latest = max(latest, byEnd[over].place)
			over++
		}
		waits, err := lastOf(byEnd[:over], list, latest, s.line)
		if err != nil {
			return nil, err
		}
		if latest < 0 {
			waits = before
		}
		if s.call == nil {
			s.exits, err = o.arrange(s.inner, waits, depth+1)
		} else {
			s.exits = []int{*s.call}
			err = o.set(*s.call, waits, beside(list[:i], s.start))
		}
		if err != nil {
			return nil, err
		}
	}
	return lastOf(byEnd, list, len(list)-1, list[0].line)
}

// lastOf returns the last calls of the ended spans: those of spans with no other ended span after them. The
// span at place latest in list began last.
func lastOf(over, list []*span, latest, line int) ([]int, error) {
	if latest < 0 {
		return nil, nil
	}
	last := list[latest]
	calls := slices.Clone(last.exits)
	for k := len(over) - 1; k >= 0 && over[k].end > last.start; k-- {
		if over[k] != last {
			calls = append(calls, over[k].exits...)
		}
		if len(calls) > maxWaits {
			return nil, lineError(line, "more than %d calls ran side by side before it", maxWaits)
		}
	}
	slices.Sort(calls)
	return slices.Compact(calls), nil
}

// beside returns the last calls in a list that had ended at a time.
func beside(list []*span, at time.Duration) []int {
	var calls []int
	for _, s := range list[max(len(list)-maxLook, 0):] {
		if s.call != nil && s.end <= at {
			calls = append(calls, *s.call)
		}
	}
	return calls
}

// set records what a call waited for, and which call it continues: one of waits or of beside.
func (o *orderer) set(call int, waits, beside []int) error {
	e := &o.table.Entries[call]
	turn := &Turn{Session: o.number, After: waits, rank: o.rank}
	o.rank++
	if len(waits) > 0 {
		last := o.ends[waits[0]]
		for _, p := range waits {
			last = max(last, o.ends[p])
		}
		if turn.Wait = e.At - last; turn.Wait < 0 {
			return lineError(e.line, "it begins %v before the end of a call that it waits for: times run backwards", -turn.Wait)
		}
	}
	for _, list := range [][]int{waits, beside} {
		for _, p := range list {
			before := &o.table.Entries[p]
			if whole := before.Input + before.Output; whole > turn.Shared && continues(e, before) {
				turn.Shared, turn.From = whole, &p
			}
		}
	}
	if e.cached != nil {
		turn.Shared = min(*e.cached, cmp.Or(turn.Shared, e.Input-1))
	}
	e.Turn = turn
	return nil
}

// continues reports whether a prompt can begin with another prompt and its answer: it is longer, and begins
// with the other's whole blocks or messages, if recorded.
func continues(e, before *Entry) bool {
	switch {
	case e.adds:
		return true
	case before.Input+before.Output >= e.Input, len(e.Blocks) == 0 != (len(before.Blocks) == 0),
		(e.lastMessage == nil) != (before.lastMessage == nil):
		return false
	case e.lastMessage != nil:
		return e.lastMessage.follows(before.lastMessage)
	}
	whole := max(len(before.Blocks)-1, 0) // the last block may be partial
	return len(e.Blocks) >= whole && slices.Equal(e.Blocks[:whole], before.Blocks[:whole])
}

// finish sorts the entries by time, such that every call comes after those it waits for.
func (o *orderer) finish() {
	entries := o.table.Entries
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(entries[a].At, entries[b].At), cmp.Compare(entries[a].Turn.rank, entries[b].Turn.rank))
	})
	places, sorted, sessions := make([]int, len(order)), make([]Entry, len(order)), map[int]int{}
	for to, from := range order {
		places[from], sorted[to] = to, entries[from]
	}
	moved := func(i int) int { return places[i] }
	for i := range sorted {
		turn := sorted[i].Turn
		if _, known := sessions[turn.Session]; !known {
			sessions[turn.Session] = len(sessions)
		}
		turn.Session = sessions[turn.Session]
		after := make([]int, len(turn.After)) // a copy, because calls share the slice
		for k, p := range turn.After {
			after[k] = moved(p)
		}
		slices.Sort(after)
		turn.After = after
		if turn.From != nil {
			from := moved(*turn.From)
			turn.From = &from
		}
	}
	o.table.Entries, o.table.Sessions = sorted, len(sessions)
}
