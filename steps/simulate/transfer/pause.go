package transfer

import (
	"context"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// stagedSteps are the steps of a prefill server as transfers before V1 see them. Such a
// connector serializes tensors in the engine's own process, whose interpreter runs one
// thread at a time: a step stands while a transfer goes on. But once the kernels of a step
// are queued, copies to the host go behind them, so that a transfer waits for the step.
//
// A peer asks a moment after it began to, and the step of that moment, or one that was
// begun since, is put off afterwards: until its end is reported, only the model knows of it.
type stagedSteps struct {
	// launch is the time in which the host queues the kernels of a step.
	launch time.Duration

	mu sync.Mutex
	// last step that has ended, and the one in progress.
	last, current clock.Span
	active        bool
	// until then transfers go on, and no step begins.
	until time.Duration
}

// begin starts a step, not before the transfers are over.
func (s *stagedSteps) begin(step model.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	step = step.Shift(s.until)
	s.current, s.active = clock.Span{Start: step.Start, End: step.End}, true
}

// run lets the step's time go by, however often its end is put off.
func (s *stagedSteps) run(ctx context.Context, clock clock.Clock, step model.Step) (model.Step, error) {
	s.begin(step)
	for {
		s.mu.Lock()
		end := s.current.End
		s.mu.Unlock()
		if err := clock.SleepUntil(ctx, end); err != nil {
			return step, err
		}
		if s.end(end) {
			step.Start, step.End = s.last.Start, s.last.End
			return step, nil
		}
	}
}

// end is false if the step's end has been put off meanwhile.
func (s *stagedSteps) end(at time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.End != at {
		return false
	}
	s.last, s.active = s.current, false
	return true
}

// transfer puts the steps off by a transfer that a peer asks for at the given time, and
// returns its own times; reserve says when a transfer that begins then is over. missed is
// how much the step would have had to be put off that has ended already.
func (s *stagedSteps) transfer(at time.Duration, reserve func(time.Duration) time.Duration) (t clock.Span, missed time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Start = at
	within := s.active && at >= s.current.Start
	before := !within && at >= s.last.Start && at < s.last.End
	switch {
	case within && at-s.current.Start >= s.launch:
		t.Start = s.current.End
	case before && at-s.last.Start >= s.launch:
		t.Start = s.last.End
	}
	t.End = reserve(t.Start)
	switch {
	case within && t.Start == at:
		s.current.End += t.End - at
	case before && t.Start == at:
		missed = t.End - at
	}
	if late := t.End - s.current.Start; s.active && !within && late > 0 {
		s.current.Start, s.current.End = s.current.Start+late, s.current.End+late
	}
	s.until = max(s.until, t.End)
	return t, missed
}
