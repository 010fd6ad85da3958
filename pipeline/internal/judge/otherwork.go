package judge

import (
	"fmt"
	"math"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

const (
	// leastOtherWork is the least difference that is reported, on the scale of the metric: 1 %, or a percentage point.
	leastOtherWork = 0.01
	// otherWorkErrors is how many standard errors of the mean the difference must be away from 0.
	otherWorkErrors = 4
)

// otherWork reports how the servers of both sides differ in their work for the same requests, such as accepted draft
// tokens or cached prompts. It omits the metric of the decision itself.
func otherWork(of string, base, head *result.Cell) []string {
	var out []string
	for _, m := range metric.All() {
		if !m.Work || m.ID == of {
			continue
		}
		b, h, differ := workOf(m, base, head)
		if !differ {
			continue
		}
		unit := humanize.ScaleFor(string(m.Unit), b, h)
		out = append(out, fmt.Sprintf("the sides did not do the same work: %s %s of the base, %s of the head",
			strings.ToLower(m.Label[:1])+m.Label[1:], unit.Value(b), unit.Value(h)))
	}
	return out
}

// workOf returns the mean of a metric on both sides, and whether they differ by more than chance and by a relevant
// amount.
func workOf(m metric.Metric, base, head *result.Cell) (b, h float64, differ bool) {
	of := map[pass]float64{}
	for r := range sound(base) {
		if v, ok := r.Metrics[m.ID]; ok {
			of[passOf(r)] = v
		}
	}
	var bases, heads, differences []float64
	for r := range sound(head) {
		now, there := r.Metrics[m.ID]
		before, also := of[passOf(r)]
		if !there || !also {
			continue
		}
		d := now - before
		if m.Scale == metric.Log {
			d = math.Log(now / before)
		}
		bases, heads, differences = append(bases, before), append(heads, now), append(differences, d)
	}
	n := float64(len(differences))
	if n < 2 {
		return 0, 0, false
	}
	mean, squares := metric.Mean(differences), 0.0
	for _, d := range differences {
		squares += (d - mean) * (d - mean)
	}
	se := math.Sqrt(squares / (n - 1) / n)
	return metric.Mean(bases), metric.Mean(heads), math.Abs(mean) > max(leastOtherWork, otherWorkErrors*se)
}
