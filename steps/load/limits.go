package load

import (
	"fmt"
	"time"

	"github.com/servegate/pipeline/steps/record"
)

// Limits say when the client was the limit, so that a run says nothing about the
// server. A zero field means its default.
type Limits struct {
	// LagP99 is the largest p99 of the lag of sends behind the plan, in wall time,
	// default 10 ms; where LagShare of the mean gap between sends is more, that counts.
	LagP99 time.Duration
	// LagShare is a share of the mean gap, default 0.10.
	LagShare float64
	// BurstLag replaces both where all requests are planned at once, default 250 ms:
	// sending them takes as long as it takes, and only a stall is a fault.
	BurstLag time.Duration
	// RateShare is the least share of the planned rate that must be realised, default 0.98.
	RateShare float64
	// ClockStep is the largest step of the wall clock, default 10 ms.
	ClockStep time.Duration
}

func (l Limits) withDefaults() Limits {
	def := Limits{LagP99: 10 * time.Millisecond, LagShare: 0.10, BurstLag: 250 * time.Millisecond, RateShare: 0.98, ClockStep: 10 * time.Millisecond}
	if l.LagP99 > 0 {
		def.LagP99 = l.LagP99
	}
	if l.LagShare > 0 {
		def.LagShare = l.LagShare
	}
	if l.BurstLag > 0 {
		def.BurstLag = l.BurstLag
	}
	if l.RateShare > 0 {
		def.RateShare = l.RateShare
	}
	if l.ClockStep > 0 {
		def.ClockStep = l.ClockStep
	}
	return def
}

// Void returns why a run is void, "" if it is not. Only the client's own failings make
// a run void: late sends, a rate that it did not reach, a step of the clock. A closed
// loop has no plan and can be void by the clock only.
func (l Limits) Void(a record.Audit) (reason string) {
	l = l.withDefaults()
	if step := time.Duration(max(a.ClockStep, -a.ClockStep)); step > l.ClockStep {
		return fmt.Sprintf("the clock was stepped by %v during the run (limit %v)", step, l.ClockStep)
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
		return fmt.Sprintf("the client was late: p99 of the lag of sends %v (limit %v)", lag, limit)
	}
	if a.RealisedRate < l.RateShare*a.PlannedRate {
		return fmt.Sprintf("the client reached %.4g of %.4g planned requests per second (limit %.0f %%)",
			a.RealisedRate, a.PlannedRate, 100*l.RateShare)
	}
	return ""
}
