package target

import (
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
)

func TestScaledReadiness(t *testing.T) {
	for _, tt := range []struct {
		interval time.Duration
		scale    float64
		want     time.Duration
	}{
		{0, 1, steps.DefaultReadyInterval},
		{0, 10, steps.DefaultReadyInterval / 10},
		{0, 1000, shortestInterval},
		{20 * time.Millisecond, 1000, 20 * time.Millisecond}, // asked for more often than that
	} {
		if got := scaledReadiness(steps.Readiness{Interval: tt.interval}, tt.scale).Interval; got != tt.want {
			t.Errorf("%s, %g times faster: %s, want %s", tt.interval, tt.scale, got, tt.want)
		}
	}
}
