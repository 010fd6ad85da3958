package transfer

import (
	"context"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
)

const ms = time.Millisecond

// TestStagedSteps: transfers of connectors before V1 and the steps of the prefill server
// put each other off, also where the server learns of a transfer after it began.
func TestStagedSteps(t *testing.T) {
	type step struct{ start, end time.Duration }
	for name, tt := range map[string]struct {
		last, current *step
		at            time.Duration
		transfer      clock.Span // 30 ms long
		ends          time.Duration
		until, missed time.Duration
	}{
		"idle":                            {nil, nil, 50 * ms, clock.Span{Start: 50 * ms, End: 80 * ms}, 0, 80 * ms, 0},
		"while kernels are queued":        {nil, &step{40 * ms, 140 * ms}, 50 * ms, clock.Span{Start: 50 * ms, End: 80 * ms}, 170 * ms, 80 * ms, 0},
		"when they are":                   {nil, &step{40 * ms, 140 * ms}, 60 * ms, clock.Span{Start: 140 * ms, End: 170 * ms}, 140 * ms, 170 * ms, 0},
		"before a step that has begun":    {nil, &step{60 * ms, 160 * ms}, 50 * ms, clock.Span{Start: 50 * ms, End: 80 * ms}, 180 * ms, 80 * ms, 0},
		"long before one":                 {nil, &step{90 * ms, 190 * ms}, 50 * ms, clock.Span{Start: 50 * ms, End: 80 * ms}, 190 * ms, 80 * ms, 0},
		"between two steps":               {&step{0, 45 * ms}, &step{60 * ms, 160 * ms}, 50 * ms, clock.Span{Start: 50 * ms, End: 80 * ms}, 180 * ms, 80 * ms, 0},
		"in the step before, behind it":   {&step{0, 55 * ms}, &step{55 * ms, 155 * ms}, 50 * ms, clock.Span{Start: 55 * ms, End: 85 * ms}, 185 * ms, 85 * ms, 0},
		"in the step before, it is over":  {&step{45 * ms, 55 * ms}, &step{55 * ms, 155 * ms}, 50 * ms, clock.Span{Start: 50 * ms, End: 80 * ms}, 180 * ms, 80 * ms, 30 * ms},
		"in the step before, nothing now": {&step{0, 55 * ms}, nil, 50 * ms, clock.Span{Start: 55 * ms, End: 85 * ms}, 0, 85 * ms, 0},
	} {
		s := stagedSteps{launch: 20 * ms}
		if tt.last != nil {
			s.begin(model.Step{Start: tt.last.start, End: tt.last.end})
			if !s.end(tt.last.end) {
				t.Fatalf("%s: the first step does not end", name)
			}
		}
		if tt.current != nil {
			s.begin(model.Step{Start: tt.current.start, End: tt.current.end})
		}
		got, missed := s.transfer(tt.at, func(begin time.Duration) time.Duration { return begin + 30*ms })
		if got != tt.transfer || missed != tt.missed || s.until != tt.until {
			t.Errorf("%s: the transfer is %v and the next step not before %v, %v missed; want %v, %v, %v", name, got, s.until, missed, tt.transfer, tt.until, tt.missed)
		}
		if tt.current != nil && s.current.End != tt.ends {
			t.Errorf("%s: the step ends at %v, want %v", name, s.current.End, tt.ends)
		}
	}
}

// TestStagedStepIsPutOffWhileItRuns: the end that a step was begun with is not its last word.
func TestStagedStepIsPutOffWhileItRuns(t *testing.T) {
	s := stagedSteps{launch: 20 * ms}
	clock := &interruptedClock{at: 100 * ms, then: func() {
		s.transfer(5*ms, func(begin time.Duration) time.Duration { return begin + 50*ms })
	}}
	step, err := s.run(t.Context(), clock, model.Step{Start: 0, End: 100 * ms})
	if err != nil || step.Start != 0 || step.End != 150*ms {
		t.Errorf("%+v, %v", step, err)
	}
	if step, err = s.run(t.Context(), clock, model.Step{Start: 10 * ms, End: 20 * ms}); err != nil || step.Start != 55*ms || step.End != 65*ms {
		t.Errorf("the step after a transfer until 55ms: %+v, %v", step, err)
	}
}

// interruptedClock does something once when it is asked to sleep until a time.
type interruptedClock struct {
	clock.Free
	at   time.Duration
	then func()
}

func (c *interruptedClock) SleepUntil(ctx context.Context, t time.Duration) error {
	if t == c.at && c.then != nil {
		then := c.then
		c.then = nil
		then()
	}
	return c.Free.SleepUntil(ctx, t)
}

// TestTransfersOutOfTurnAreLate: a transfer that arrives after its turn at the NICs did
// not keep the model's time.
func TestTransfersOutOfTurnAreLate(t *testing.T) {
	free := &clock.Free{}
	k := &Side{clock: free, nics: model.NewNICQueue(model.Link{Bandwidth: 1e9}), late: clock.NewLateness(free)}
	for _, at := range []time.Duration{3 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond, 4 * time.Millisecond, 6 * time.Millisecond} {
		k.reserve(at, 1000)
	}
	if n := k.late.Missed(); n != 1 {
		t.Errorf("%d transfers came out of turn, want 1", n)
	}
}
