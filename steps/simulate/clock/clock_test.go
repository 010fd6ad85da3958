package clock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/stamp"
	"pgregory.net/rapid"
)

// TestStampsJoinClocks: two clocks that began at different times, or run at different
// speeds, agree on what a stamp means, and what happened at one time stays so.
func TestStampsJoinClocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.SampledFrom([]float64{0.2, 1, 10, 50}).Draw(t, "scale")
		now := stamp.Now()
		a := wall{start: time.Now(), origin: now, scale: scale}
		b := wall{start: time.Now().Add(-time.Minute), origin: now - int64(time.Minute), scale: scale}
		at := time.Duration(rapid.Int64Range(0, int64(float64(time.Minute)*scale)).Draw(t, "at"))
		text := Format(a, at)
		got, ok := Parse(b, text)
		want := at + time.Duration(float64(time.Minute)*scale)
		if d := got - want; !ok || d < -time.Microsecond || d > time.Microsecond {
			t.Fatalf("%v is %v on the other clock, %v; want %v", at, got, ok, want)
		}
		back, ok := Parse(a, Format(b, got))
		if again, _ := Parse(b, Format(a, back)); !ok || again != got {
			t.Fatalf("%v becomes %v on its way back and forth", got, again)
		}
	})
}

func TestStampsThatCannotBeAreThePresent(t *testing.T) {
	c := NewWall(1)
	for _, text := range []string{"", "nonsense", stamp.Format(1), stamp.Format(stamp.Now() + int64(time.Hour))} {
		before := c.Now()
		if at, ok := Parse(c, text); ok || at < before || at > c.Now() {
			t.Errorf("%q is %v, %v", text, at, ok)
		}
	}
	if text := Format(&Free{}, time.Second); text != "" {
		t.Errorf("a clock that nobody shares gives %q", text)
	}
	if at, ok := Parse(&Free{now: time.Second}, stamp.Format(stamp.Now())); ok || at != time.Second {
		t.Errorf("a clock that nobody shares takes a stamp as %v", at)
	}
}

// TestSleepKeepsItsWord: never early, at once for the past, and over with the context.
func TestSleepKeepsItsWord(t *testing.T) {
	c := NewWall(10)
	for range 20 {
		until := c.Now() + 5*time.Millisecond
		if err := c.SleepUntil(t.Context(), until); err != nil || c.Now() < until {
			t.Fatalf("%v, %v too early", err, until-c.Now())
		}
	}
	if err := c.SleepUntil(t.Context(), 0); err != nil {
		t.Error(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() { ended <- c.SleepUntil(ctx, c.Now()+time.Hour) }()
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
	// What was cut off does not shorten the next sleep.
	until := c.Now() + 5*time.Millisecond
	if err := c.SleepUntil(t.Context(), until); err != nil || c.Now() < until {
		t.Errorf("%v, %v too early", err, until-c.Now())
	}
}
