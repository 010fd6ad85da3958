package plan

import (
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// unguarded returns the first gate that expects an improvement, if no gate of the file compares what is
// answered. Else it returns "".
func (p *Plan) unguarded() string {
	if slices.ContainsFunc(p.Gates, Gate.OfQuality) {
		return ""
	}
	i := slices.IndexFunc(p.Gates, func(g Gate) bool { return g.Expect == gates.ExpectImprovement })
	if i < 0 {
		return ""
	}
	return p.Gates[i].Addr
}

// OfQuality reports whether a gate compares what is answered.
func (g Gate) OfQuality() bool {
	return slices.ContainsFunc(g.Metrics, func(id string) bool {
		m, ok := metric.Lookup(id)
		return ok && m.Quality
	})
}

// earliest returns the number of repeats at the first look that can show what a gate expects, 0 for none.
func (p *Plan) earliest(g Gate) int {
	in, test := p.prospect(g), p.Test(g)
	for k, n := range in.Looks {
		if n >= max(2, test.LeastRepeats) && gates.CanReject(test, n, in.Levels[k]) == nil {
			return n
		}
	}
	return 0
}
