package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/answers"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

// measure reduces the records of a run and sets its status. The checks apply in this order. The run failed if the
// server failed. It is void if the load generator was lost. It failed if the load could not be executed. It is void if the
// client could not connect requests, or stood still until they timed out. It failed if no request succeeded. It is void if
// the client was the limit. It is ok otherwise, also with some failed requests.
func (r *runner) measure(bm plan.Benchmark, w steps.Workload, run record.Run, warmup record.List, cause, err error) result.Run {
	out := reduce(run)
	if w.Answers == nil && !r.o.Bare {
		out.Requests = comparability.CollectRequests(run.Requests, warmup)
	}
	limit, void := limits(bm.Limits).Void(run.Audit)
	timeouts := out.Failures[string(record.FailTimeout)]
	stopped := run.Audit.Stalled > 0 && timeouts > 0 && void != ""
	if w.Answers != nil && run.Audit.Exhausted == 0 && !stopped {
		limit, void = "", "" // answers do not depend on when requests were sent
	}
	lost, isLost := errors.AsType[*load.LostError](err)
	switch {
	case cause != nil:
		out.Status, out.Reason = result.RunFailed, cause.Error()
	case isLost:
		out.Status, out.Reason, out.VoidCause = result.RunVoid, r.o.Redact.String(lost.Error()), result.VoidCause(load.CauseLost)
		return out
	case err != nil:
		out.Status, out.Reason = result.RunFailed, r.o.Redact.String(err.Error())
	case out.Failed == out.Sent && run.Audit.Exhausted == 0 && (!stopped || timeouts < out.Failed):
		out.Status, out.Reason = result.RunFailed, "no request succeeded: "+classes(out.Failures)+r.words(run)
	case void != "":
		out.Status, out.Reason, out.VoidCause = result.RunVoid, void, result.VoidCause(limit)
	default:
		out.Status = result.RunOK
	}
	switch {
	case out.Status == result.RunFailed:
	case w.Answers != nil:
		out.Answers = answers.Collect(run.Requests)
		if out.Answers.Form = result.AnswersStreamed; w.Answers.Logprobs {
			out.Answers.Form = result.AnswersStreamedAndWhole
		}
		out.Metrics = map[string]float64{"success.rate": float64(out.Sent-out.Failed) / float64(out.Sent)}
	default:
		// A failed run has records but no metrics, since these would show only the part before the failure.
		out.Metrics = record.Reduce(run)
		if n := record.OnePiece(run); n > 0 {
			out.Audit[result.OnePiece] = float64(n)
		}
	}
	return out
}

// reduce returns the part of a run that does not depend on its status. Requests that we cancelled because the server
// failed count as failed.
func reduce(run record.Run) result.Run {
	out := result.Run{
		Duration:   float64(run.Duration) / 1e9,
		Sent:       run.Requests.Len(),
		Overloaded: run.Audit.Overloaded,
		Audit:      audit(run.Audit),
	}
	out.Failed, out.Failures = record.Failures(run)
	return out
}

// classes lists failure classes with their counts, the most frequent first.
func classes(failures map[string]int) string {
	if len(failures) == 0 {
		return "none was sent"
	}
	names := slices.SortedFunc(maps.Keys(failures), func(a, b string) int {
		if failures[a] != failures[b] {
			return failures[b] - failures[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d × %s", failures[name], name)
	}
	return strings.Join(names, ", ")
}

// maxErrorText bounds the length of a server's error text in a reason.
const maxErrorText = 300

// words returns the most frequent error text, with secrets masked, escaped for one line and cut.
func (r *runner) words(run record.Run) string {
	return escape.Text(r.o.Redact.String(commonError(run)), maxErrorText)
}

// warnFailures warns of failed requests among successful ones, once per cell. It includes the server's error text,
// since the class alone does not explain a failure.
func (r *runner) warnFailures(target, label string, run record.Run) {
	failed, classes := record.Failures(run)
	if failed == 0 || failed == run.Requests.Len() {
		return
	}
	if words := r.words(run); words != "" && r.first(r.warned, target+" failures "+label+words) {
		r.warn(fmt.Sprintf("%s: %d of %d requests failed (%s), most often with%s", cellOf(target, label), failed, run.Requests.Len(),
			strings.Join(slices.Sorted(maps.Keys(classes)), ", "), words))
	}
}

// cellOf returns the name of a cell in messages. A benchmark without axes has an empty label.
func cellOf(target, label string) string {
	return strings.TrimSuffix(target+", "+label, ", ")
}

// commonError returns the most frequent error text of failed requests, as the server or the connection reported it.
func commonError(run record.Run) string {
	counts, most := map[string]int{}, ""
	for _, q := range run.Requests.All() {
		text := q.Error
		if q.Failure == "" || text == "" {
			continue
		}
		if counts[text]++; counts[text] > counts[most] || counts[text] == counts[most] && text < most {
			most = text
		}
	}
	if most == "" {
		return ""
	}
	return ": " + most
}

// audit flattens the client's audit; times are in seconds. All numbers are float64, as they are when read from a
// journal.
func audit(a record.Audit) map[string]any {
	sec := func(ns int64) float64 { return float64(ns) / 1e9 }
	out := map[string]any{
		"lag_p50_s": sec(a.LagP50), "lag_p99_s": sec(a.LagP99), "lag_max_s": sec(a.LagMax),
		"planned_rate": a.PlannedRate, "realised_rate": a.RealisedRate,
		"coalesced_reads": float64(a.CoalescedReads), "events": float64(a.Events),
		"gc_pause_total_s": sec(a.GCPauseTotal), "gc_pause_max_s": sec(a.GCPauseMax),
		"reads": float64(a.Reads), "user_reads": float64(a.UserReads), "socket_errors": float64(a.SocketErrors),
		"read_lag_p50_s": sec(a.ReadLagP50), "read_lag_p99_s": sec(a.ReadLagP99), "read_lag_max_s": sec(a.ReadLagMax),
		"coalesced_mean_s": sec(a.CoalescedMean), "coalesced_max_s": sec(a.CoalescedMax),
		"dials": float64(a.Dials), "redials": float64(a.Redials),
		"cpu_s": a.CPUSeconds, "clock_step_s": sec(a.ClockStep), "peak_concurrency": float64(a.PeakConcurrency),
	}
	for name, still := range map[string]int64{"stalled_s": a.Stalled, "throttled_s": a.Throttled} {
		if still > 0 {
			out[name] = sec(still)
		}
	}
	for name, n := range map[string]int{"closed": a.Closed, "exhausted": a.Exhausted} {
		if n > 0 {
			out[name] = float64(n)
		}
	}
	for name, text := range map[string]string{"clock": a.Clock, "schedule_hash": a.ScheduleHash, "work_hash": a.WorkHash} {
		if text != "" {
			out[name] = text
		}
	}
	return out
}

// limits converts a benchmark's limits to the load generator's: durations in seconds, shares as fractions. Unset limits
// keep their defaults.
func limits(set map[string]float64) load.Limits {
	return load.Limits{
		LagP99:    seconds(set["lag_p99"]),
		LagShare:  set["lag_share"],
		BurstLag:  seconds(set["burst_lag"]),
		RateShare: set["rate_share"],
		ClockStep: seconds(set["clock_step"]),

		CoalescedShare: set["coalesced_share"],
		CPUShare:       set["cpu_share"],
		GCPause:        seconds(set["gc_pause"]),
	}
}
