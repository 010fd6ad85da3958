package reports

import (
	"testing"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

func TestIntervalName(t *testing.T) {
	for level, want := range map[float64]string{0.05: "90 % interval", 0.0125: "97.5 % interval", 0: "interval", 0.5: "interval"} {
		if got := intervalName(level); got != want {
			t.Errorf("intervalName(%g) = %q, want %q", level, got, want)
		}
	}
}

// The margin of a share is in percentage points, as its change is.
func TestMarginText(t *testing.T) {
	share := result.Decision{Kind: result.KindMetric, Unit: "fraction", Scale: "difference", Margin: 0.01}
	if got, want := marginText(&share, humanize.ScaleFor("fraction")), "1 pp"; got != want {
		t.Errorf("marginText = %q, want %q", got, want)
	}
}
