package plan

import (
	"fmt"
	"math"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
)

// searchText is what a launch searches, and by how many probes at most.
func searchText(l steps.Load) string {
	in, unit := l.Search, "req/s"
	if l.Searches() == steps.SearchConcurrency {
		unit = "users"
	}
	each := humanize.Count(l.Requests, "request")
	if l.Requests == 0 {
		each = l.Duration.String()
	}
	var limits []string
	for _, o := range in.SLO {
		m, _ := metric.Lookup(o.Metric)
		limits = append(limits, limitText(m, o.Limit))
	}
	return fmt.Sprintf("%g to %g %s until ±%.3g %%, at most %s of %s in a launch; %s",
		in.Min, in.Max, unit, 100*in.Resolution, humanize.Count(in.Probes, "probe"), each, strings.Join(limits, ", "))
}

func limitText(m metric.Metric, limit float64) string {
	if m.Unit == metric.Seconds {
		return fmt.Sprintf("%s ≤ %.4g ms", m.Label, 1000*limit)
	}
	return fmt.Sprintf("%s ≥ %.4g %%", m.Label, 100*limit)
}

// searchSeconds estimates a search: its first probe is in the middle of the range, and the others
// are near a capacity that may be there as well as elsewhere.
func searchSeconds(w steps.Workload) float64 {
	in := w.Load.Search
	probe := w
	probe.Load = w.Load.At(math.Sqrt(in.Min * in.Max))
	return float64(in.Probes) * runSeconds(probe)
}
