package reports

import "testing"

func TestIntervalName(t *testing.T) {
	for level, want := range map[float64]string{0.05: "90 % interval", 0.0125: "97.5 % interval", 0: "interval", 0.5: "interval"} {
		if got := intervalName(level); got != want {
			t.Errorf("intervalName(%g) = %q, want %q", level, got, want)
		}
	}
}
