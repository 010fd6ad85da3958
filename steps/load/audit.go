package load

import (
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/servegate/pipeline/steps/cgroup"
	"github.com/servegate/pipeline/steps/load/internal/cpu"

	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/traffic"
)

// auditor compares the client's state before and after a run.
type auditor struct {
	begin time.Time
	cpu   float64
	quota *cgroup.CPU
	gc    debug.GCStats
}

func startAudit(groups cgroup.System) *auditor {
	a := &auditor{begin: time.Now(), cpu: cpu.Seconds(), quota: groups.CPUOf(os.Getpid())}
	debug.ReadGCStats(&a.gc)
	return a
}

// fill writes figures of the process.
func (a *auditor) fill(out *record.Audit) {
	out.WallSeconds = time.Since(a.begin).Seconds()
	out.CPUSeconds = cpu.Seconds() - a.cpu
	out.Throttled = int64(min(a.quota.Throttled(time.Duration(out.CPUSeconds*1e9)), time.Since(a.begin)))
	var after debug.GCStats
	debug.ReadGCStats(&after)
	out.GCPauseTotal = int64(after.PauseTotal - a.gc.PauseTotal)
	n := min(int(after.NumGC-a.gc.NumGC), len(after.Pause)) // Pause is the newest first
	for _, p := range after.Pause[:n] {
		out.GCPauseMax = max(out.GCPauseMax, int64(p))
	}
}

// finish returns the record of the run.
func (r *runner) finish(a *auditor, plan traffic.Plan) record.Run {
	run := record.Run{Requests: r.recs.Sorted(), Goodput: r.opt.Workload.Goodput}
	r.sessions.number(&run.Requests)
	a.fill(&run.Audit)
	r.client.clock.fill(&run.Audit)
	if r.scale != 1 {
		run.Audit.TimeScale = r.scale
	}
	run.Audit.Dials, run.Audit.Closed = r.client.pool.dials, r.client.pool.closed
	conclude(&run, plannedTimes(plan), r.work.hash)
	r.sends.fill(&run.Audit, len(r.schedule) > 0, r.scale)
	return run
}

// plannedTimes returns the times of the requests that have a schedule.
func plannedTimes(p traffic.Plan) []time.Duration {
	planned := p.Planned()
	out := make([]time.Duration, len(planned))
	for k, i := range planned {
		out[k] = p.Times[i]
	}
	return out
}

// conclude adds to a run the figures that follow from its requests, their schedule and the hash of its prompts.
func conclude(run *record.Run, schedule []time.Duration, hash string) {
	run.Duration = duration(run.Requests)
	a := &run.Audit
	a.ScheduleHash, a.WorkHash, a.Events = hashSchedule(schedule), hash, run.Requests.Events()
	if n := len(schedule); n > 0 && run.Requests.Len() > 0 && schedule[n-1] > 0 {
		a.PlannedRate = float64(n) / schedule[n-1].Seconds()
	}
	a.PeakConcurrency = record.PeakConcurrency(*run)
	a.Overloaded = record.Overloaded(*run)
}

// duration returns the time from the first send to the last end.
func duration(requests record.List) int64 {
	var first, last int64
	for i, r := range requests.All() {
		if i == 0 {
			first, last = r.Sent, r.Done
		}
		first, last = min(first, r.Sent), max(last, r.Done)
	}
	return last - first
}

// sends sums up, as requests end, what the audit needs of them beside their records.
type sends struct {
	lags         []int64 // in the order of the ends
	resent       int
	exhausted    int
	coalesced    coalesced
	socketErrors int
	// scheduled counts the requests with a planned time. The last of them has the index last, was planned for the time
	// planned, and lagged behind it.
	scheduled, last int
	planned, lag    int64
}

// add adds a request that has ended.
func (s *sends) add(a *attempt) {
	s.lags = append(s.lags, a.lag)
	if a.rec.Resent {
		s.resent++
	}
	if a.exhausted {
		s.exhausted++
	}
	s.coalesced.events += a.coalesced.events
	s.coalesced.sum += a.coalesced.sum
	s.coalesced.max = max(s.coalesced.max, a.coalesced.max)
	switch a.rec.Failure {
	case record.FailConnect, record.FailCut:
		s.socketErrors++
	}
	if a.rec.Planned < 0 {
		return
	}
	if s.scheduled++; a.rec.Index >= s.last {
		s.last, s.planned, s.lag = a.rec.Index, a.rec.Planned, a.lag
	}
}

// fill writes the precision of the times of events, and compares the sends with the plan. Waits for a concurrency slot
// are caused by the server and not part of a lag. The realised rate is the rate at which requests were ready to send: up
// to the last planned time plus its lag.
func (s *sends) fill(out *record.Audit, scheduled bool, scale float64) {
	out.Redials, out.SocketErrors, out.Exhausted = s.resent, s.socketErrors, s.exhausted
	out.CoalescedReads, out.CoalescedMax = s.coalesced.events, s.coalesced.max
	if s.coalesced.events > 0 {
		out.CoalescedMean = s.coalesced.sum / int64(s.coalesced.events)
	}
	if !scheduled || len(s.lags) == 0 {
		return
	}
	lags := slices.Sorted(slices.Values(s.lags))
	out.LagP50, out.LagP99, out.LagMax = nearest(lags, 0.50), nearest(lags, 0.99), lags[len(lags)-1]
	if out.PlannedRate > 0 && s.scheduled > 0 {
		ready := float64(s.planned+toModel(s.lag, scale)) / 1e9
		out.RealisedRate = float64(s.scheduled) / ready
	}
}

// nearest returns the nearest-rank quantile of an ascending sample.
func nearest(asc []int64, q float64) int64 {
	i := int(q*float64(len(asc))+0.999999) - 1
	return asc[min(max(i, 0), len(asc)-1)]
}
