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

// maxLate is how far simulated servers may fall behind their model, as a share of the run's median time to first token.
const maxLate = 0.1

// watchLateness computes from the counters of simulated servers how late they were, and warns of it. It must come after
// watchServers in the list.
func (r *runner) watchLateness(_ context.Context, s *server, w *watch) Watcher {
	return Watcher{Tell: func(run *result.Run) {
		takeLate(run.Server)
		if text := tooLate(*run, w.scale); text != "" && r.first(r.late, s.Target) {
			r.warn(cellOf(s.Target, w.label()) + ": " + text)
		}
	}}
}

// takeLate replaces the lateness counters of simulated servers by the p99 of their lateness, in seconds of model time.
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

// lateP99 returns the p99 of the lateness, rounded up to the next bound. bounds maps each bound to the number of events
// that were at most that late. The p99 is unknown if there were no events.
func lateP99(bounds map[float64]float64) (p99 float64, known bool) {
	total := bounds[math.Inf(1)]
	if total == 0 {
		return 0, false
	}
	sorted := slices.Sorted(maps.Keys(bounds))
	i := slices.IndexFunc(sorted, func(bound float64) bool { return bounds[bound] >= 0.99*total })
	if math.IsInf(sorted[i], 1) {
		i-- // p99 is above the last finite bound
	}
	if i < 0 {
		return 0, false
	}
	return sorted[i], true
}

// tooLate returns by how much the simulated servers of a run fell behind their model, "" if that is small compared with
// the measured times. If it is not, the times are the machine's and not the model's.
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
