// Package calibrate measures the noise of a pipeline's cells by comparing their base side with itself. All differences
// then come from the machine, the launch and chance.
//
//	aa, err := calibrate.Plan(p, 10, nil)      // ten pairs of launches of the base's cells
//	// run aa, which gives doc
//	found, err := calibrate.Analyse(p, doc)    // noise per cell and metric, false alarms, advice
//
// The two launches of a pair get the same prompts and arrivals, as the two sides of a repeat do. Which of them stands
// for the head is drawn for each pair, as the order of sides is. Several passes per launch separate the variance between launches from the
// variance between runs. The noise is used to plan later runs and is shown beside them. Verdicts use the variance of
// the session itself.
package calibrate

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// Plan returns a plan that launches the base side of p's paired gates in pairs, every target twice for each. passes
// maps a benchmark's number of passes in the file to the number to measure; nil keeps the file's. The first repeat of
// pair k is 2k−1, the second 2k.
func Plan(p *plan.Plan, pairs int, passes func(own int) int) (*plan.Plan, error) {
	cells := p.BaseCells()
	if len(cells) == 0 {
		return nil, fmt.Errorf("%s has no gate with a paired baseline, so no base can be measured", p.File)
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
	if out.Cluster != nil { // both launches of a pair run on the same nodes, as the sides of a repeat do
		alone := *out.Cluster
		alone.Lanes, alone.LaneNodes = 0, 0
		out.Cluster = &alone
	}
	out.Machines = nil // and on the same machine
	out.Reschedule()
	for k := range pairs {
		first, second := &out.Repeats[2*k], &out.Repeats[2*k+1]
		second.Launches, second.Beside = mirrored(first.Launches, second.Index), out.Resident != ""
	}
	out.Seal()
	return &out, nil
}

// mirrored returns the same launches in reverse order, with the same content.
func mirrored(launches []plan.Launch, repeat int) []plan.Launch {
	out := make([]plan.Launch, 0, len(launches))
	for _, l := range slices.Backward(launches) {
		out = append(out, plan.Launch{ID: fmt.Sprintf("r%d-%s", repeat, l.Target), Target: l.Target, Runs: l.Runs})
	}
	return out
}
