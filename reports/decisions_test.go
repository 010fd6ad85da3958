package reports

import (
	"testing"

	"github.com/servegate/pipeline/gates/metric"
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

// TestMarginOfNothing: a margin of 0 is one, and what has none shows none.
func TestMarginOfNothing(t *testing.T) {
	for _, tt := range []struct {
		d    result.Decision
		want string
	}{
		{result.Decision{Kind: result.KindMetric, Scale: metric.Log}, "0 %"},
		{result.Decision{Kind: result.KindMetric, Scale: metric.Difference, Unit: "nats", Margin: 0.005}, "5 mnat"},
		{result.Decision{Kind: result.KindSuccess, Scale: metric.Proportion, Unit: "fraction"}, humanize.None},
		{result.Decision{Kind: result.KindAssert, Scale: metric.Log}, humanize.None},
	} {
		if got := marginText(&tt.d, humanize.ScaleFor(tt.d.Unit, 0.002)); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.d, got, tt.want)
		}
	}
}

// TestRefutedIsNamed: a claim that the interval excludes is refuted in the headline, and what is merely
// open stays inconclusive.
func TestRefutedIsNamed(t *testing.T) {
	doc := &result.Document{Status: result.StatusComplete, Gates: []result.Gate{
		{Addr: "gate.a", Verdict: result.Inconclusive, Actions: result.Actions{OnInconclusive: result.Fail},
			Decisions: []result.Decision{{Kind: result.KindMetric, Verdict: result.Inconclusive, Refuted: true}}},
		{Addr: "gate.b", Verdict: result.Inconclusive, Actions: result.Actions{OnInconclusive: result.Fail},
			Decisions: []result.Decision{{Kind: result.KindMetric, Verdict: result.Inconclusive}}},
	}}
	if got := Build(doc, Options{}).Heading.String(); got != "Performance: 1 of 2 gates refuted, 1 inconclusive" {
		t.Errorf("%q", got)
	}
	if got := verdictText(verdictRow{&doc.Gates[0], &doc.Gates[0].Decisions[0]}).String(); got != "refuted" {
		t.Errorf("%q", got)
	}
}
