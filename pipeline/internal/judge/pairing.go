package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/pairing"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// pairLaunches numbers the runs of imported results so that matching runs of two sides have the same number. It records
// the rule of the matching. keyed means that a parameter distinguishes launches.
func pairLaunches(p *plan.Plan, doc *result.Document, keyed bool) {
	done := map[string]bool{}
	for _, g := range p.Gates {
		if g.BaselineKind != result.BaselinePaired || done[g.Benchmark] {
			continue
		}
		done[g.Benchmark] = true
		i := slices.IndexFunc(doc.Benchmarks, func(b result.Benchmark) bool { return b.Addr == g.Benchmark })
		if i < 0 {
			continue
		}
		s := sorted{doc: doc, benchmark: &doc.Benchmarks[i], axis: g.Axis, base: g.BaseValue, keyed: keyed}
		for _, group := range s.groups() {
			s.pair(group)
		}
	}
	for _, found := range doc.Pairings {
		for _, note := range pairingNotes(found) {
			if !slices.Contains(doc.Warnings, note) {
				doc.Warnings = append(doc.Warnings, note)
			}
		}
	}
	countPairs(doc)
}

// sorted holds a benchmark whose launches are being paired along an axis.
type sorted struct {
	doc        *result.Document
	benchmark  *result.Benchmark
	axis, base string
	keyed      bool
}

// group is a set of cells whose sides share their launches: the cells of all rates, for example, if each launch
// measured every rate.
type group []*result.Cell

// groups groups the cells by their coordinates without the axis. It merges groups that a launch measured together.
func (s sorted) groups() []group {
	var out []group
	byRest := map[string]int{}
	byLaunch := map[string]int{}
	for i := range s.benchmark.Cells {
		c := &s.benchmark.Cells[i]
		value, others := result.SplitAxis(c.Values, s.axis)
		rest := result.CoordinatesKey(others)
		at, known := byRest[rest]
		for _, r := range c.Runs {
			if other, seen := byLaunch[value+" "+r.Launch]; seen && !known {
				at, known = other, true
			}
		}
		if !known {
			at = len(out)
			out = append(out, nil)
		}
		byRest[rest] = at
		for _, r := range c.Runs {
			byLaunch[value+" "+r.Launch] = at
		}
		out[at] = append(out[at], c)
	}
	return out
}

// started holds the launches of one value of the axis, in order, with their ids.
type started struct {
	ids      []string
	launches []pairing.Launch
}

func (s sorted) started(g group, value string) started {
	at := map[string]time.Time{}
	for _, c := range g {
		if v, _ := result.SplitAxis(c.Values, s.axis); v != value {
			continue
		}
		for _, r := range c.Runs {
			if first, seen := at[r.Launch]; !seen || r.Started.Before(first) {
				at[r.Launch] = r.Started
			}
		}
	}
	var out started
	for id := range at {
		out.ids = append(out.ids, id)
	}
	timed := !slices.ContainsFunc(out.ids, func(id string) bool { return at[id].IsZero() })
	slices.SortFunc(out.ids, func(a, b string) int {
		if c := at[a].Compare(at[b]); timed && c != 0 {
			return c
		}
		return cmp.Or(pairing.Natural(s.name(a), s.name(b)), cmp.Compare(a, b))
	})
	for _, id := range out.ids {
		out.launches = append(out.launches, pairing.Launch{Name: s.name(id), At: at[id]})
	}
	return out
}

// name returns the name of a launch in its results.
func (s sorted) name(id string) string {
	for _, l := range s.doc.Launches {
		if l.ID == id {
			return l.Name
		}
	}
	return id
}

// values returns the group's values on the axis without the base's, in order.
func (s sorted) values(g group) []string {
	var out []string
	for _, c := range g {
		if v, _ := result.SplitAxis(c.Values, s.axis); v != s.base && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// pair numbers the runs of a group. Runs of the base are numbered in order, or by the number in their results; runs of
// the other values get the number of their partner.
func (s sorted) pair(g group) {
	base := s.started(g, s.base)
	number := map[string]int{}
	next := 1
	for i, id := range base.ids {
		number[id] = i + 1
		if n, err := strconv.Atoi(base.launches[i].Name); s.keyed && err == nil && n > 0 {
			number[id] = n
		}
		next = max(next, number[id]+1)
	}
	s.renumber(g, s.base, number)
	for _, value := range s.values(g) {
		head := s.started(g, value)
		m := pairing.Pair(base.launches, head.launches, s.keyed)
		of := map[string]int{}
		for _, c := range m.Pairs {
			of[head.ids[c.Head]] = number[base.ids[c.Base]]
		}
		for _, i := range m.AloneHead {
			of[head.ids[i]] = next
			next++
		}
		s.renumber(g, value, of)
		s.note(value, base.launches, head.launches, m)
	}
}

// renumber sets the repeat numbers of the runs of one value of the axis.
func (s sorted) renumber(g group, value string, number map[string]int) {
	for _, c := range g {
		if v, _ := result.SplitAxis(c.Values, s.axis); v != value {
			continue
		}
		for i := range c.Runs {
			c.Runs[i].Repeat = number[c.Runs[i].Launch]
		}
		slices.SortStableFunc(c.Runs, func(a, b result.Run) int { return cmp.Compare(a.Repeat, b.Repeat) })
	}
	for i := range s.doc.Launches {
		if n, ok := number[s.doc.Launches[i].ID]; ok {
			s.doc.Launches[i].Repeat = n
		}
	}
}

// note records how the launches were paired.
func (s sorted) note(value string, base, head []pairing.Launch, m pairing.Match) {
	p := result.Pairing{
		Benchmark: s.benchmark.Addr, Axis: s.axis, Base: s.base, Head: value, Rule: string(m.Rule), How: m.Rule.Text(),
		Pairs: len(m.Pairs), Launches: max(len(base), len(head)), Problem: m.Problem,
	}
	for _, i := range m.AloneBase {
		p.Unpaired = append(p.Unpaired, s.base+" "+base[i].Name)
	}
	for _, i := range m.AloneHead {
		p.Unpaired = append(p.Unpaired, value+" "+head[i].Name)
	}
	if m.Timed {
		p.Order = result.OrderNotAlternated
		if m.Alternated {
			p.Order = result.OrderAlternated
		}
	}
	s.doc.Pairings = append(s.doc.Pairings, p)
}

// pairingNotes returns the problems of a pairing.
func pairingNotes(p result.Pairing) []string {
	const most = 6
	sides := fmt.Sprintf("%s=%s and %s=%s", p.Axis, p.Base, p.Axis, p.Head)
	if p.Problem != "" {
		return []string{sides + ": " + p.Problem}
	}
	if p.Pairs == 0 {
		return nil // the gates report which side is missing
	}
	var out []string
	if n := len(p.Unpaired); n > 0 {
		names := strings.Join(p.Unpaired[:min(n, most)], ", ")
		if n > most {
			names += ", …"
		}
		out = append(out, fmt.Sprintf("%s: %d launches have no partner and are not compared (%s); the others are paired %s",
			sides, n, names, p.How))
	}
	switch p.Order {
	case result.OrderNotAlternated:
		out = append(out, sides+" were not alternated: what changed on the machine between them counts as a difference of the sides")
	case "":
		out = append(out, fmt.Sprintf("%s are paired %s; their results have no times, so whether they were alternated is not known", sides,
			p.How))
	}
	return out
}

// countPairs sets the done repeats to the fewest pairs of a comparison, and the planned repeats to the most possible.
func countPairs(doc *result.Document) {
	for i, p := range doc.Pairings {
		if i == 0 || p.Pairs < doc.RepeatsDone {
			doc.RepeatsDone = p.Pairs
		}
		doc.RepeatsPlanned = max(doc.RepeatsPlanned, p.Launches)
	}
}
