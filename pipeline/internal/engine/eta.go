package engine

import (
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// eta estimates how much of the schedule is done and how long the rest will take: the plan's
// estimate of what is left, times how much slower than estimated it went so far. It is
// safe for concurrent use.
type eta struct {
	now    func() time.Time
	start  time.Time
	launch float64            // estimate of one launch, seconds
	cell   map[string]float64 // estimate of one run
	lanes  float64            // repeats at a time

	mu    sync.Mutex
	left  float64 // estimate of what is not done
	done  float64 // estimate of what was done, without what was skipped
	index int     // runs done or skipped
	total int
}

// The correction is bounded, since it is a guess from few launches at first.
const maxCorrection = 5

func newETA(p *plan.Plan, now func() time.Time) *eta {
	e := &eta{now: now, start: now(), cell: map[string]float64{}, left: max(p.Estimate.Seconds, p.Estimate.Sequential), lanes: 1}
	if p.Estimate.Sequential > 0 {
		e.lanes = p.Estimate.Sequential / p.Estimate.Seconds
	}
	scale := max(p.TimeScale, 1)
	for _, b := range p.Benchmarks {
		for _, c := range b.Cells {
			e.cell[c.Hash] = c.Seconds / scale
		}
	}
	runs, launches := 0.0, 0
	for _, r := range p.Repeats {
		for _, l := range r.Launches {
			launches++
			e.total += len(l.Runs)
			runs += e.of(l) // a launch itself takes no time yet
		}
	}
	if launches > 0 {
		e.launch = max(0, e.left-runs) / float64(launches)
	}
	return e
}

// of is the estimate of a launch with its runs.
func (e *eta) of(l plan.Launch) float64 {
	sum := e.launch
	for _, run := range l.Runs {
		sum += e.cell[run.Cell]
	}
	return sum
}

// skip takes a launch that is not carried out off the schedule.
func (e *eta) skip(l plan.Launch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left -= e.of(l)
	e.index += len(l.Runs)
}

// add puts a launch that was not planned on the schedule.
func (e *eta) add(l plan.Launch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left += e.of(l)
	e.total += len(l.Runs)
}

// launched and ran note that a launch is ready and that a run has ended.
func (e *eta) launched() { e.pass(e.launch, 0) }

func (e *eta) ran(cell string) { e.pass(e.cell[cell], 1) }

func (e *eta) pass(estimate float64, runs int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left -= estimate
	e.done += estimate
	e.index += runs
}

// position is the number of the current run and of all runs.
func (e *eta) position() (index, total int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return min(e.index+1, e.total), e.total
}

// estimate returns the seconds since the start and those that are left.
func (e *eta) estimate() (elapsed, left float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	elapsed = e.now().Sub(e.start).Seconds()
	correction := 1.0
	if e.done > 0 {
		correction = min(max(elapsed*e.lanes/e.done, 1.0/maxCorrection), maxCorrection)
	}
	return elapsed, max(0, e.left) * correction / e.lanes
}
