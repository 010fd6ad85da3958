// Package calibrate measures the noise of a pipeline's cells by setting their base side
// against itself: what differs then is the machine, the launch and chance.
//
//	aa := calibrate.Plan(p, 10, nil)       // ten pairs of launches of the base's cells
//	… carry aa out …
//	found := calibrate.Analyse(p, doc)     // noise per cell and metric, false alarms, advice
//
// The two launches of a pair get the same prompts and arrivals, as the two sides of a
// repeat do, and the pairs are mirrored as repeats are. Where a launch has several passes,
// what varies between launches is separated from what varies from run to run. The noise plans later runs and is
// shown beside them. It never decides: today's variance does.
package calibrate

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// Plan is the plan that launches the base side of p's paired gates in pairs, every target
// twice for each. passes says how often a launch measures the cells of a benchmark for
// which the file says own; nil means as often as the file says. The first repeat of pair k
// is 2k−1, the second 2k.
func Plan(p *plan.Plan, pairs int, passes func(own int) int) (*plan.Plan, error) {
	cells := Bases(p)
	if len(cells) == 0 {
		return nil, fmt.Errorf("%s has no gate with a paired baseline, so there is no base to measure", p.File)
	}
	out := *p
	out.Gates, out.Looks, out.FamilySize, out.Warnings = nil, nil, 0, nil
	out.Benchmarks = nil
	for _, b := range p.Benchmarks {
		b.Cells = slices.DeleteFunc(slices.Clone(b.Cells), func(c plan.Cell) bool { return !slices.Contains(cells, c.Hash) })
		if len(b.Cells) > 0 {
			b.RepeatMin, b.RepeatMax = 2*pairs, 2*pairs
			if passes != nil {
				b.Passes = passes(max(b.Passes, 1))
			}
			out.Benchmarks = append(out.Benchmarks, b)
		}
	}
	if out.Cluster != nil { // both launches of a pair on the same nodes, as the sides of a repeat are
		alone := *out.Cluster
		alone.Lanes, alone.LaneNodes = 0, 0
		out.Cluster = &alone
	}
	out.Machines = nil // nor on different machines
	out.Reschedule()
	for k := range pairs {
		first, second := &out.Repeats[2*k], &out.Repeats[2*k+1]
		second.Launches, second.Beside = mirrored(first.Launches, second.Index), out.Resident != ""
	}
	out.Seal()
	return &out, nil
}

// mirrored are the same launches in reverse order, with the same content.
func mirrored(launches []plan.Launch, repeat int) []plan.Launch {
	out := make([]plan.Launch, 0, len(launches))
	for _, l := range slices.Backward(launches) {
		out = append(out, plan.Launch{ID: fmt.Sprintf("r%d-%s", repeat, l.Target), Target: l.Target, Runs: l.Runs})
	}
	return out
}

// Bases are the cells that others are compared with.
func Bases(p *plan.Plan) []string {
	var out []string
	for _, g := range p.Gates {
		for _, c := range g.Comparisons {
			if c.Base != "" && !slices.Contains(out, c.Base) {
				out = append(out, c.Base)
			}
		}
	}
	return out
}
