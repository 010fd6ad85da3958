package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// The largest values of a result.
const (
	maxSeconds = 1e7  // about four months
	maxRate    = 1e12 // per second
)

// plausible rejects impossible figures: negative times, times beyond any wait, rates beyond any
// machine. Such a value has a wrong unit, or the file is damaged.
func plausible(id string, v float64, text string) error {
	unit := unitOf(id)
	group, _, _ := strings.Cut(id, ".")
	if unit == "" && (group == "duration" || slices.Contains(slices.Collect(maps.Values(latencyNames)), group)) {
		unit = metric.Seconds
	}
	switch {
	case v < 0:
		return fmt.Errorf("%s is negative", clip(text))
	case unit == metric.Seconds && v > maxSeconds:
		return fmt.Errorf("%s is not plausible: that is %.3g s; is its unit another one?", clip(text), v)
	case v > maxRate:
		return fmt.Errorf("%s is not plausible", clip(text))
	}
	return nil
}

// disordered reports a statistic of a latency that is larger than one that must be at least as
// large, to the printed digits.
func (r *Run) disordered() {
	order := []string{"min", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"}
	groups := map[string]bool{}
	for id := range r.Metrics {
		group, _, _ := strings.Cut(id, ".")
		groups[group] = true
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		before, largest := "", 0.0
		for _, stat := range order {
			v, ok := r.Metrics[group+"."+stat]
			if ok && before != "" && v < largest*(1-1e-6)-1e-5 {
				r.seriousf("%s.%s is %g and %s.%s is %g: one of them is not what it is called", group, before, largest, group, stat, v)
				break
			}
			if ok {
				before, largest = stat, v
			}
		}
	}
}

// withoutNumber returns an error if a time to the first token or a latency is no number although
// requests succeeded, because each of them has one.
func (r *Run) withoutNumber() error {
	for _, e := range r.nan {
		f, _ := figureOf(e.label)
		if r.Counts.Succeeded > 0 && (f.group == "ttft" || f.group == "e2el") && f.stat != "std" {
			return &Error{r.Source, e.line, fmt.Errorf("%s is not a number, although %d requests succeeded", strings.TrimSuffix(e.label, ":"),
				r.Counts.Succeeded)}
		}
	}
	return nil
}
