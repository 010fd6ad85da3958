package plan

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// assumedFloors are the assumed shares of prompts that launches of one server answer differently.
var assumedFloors = []float64{0.01, 0.05}

// ofAnswers reports whether a gate compares what launches answer, and whether only by the share of answers that
// agree.
func (g Gate) ofAnswers() (answers, share bool) {
	for _, id := range g.Metrics {
		if m, _ := metric.Lookup(id); m.Mutual {
			return true, m.Unit == metric.Fraction && len(g.Metrics) == 1
		}
	}
	return false, false
}

// unknownPower explains why no smallest change is stated for metrics of answers other than agreement. The
// number of prompts bounds the spread of agreement. The noise of the others depends on engine and model.
func (g Gate) unknownPower() []string {
	if _, share := g.ofAnswers(); share {
		return nil
	}
	var lines []string
	for _, id := range g.Metrics {
		if m, _ := metric.Lookup(id); m.Mutual {
			lines = append(lines, id+
				": how small a change is found depends on how far launches of one server are apart in it, which only a session shows")
		}
	}
	return lines
}

// powerOfAnswers returns what a gate of agreement finds if launches of one server differ by themselves. The
// number of prompts determines the spread of a share.
func (p *Plan) powerOfAnswers(g Gate) []Power {
	_, cell, ok := p.Cell(g.Comparisons[0].Head)
	if _, share := g.ofAnswers(); !ok || !share {
		return nil
	}
	var out []Power
	for _, floor := range assumedFloors {
		sd := math.Sqrt(2 * floor * (1 - floor) / float64(cell.Workload.Load.Requests))
		w := Power{SD: sd, Points: true, Basis: fmt.Sprintf("if launches of one server differ in %.0f %% of prompts", 100*floor)}
		at := func(in gates.Prospect) float64 {
			change := in.Detectable(sd, float64(g.Margin), gates.Power)
			if math.IsInf(change, 0) {
				return 0
			}
			return change
		}
		in := p.prospect(g)
		w.AtMin, w.AtMax = at(in.First()), at(in)
		out = append(out, w)
	}
	return out
}
