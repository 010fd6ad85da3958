package judge

import (
	"fmt"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// tooFewRequests returns why a percentile of another load generator rests on too few requests, "" if none does. For our
// own load generator, validation of the file reports it before anything runs.
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
			return fmt.Sprintf("%s needs at least %d requests in a run to be more than luck, and repeat %d has %d", m.ID, m.MinRequests, r.Pair(), n)
		}
	}
	return ""
}
