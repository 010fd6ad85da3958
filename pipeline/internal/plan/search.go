package plan

import (
	"fmt"
	"math"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/capacity"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
)

// searchText is what a launch searches, and by how many probes at most.
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

// searchSeconds estimates a search: its first probe is in the middle of the range, and the others
// are near a capacity that may be there as well as elsewhere.
func searchSeconds(w steps.Workload) float64 {
	in := w.Load.Search
	probe := w
	probe.Load = w.Load.At(math.Sqrt(in.Min * in.Max))
	return float64(in.Probes) * runSeconds(probe)
}
