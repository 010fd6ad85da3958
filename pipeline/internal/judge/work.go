package judge

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// tooFewRequests reports that a percentile of another load generator rests on too few
// requests, "" if none does. With our own, the file is invalidSuccess before anything runs.
func tooFewRequests(m metric.Metric, cells ...*result.Cell) string {
	for _, cell := range cells {
		for r := range sound(cell) {
			if _, foreign := r.Audit["source"]; !foreign {
				continue
			}
			n := r.Sent - r.Failed
			if passes, ok := r.Audit["passes"].(float64); ok && passes > 1 {
				n = int(float64(n) / passes)
			}
			if n == 0 || n >= m.MinRequests {
				continue
			}
			return fmt.Sprintf("%s needs at least %d requests in a run to be more than luck, and repeat %d has %d", m.ID, m.MinRequests, r.Repeat, n)
		}
	}
	return ""
}

// untimed is set where a time between tokens is zero: then most requests got theirs in one piece, and
// there is nothing between them that could be timed. It is no void run, since a server that
// does so will do it again.
func untimed(m metric.Metric, base, head *result.Cell) exclusion {
	if m.Scale != metric.Log || !slices.Contains([]string{"tpot", "itl", "itl_token"}, m.Group) {
		return exclusion{}
	}
	var first exclusion
	for _, side := range []struct {
		name string
		cell *result.Cell
	}{{"base", base}, {"head", head}} {
		for r := range sound(side.cell) {
			if v, ok := r.Metrics[m.ID]; ok && v == 0 {
				first = earliest(first, exclusion{fmt.Sprintf("%s of repeat %d of the %s is 0: its tokens came in one piece, so that there is no time between them to compare. See what gathers them: the server under load, its streaming interval, or a proxy. metric.e2el.%s is measured nevertheless", m.ID, r.Repeat, side.name, m.Stat), r.Pair()})
			}
		}
	}
	return first
}
