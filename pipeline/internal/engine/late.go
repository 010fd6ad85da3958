package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// maxLate is how far simulated servers may fall behind their model, as a share of the
// run's median time to first token.
const maxLate = 0.1

// watchLateness reads from what simulated servers counted how late they were, and warns of it. It is told after the
// servers.
func (r *runner) watchLateness(_ context.Context, s *server, w *watch) Watcher {
	return Watcher{Tell: func(run *result.Run) {
		takeLate(run.Server)
		if text := tooLate(*run, w.scale); text != "" && r.first(r.late, s.Target) {
			r.warn(cellOf(s.Target, w.label()) + ": " + text)
		}
	}}
}

// takeLate puts p99 of how late simulated servers were, in seconds of model time, in the place of the counters of
// which it is made.
func takeLate(server map[string]float64) {
	late := map[string]map[float64]float64{} // by member
	for name, rise := range server {
		member, counter := splitMember(name)
		text, is := strings.CutPrefix(counter, metric.CounterLate+".")
		if !is {
			continue
		}
		delete(server, name)
		if late[member] == nil {
			late[member] = map[float64]float64{}
		}
		if bound, err := strconv.ParseFloat(text, 64); err == nil {
			late[member][bound] = rise
		}
	}
	for member, bounds := range late {
		if p99, known := lateP99(bounds); known {
			server[prefixed(member, result.SimulatedLate)] = p99
		}
	}
}

// lateP99 rounds p99 up to the next of the bounds, at each of which it is known how much was at most so late. It is not
// known where nothing happened.
func lateP99(bounds map[float64]float64) (p99 float64, known bool) {
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

// tooLate says by how much the simulated servers of a run fell behind their model where
// that is no longer small beside what was measured, "" where it is: then the times are this
// machine's and not the model's.
func tooLate(run result.Run, scale float64) string {
	worst, where := 0.0, ""
	for name, late := range run.Server {
		member, of := splitMember(name)
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
