package load

import (
	"cmp"
	"fmt"
	"runtime"
	"time"

	"github.com/servegate/pipeline/steps/record"
)

// Limits determine when the client was the bottleneck, so that a run does not measure the server. A zero
// field selects its default.
type Limits struct {
	// LagP99 is the largest p99 of the lag of sends behind the plan, in wall time, default 10 ms; LagShare of
	// the mean gap between sends applies instead if it is larger.
	LagP99 time.Duration
	// LagShare is a share of the mean gap, default 0.10.
	LagShare float64
	// BurstLag replaces both if all requests are planned at once, default 250 ms. Sending them takes some
	// time in any case, and only a stall is a fault.
	BurstLag time.Duration
	// RateShare is the smallest share of the planned rate that must be realised, and of the run in which the client must not
	// stand still, default 0.98.
	RateShare float64
	// ClockStep is the largest step of the wall clock, default 10 ms.
	ClockStep time.Duration

	// The following apply only if a file sets them, since a breach does not always make a figure wrong: a
	// server may send several tokens in one piece, and with the kernel's clock a busy client reads late but
	// the stamps are right.

	// CoalescedShare is the largest share of events that shared a read with an earlier one.
	CoalescedShare float64
	// CPUShare is the largest share of the processors that the client may have used.
	CPUShare float64
	// GCPause is the longest pause of the client's garbage collector.
	GCPause time.Duration
}

func (l Limits) withDefaults() Limits {
	l.LagP99 = cmp.Or(l.LagP99, 10*time.Millisecond)
	l.LagShare = cmp.Or(l.LagShare, 0.10)
	l.BurstLag = cmp.Or(l.BurstLag, 250*time.Millisecond)
	l.RateShare = cmp.Or(l.RateShare, 0.98)
	l.ClockStep = cmp.Or(l.ClockStep, 10*time.Millisecond)
	return l
}

// Cause is the client failure that makes a run void; "" is none.
type Cause string

// The causes.
const (
	CauseClock  Cause = "clock_step"          // the wall clock was stepped
	CauseClient Cause = "client"              // the client could not keep up
	CauseLost   Cause = "load_generator_lost" // the process of a load generator was lost
)

// Void returns why a run is void, or "". Only failures of the client make a run void: requests that it could not connect,
// late sends, a rate below the plan, a time in which it stood still, a step of the clock. A closed loop has no plan, so it has
// neither lag nor rate.
func (l Limits) Void(a record.Audit) (cause Cause, reason string) {
	l = l.withDefaults()
	if a.Exhausted > 0 {
		return CauseClient, fmt.Sprintf("the client's machine had no file descriptor, port or memory left for the connections of %d requests: "+
			"raise its limits (ulimit -n), or have fewer requests in flight", a.Exhausted)
	}
	if step := time.Duration(max(a.ClockStep, -a.ClockStep)); step > l.ClockStep {
		return CauseClock, fmt.Sprintf("the clock was stepped by %v during the run (limit %v)", readable(step), l.ClockStep)
	}
	if still := time.Duration(a.Stalled); still.Seconds() > (1-l.RateShare)*a.WallSeconds {
		return CauseClient, fmt.Sprintf("the client stood still for %v of %.3g s: it was stopped, or its machine was frozen or overloaded",
			readable(still), a.WallSeconds)
	}
	if still := time.Duration(a.Throttled); still.Seconds() > (1-l.RateShare)*a.WallSeconds {
		return CauseClient, fmt.Sprintf("the client was throttled for %v of %.3g s: the CPU quota of its control group was used up; raise "+
			"the CPU limit of its container", readable(still), a.WallSeconds)
	}
	limit := l.BurstLag
	if a.PlannedRate > 0 {
		gap := 1e9 / a.PlannedRate
		if a.TimeScale > 0 {
			gap /= a.TimeScale // lags are wall time, rates are not
		}
		limit = max(l.LagP99, time.Duration(l.LagShare*gap))
	}
	if lag := time.Duration(a.LagP99); lag > limit {
		return CauseClient, fmt.Sprintf("the client was late: p99 of the lag of sends %v (limit %v)", readable(lag), readable(limit))
	}
	if a.RealisedRate < l.RateShare*a.PlannedRate {
		return CauseClient, fmt.Sprintf("the client reached %.4g of %.4g planned requests per second (limit %.0f %%)",
			a.RealisedRate, a.PlannedRate, 100*l.RateShare)
	}
	if reason = l.strain(a); reason != "" {
		return CauseClient, reason
	}
	return "", ""
}

// strain returns why a run is void by a limit without a default, or "".
func (l Limits) strain(a record.Audit) string {
	if l.CoalescedShare > 0 && float64(a.CoalescedReads) > l.CoalescedShare*float64(a.Events) {
		return fmt.Sprintf("%d of %d events shared a read with an earlier one, so they can be up to %v early (limit %.3g %%)",
			a.CoalescedReads, a.Events, readable(time.Duration(a.CoalescedMax)), 100*l.CoalescedShare)
	}
	if a.WallSeconds > 0 && l.CPUShare > 0 {
		if share := a.CPUSeconds / (a.WallSeconds * float64(runtime.GOMAXPROCS(0))); share > l.CPUShare {
			return fmt.Sprintf("the client used %.0f %% of its processors (limit %.0f %%)", 100*share, 100*l.CPUShare)
		}
	}
	if pause := time.Duration(a.GCPauseMax); l.GCPause > 0 && pause > l.GCPause {
		return fmt.Sprintf("the client's garbage collector paused for %v (limit %v)", readable(pause), l.GCPause)
	}
	return ""
}

// readable rounds a duration to three significant digits.
func readable(d time.Duration) time.Duration {
	step := time.Duration(1)
	for d.Abs()/step >= 1000 {
		step *= 10
	}
	return d.Round(step)
}
