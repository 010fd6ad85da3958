package simulate

import (
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// TestHeadStartFollowsTheMedian: a server that needs some time to write a token begins so
// much earlier, and not more because a few tokens needed much more.
func TestHeadStartFollowsTheMedian(t *testing.T) {
	clock := NewWallClock(10)
	step := span{0, time.Second}
	l := newLateness(clock)
	for i := range 2000 {
		needs := 3 * time.Millisecond // of model time: 300 µs
		if i%10 == 0 {
			needs = 50 * time.Millisecond
		}
		l.left(needs - l.early(clock, step).(headStart).by)
	}
	if by := l.early(clock, step).(headStart).by; by < 2900*time.Microsecond || by > 3100*time.Microsecond {
		t.Errorf("the head start is %v", by)
	}
	for range 2000 {
		l.left(time.Second)
	}
	if by := l.early(clock, step).(headStart).by; by != 10*mostHead {
		t.Errorf("the head start is %v where all is late", by)
	}
	if by := l.early(clock, span{0, 8 * time.Millisecond}).(headStart).by; by != time.Millisecond {
		t.Errorf("the head start is %v of a step of 8 ms", by)
	}
	for range 2000 {
		l.left(-time.Second)
	}
	if by := l.early(clock, step).(headStart).by; by != 0 {
		t.Errorf("the head start is %v where all is early", by)
	}
	if by := newLateness(&jumpClock{}).early(&jumpClock{}, step).(headStart).by; by != 0 {
		t.Errorf("the head start is %v on a clock that nobody waits for", by)
	}
}

// TestLateTransfersAreTold: a transfer that is heard of after its turn at the NICs, and KV
// that a step has begun without, did not keep the model's time.
func TestLateTransfersAreTold(t *testing.T) {
	clock := &jumpClock{}
	k := &kvSide{clock: clock, nics: model.NewNICQueue(model.Link{Bandwidth: 1e9}), late: newLateness(clock)}
	for _, at := range []time.Duration{3 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond, 4 * time.Millisecond, 6 * time.Millisecond} {
		k.reserve(at, 1000)
	}
	if k.late.missed != 1 {
		t.Errorf("%d transfers came out of turn, want 1", k.late.missed)
	}

	d, err := newDriver(testConfig(t), 1, clock, Failures{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.begun = 5 * time.Millisecond
	for _, at := range []time.Duration{4 * time.Millisecond, 5 * time.Millisecond, 6 * time.Millisecond} {
		d.arrived(at, 1, 0)
	}
	if d.late.missed != 1 {
		t.Errorf("%d transfers missed their step, want 1", d.late.missed)
	}
}
