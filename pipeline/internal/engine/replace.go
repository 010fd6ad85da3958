package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// replacement plans the next repeat that measures void runs again. It takes the first repeat that still has void runs,
// and measures all sides of the affected cells, in the order and with the content of that repeat. It returns false if
// no void runs are left or the cap is reached: those runs stay void. The result depends only on the plan and the
// launches so far, so that a resumed run gets the same.
func replacement(p *plan.Plan, done []Launched) (r plan.Repeat, replaces int, ok bool) {
	groups := ComparedTogether(p)
	open, spent := voids(groups, done)
	left := replaceCap(p, groups) - spent
	for _, rep := range p.Repeats {
		again := open[rep.Index]
		if len(again) == 0 || left <= 0 {
			continue
		}
		again = again[:min(len(again), left)]
		r = only(rep, lastRepeat(p, done)+1, func(cell string) bool { return slices.Contains(again, groups[cell]) })
		if !slices.ContainsFunc(r.Launches, func(l plan.Launch) bool { return givenUp(p, done, l.Target) }) {
			return r, rep.Index, true
		}
	}
	return plan.Repeat{}, 0, false
}

// replaceCap returns how often a cell with its sides may be measured again, over all cells and repeats: 30 % of the
// planned number, rounded up.
func replaceCap(p *plan.Plan, groups map[string]string) int {
	type place struct {
		repeat int
		group  string
	}
	planned := map[place]bool{}
	for _, r := range p.Repeats {
		for _, l := range r.Launches {
			for _, run := range l.Runs {
				planned[place{r.Index, groups[run.Cell]}] = true
			}
		}
	}
	return (len(planned)*3 + 9) / 10
}

// ComparedTogether returns, for each cell, the group of all cells that it is compared with, directly or not. A group is
// named by one of its cells. A cell without a comparison is alone.
func ComparedTogether(p *plan.Plan) map[string]string {
	groups := map[string]string{}
	for _, b := range p.Benchmarks {
		for _, c := range b.Cells {
			groups[c.Hash] = c.Hash
		}
	}
	for _, g := range p.Gates {
		for _, c := range g.Comparisons {
			if c.Base == "" || groups[c.Base] == groups[c.Head] {
				continue
			}
			joined := groups[c.Head]
			for cell, group := range groups {
				if group == joined {
					groups[cell] = groups[c.Base]
				}
			}
		}
	}
	return groups
}

// voids returns the groups with a cell whose latest run for a planned repeat is void, by that repeat and in run order.
// It also returns how often groups were measured again.
func voids(groups map[string]string, done []Launched) (open map[int][]string, spent int) {
	type place struct {
		name   string // of a cell or a group
		repeat int
	}
	type state struct {
		repeat int // the latest, with all passes
		void   bool
	}
	latest := map[place]state{}
	again := map[place]bool{}
	var order []place
	for _, l := range done {
		for _, cr := range l.Runs {
			at := place{cr.Cell, cr.Run.Pair()}
			now, seen := latest[at]
			if !seen {
				order = append(order, at)
			}
			void := cr.Run.Status == result.RunVoid
			latest[at] = state{cr.Run.Repeat, void || now.void && now.repeat == cr.Run.Repeat}
			if cr.Run.Replaces > 0 {
				again[place{groups[cr.Cell], cr.Run.Repeat}] = true
			}
		}
	}
	open = map[int][]string{}
	for _, at := range order {
		group := groups[at.name]
		if latest[at].void && !slices.Contains(open[at.repeat], group) {
			open[at.repeat] = append(open[at.repeat], group)
		}
	}
	return open, len(again)
}

// only returns a repeat with another number that contains only the runs of some cells.
func only(r plan.Repeat, index int, keep func(cell string) bool) plan.Repeat {
	out := plan.Repeat{Index: index, Lane: r.Lane}
	for _, l := range r.Launches {
		runs := slices.DeleteFunc(slices.Clone(l.Runs), func(run plan.Run) bool { return !keep(run.Cell) })
		if len(runs) > 0 {
			id := strings.Replace(l.ID, fmt.Sprintf("r%d-", r.Index), fmt.Sprintf("r%d-", index), 1)
			out.Launches = append(out.Launches, plan.Launch{ID: id, Target: l.Target, Runs: runs})
		}
	}
	return out
}

// lastRepeat returns the largest repeat number so far. Repeats that measure void runs again get numbers above all that
// a plan can have, so that the session can still add planned repeats.
func lastRepeat(p *plan.Plan, done []Launched) int {
	last := max(len(p.Repeats), config.MaxRepeats)
	for _, l := range done {
		last = max(last, l.Repeat)
	}
	return last
}
