package plan

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	arithmetic "github.com/servegate/pipeline/gates/capacity"
	"github.com/servegate/pipeline/pipeline/internal/capacity"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
)

// searchText describes what a launch searches, with how many probes at most.
func searchText(l steps.Load) string {
	in := l.Search
	each := humanize.Count(l.Requests, "request")
	if l.Requests == 0 {
		each = l.Duration.String()
	}
	var limits []string
	for _, o := range in.SLO {
		limits = append(limits, capacity.LimitText(o.Metric, o.Limit))
	}
	return fmt.Sprintf("%g to %s until ±%.3g %%, at most %s of %s in a launch; %s",
		in.Min, capacity.Text(capacity.Kind(l), in.Max), 100*in.Resolution, humanize.Count(in.Probes, "probe"), each, strings.Join(limits, ", "))
}

// searchSeconds estimates a search from a probe at the geometric mean of the range. The first probe is there,
// and the others are near a capacity that may be anywhere in the range.
func searchSeconds(w steps.Workload, arrivals load.Arrivals) float64 {
	in := w.Load.Search
	probe := w
	probe.Load = w.Load.At(math.Sqrt(in.Min * in.Max))
	return float64(in.Probes) * runSeconds(probe, arrivals)
}

// resolution returns the coarsest resolution of the searches whose capacities a gate compares, 0 if it compares
// none.
func (p *Plan) resolution(g Gate) float64 {
	coarsest := 0.0
	for _, c := range g.Comparisons {
		for _, hash := range []string{c.Base, c.Head} {
			if _, cell, ok := p.Cell(hash); ok && cell.Workload.Load.Search != nil {
				coarsest = max(coarsest, cell.Workload.Load.Search.Resolution)
			}
		}
	}
	return coarsest
}

// spreadOfSearches returns the standard deviation that two searches of a pair add to the logarithm of its
// ratio. Each ends with a 95 % interval whose half-width is the resolution. The two share their draws, which
// removes some of it again.
func spreadOfSearches(resolution float64) float64 {
	return math.Sqrt2 * math.Log1p(resolution) / distuv.UnitNormal.Quantile((1+arithmetic.Confidence)/2)
}
