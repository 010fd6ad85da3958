package load

import (
	"runtime/debug"
	"slices"
	"time"

	"github.com/servegate/pipeline/steps/load/internal/cpu"

	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/traffic"
)

// auditor compares the client's state before and after a run.
type auditor struct {
	begin time.Time
	cpu   float64
	gc    debug.GCStats
}

func startAudit() *auditor {
	a := &auditor{begin: time.Now(), cpu: cpu.Seconds()}
	debug.ReadGCStats(&a.gc)
	return a
}

// fill writes figures of the process.
func (a *auditor) fill(out *record.Audit) {
	out.WallSeconds = time.Since(a.begin).Seconds()
	out.CPUSeconds = cpu.Seconds() - a.cpu
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
	run := record.Run{Requests: r.records(), Goodput: r.opt.Workload.Goodput}
	r.sessions.number(run.Requests)
	a.fill(&run.Audit)
	r.client.clock.fill(&run.Audit)
	if r.scale != 1 {
		run.Audit.TimeScale = r.scale
	}
	run.Audit.Dials = r.client.pool.dials
	for i := range run.Requests {
		q := &run.Requests[i]
		q.Continues = r.sessions.continues(q.Index)
		if q.Resent {
			run.Audit.Redials++
		}
	}
	conclude(&run, plannedTimes(plan), r.work.hash, r.work.asked)
	r.auditEvents(&run.Audit)
	r.auditSends(&run.Audit)
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

// conclude adds to a run the figures that follow from its requests, their schedule and the hashes of its prompts.
func conclude(run *record.Run, schedule []time.Duration, hash string, asked []uint32) {
	run.Duration = duration(run.Requests)
	a := &run.Audit
	a.ScheduleHash = hashSchedule(schedule)
	a.WorkHash = hash
	for i := range run.Requests {
		q := &run.Requests[i]
		a.Events += len(q.Events)
		if q.Index < len(asked) {
			q.Asked = asked[q.Index]
		}
	}
	if n := len(schedule); n > 0 && len(run.Requests) > 0 && schedule[n-1] > 0 {
		a.PlannedRate = float64(n) / schedule[n-1].Seconds()
	}
	a.PeakConcurrency = record.PeakConcurrency(*run)
	a.Overloaded = record.Overloaded(*run)
}

// auditEvents summarizes the precision of the times of events.
func (r *runner) auditEvents(out *record.Audit) {
	var sum int64
	for _, q := range r.recs {
		out.CoalescedReads += q.coalesced.events
		sum += q.coalesced.sum
		out.CoalescedMax = max(out.CoalescedMax, q.coalesced.max)
		switch q.rec.Failure {
		case record.FailConnect, record.FailCut:
			out.SocketErrors++
		}
	}
	if out.CoalescedReads > 0 {
		out.CoalescedMean = sum / int64(out.CoalescedReads)
	}
}

// duration returns the time from the first send to the last end.
func duration(reqs []record.Request) int64 {
	if len(reqs) == 0 {
		return 0
	}
	first, last := reqs[0].Sent, reqs[0].Done
	for _, q := range reqs {
		first, last = min(first, q.Sent), max(last, q.Done)
	}
	return last - first
}

// auditSends compares the sends with the plan. Waits for a concurrency slot are caused by the server and not
// part of a.lag. The realised rate is the rate at which requests were ready to send: up to the last planned
// time plus its lag.
func (r *runner) auditSends(out *record.Audit) {
	if len(r.schedule) == 0 || len(r.recs) == 0 {
		return
	}
	lags, sent := make([]int64, len(r.recs)), 0
	var last *attempt // the last one with a schedule
	for i, a := range r.recs {
		if lags[i] = a.lag; a.rec.Planned >= 0 {
			last = a
			sent++
		}
	}
	slices.Sort(lags)
	out.LagP50, out.LagP99, out.LagMax = nearest(lags, 0.50), nearest(lags, 0.99), lags[len(lags)-1]
	if out.PlannedRate > 0 && last != nil {
		ready := float64(last.rec.Planned+toModel(last.lag, r.scale)) / 1e9
		out.RealisedRate = float64(sent) / ready
	}
}

// nearest returns the nearest-rank quantile of an ascending sample.
func nearest(asc []int64, q float64) int64 {
	i := int(q*float64(len(asc))+0.999999) - 1
	return asc[min(max(i, 0), len(asc)-1)]
}
