package timer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/timer"
)

func TestAWaitEndsWithItsContext(t *testing.T) {
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for name, wait := range map[string]func(context.Context, time.Duration) error{"Sleep": timer.Sleep, "Precise": timer.Precise} {
		for _, d := range []time.Duration{-1, 0, time.Hour} {
			if err := wait(ctx, d); !errors.Is(err, cause) {
				t.Errorf("%s(%v) after the end: %v", name, d, err)
			}
		}
		for _, d := range []time.Duration{-time.Hour, 0, 1} {
			if err := wait(t.Context(), d); err != nil {
				t.Errorf("%s(%v): %v", name, d, err)
			}
		}
	}
}
