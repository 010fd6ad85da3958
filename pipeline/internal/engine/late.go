package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// maxLate is how far simulated servers may fall behind their model, as a share of the
// run's median time to first token.
const maxLate = 0.1

// takeLate removes from what a simulated server's counters rose by those that say how late
// it was, and returns p99 of that in seconds of model time, rounded up to the next bound;
// false for a real server, or where nothing happened.
func takeLate(rises map[string]float64) (p99 float64, ok bool) {
	bounds := map[float64]float64{}
	for name, rise := range rises {
		text, late := strings.CutPrefix(name, steps.CounterLate+".")
		if !late {
			continue
		}
		delete(rises, name)
		if bound, err := strconv.ParseFloat(text, 64); err == nil {
			bounds[bound] = rise
		}
	}
	total := bounds[math.Inf(1)]
	if total == 0 {
		return 0, false
	}
	sorted := slices.Sorted(maps.Keys(bounds))
	i := slices.IndexFunc(sorted, func(bound float64) bool { return bounds[bound] >= 0.99*total })
	if math.IsInf(sorted[i], 1) {
		i-- // all that is known is that it is more
	}
	if i < 0 {
		return 0, false
	}
	return sorted[i], true
}

// warnLate warns once of each target whose simulated servers fell behind; how far they did
// is part of every run.
func (r *runner) warnLate(target, cell string, run result.Run, scale float64) {
	if text := tooLate(run, scale); text != "" && r.first(r.late, target) {
		r.warn(cellOf(target, cell) + ": " + text)
	}
}

// tooLate says by how much the simulated servers of a run fell behind their model where
// that is no longer small beside what was measured, "" where it is: then the times are this
// machine's and not the model's.
func tooLate(run result.Run, scale float64) string {
	worst, where := 0.0, ""
	for name, late := range run.Server {
		member, of, named := strings.Cut(name, "/")
		if !named {
			member, of = "", name
		}
		if of == result.SimulatedLate && late > worst {
			worst, where = late, member
		}
	}
	first, measured := run.Metrics["ttft.p50"]
	if !measured || worst <= maxLate*first {
		return ""
	}
	who := "the simulated server"
	if where != "" {
		who = "the simulated server " + where
	}
	late := time.Duration(worst * float64(time.Second))
	text := fmt.Sprintf("%s was late by %v at p99 beside a median TTFT of %v, so that this run, and maybe others of the target, show the "+
		"machine and not the model", who, late, time.Duration(first*float64(time.Second)).Round(100*time.Microsecond))
	if scale > 1 {
		wall := time.Duration(worst / scale * float64(time.Second)).Round(10 * time.Microsecond)
		return text + fmt.Sprintf(" (%v of real time, times %g): use a smaller --time-scale, or a machine with less to do", wall, scale)
	}
	return text + ": use a machine with less to do"
}
