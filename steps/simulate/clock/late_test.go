package clock

import (
	"testing"
	"time"
)

// TestHeadStartFollowsTheMedian: a server that needs some time to write a token begins so
// much earlier, and not more because a few tokens needed much more.
func TestHeadStartFollowsTheMedian(t *testing.T) {
	clock := NewWall(10)
	step := Span{0, time.Second}
	l := NewLateness(clock)
	for i := range 2000 {
		needs := 3 * time.Millisecond // of model time: 300 µs
		if i%10 == 0 {
			needs = 50 * time.Millisecond
		}
		l.Left(needs - l.Early(clock, step).(headStart).by)
	}
	if by := l.Early(clock, step).(headStart).by; by < 2900*time.Microsecond || by > 3100*time.Microsecond {
		t.Errorf("the head start is %v", by)
	}
	for range 2000 {
		l.Left(time.Second)
	}
	if by := l.Early(clock, step).(headStart).by; by != 10*mostHead {
		t.Errorf("the head start is %v where all is late", by)
	}
	if by := l.Early(clock, Span{0, 8 * time.Millisecond}).(headStart).by; by != time.Millisecond {
		t.Errorf("the head start is %v of a step of 8 ms", by)
	}
	for range 2000 {
		l.Left(-time.Second)
	}
	if by := l.Early(clock, step).(headStart).by; by != 0 {
		t.Errorf("the head start is %v where all is early", by)
	}
	if by := NewLateness(&Free{}).Early(&Free{}, step).(headStart).by; by != 0 {
		t.Errorf("the head start is %v on a clock that nobody waits for", by)
	}
}
