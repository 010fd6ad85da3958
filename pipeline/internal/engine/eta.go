package engine

import (
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// eta estimates how much of the schedule is done and how long the rest will take. Remaining starts take as long as the
// measured ones on average. The plan's estimate of the remaining runs is scaled by the ratio of the runs that have
// ended. Only ended starts and runs count, so that the estimate does not move during one. It is safe for concurrent
// use.
type eta struct {
	now    func() time.Time
	start  time.Time
	launch float64            // estimate of one launch, seconds
	cell   map[string]float64 // estimate of one run
	most   float64            // the longest estimate of a run
	lanes  float64            // repeats at a time

	mu       sync.Mutex
	last     time.Time // when a start or a run ended
	launches int       // remaining
	starts   int       // measured
	starting float64   // seconds of the measured starts
	runs     float64   // estimate of the remaining runs
	done     float64   // estimate of the runs that have ended
	took     float64   // seconds of the runs that have ended
	index    int       // runs done or skipped
	total    int
}

// maxCorrection bounds the correction, since it comes from few runs at first.
const maxCorrection = 5

func newETA(p *plan.Plan, now func() time.Time) *eta {
	e := &eta{now: now, start: now(), last: now(), cell: map[string]float64{}, lanes: 1}
	if p.Estimate.Sequential > 0 {
		e.lanes = p.Estimate.Sequential / p.Estimate.Seconds
	}
	scale := max(p.TimeScale, 1)
	for _, b := range p.Benchmarks {
		for _, c := range b.Cells {
			e.cell[c.Hash] = c.Seconds / scale
			e.most = max(e.most, e.cell[c.Hash])
		}
	}
	for _, r := range p.Repeats {
		for _, l := range r.Launches {
			e.put(l, 1)
		}
	}
	if e.launches > 0 {
		e.launch = max(0, max(p.Estimate.Seconds, p.Estimate.Sequential)-e.runs) / float64(e.launches)
	}
	return e
}

// runsOf returns the estimate of the runs of a launch.
func (e *eta) runsOf(l plan.Launch) float64 {
	sum := 0.0
	for _, run := range l.Runs {
		sum += e.cell[run.Cell]
	}
	return sum
}

// of returns the estimate of a launch with its runs.
func (e *eta) of(l plan.Launch) float64 { return e.launch + e.runsOf(l) }

// put adds a launch to the remaining schedule, or removes it if sign is −1.
func (e *eta) put(l plan.Launch, sign int) {
	e.launches += sign
	e.runs += float64(sign) * e.runsOf(l)
	if sign > 0 {
		e.total += len(l.Runs)
	} else {
		e.index += len(l.Runs)
	}
}

// skip removes a launch that is not executed from the schedule.
func (e *eta) skip(l plan.Launch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.put(l, -1)
}

// add adds a launch that was not planned to the schedule.
func (e *eta) add(l plan.Launch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.put(l, 1)
}

// launched records that a start became ready after took seconds. From the second start on it includes the end of the
// previous launch, since later starts have that cost too.
func (e *eta) launched(attempt int, took float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	if e.starts > 0 {
		took = max(took, now.Sub(e.last).Seconds()*e.lanes)
	}
	e.starts++
	e.starting += took
	e.ended(attempt, now)
}

// failed records that a start has failed.
func (e *eta) failed(attempt int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended(attempt, e.now())
}

// ended removes a launch from the remaining ones, at its first attempt.
func (e *eta) ended(attempt int, now time.Time) {
	e.last = now
	if attempt == 1 {
		e.launches--
	}
}

// dropped records that a run is not executed.
func (e *eta) dropped(cell string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs -= e.cell[cell]
	e.index++
}

// ran records that a run has ended.
func (e *eta) ran(cell string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	e.took += now.Sub(e.last).Seconds() * e.lanes
	e.last = now
	e.runs -= e.cell[cell]
	e.done += e.cell[cell]
	e.index++
}

// position returns the number of the current run and of all runs.
func (e *eta) position() (index, total int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return min(e.index+1, e.total), e.total
}

// estimate returns the elapsed and the remaining seconds.
func (e *eta) estimate() (elapsed, left float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	start, correction := e.launch, 1.0
	if e.starts > 0 {
		start = e.starting / float64(e.starts)
	}
	if e.done > 0 {
		correction = min(max(e.took/e.done, 1.0/maxCorrection), maxCorrection)
	}
	starts, runs := float64(max(0, e.launches))*start, max(0, e.runs)*correction
	// The current start or run has taken the time since the last end, at most the longest one.
	longest := max(start, e.most*correction)
	begun := min(now.Sub(e.last).Seconds(), longest, (starts+runs)/e.lanes)
	return now.Sub(e.start).Seconds(), max(0, (starts+runs)/e.lanes-begun)
}
