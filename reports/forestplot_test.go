package reports_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
)

// forestInterval matches the parts of an interval: its line, and a stop or an arrow at each end.
var forestInterval = regexp.MustCompile(`class="(interval|arrow) `)

// TestForestDrawsOpenIntervals: an interval without one end is drawn up to the edge, on the log scale, too.
func TestForestDrawsOpenIntervals(t *testing.T) {
	intervals := func(lower, upper bool) int {
		doc := regression()
		d := &doc.Gates[0].Decisions[0]
		if !lower {
			d.Lower = nil
		}
		if !upper {
			d.Upper = nil
		}
		var svg strings.Builder
		if err := reports.SVG(&svg, doc, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		return len(forestInterval.FindAllString(svg.String(), -1))
	}
	want := intervals(true, true)
	if want == 0 {
		t.Fatal("no interval is drawn")
	}
	for _, ends := range [][2]bool{{false, true}, {true, false}} {
		if got := intervals(ends[0], ends[1]); got != want {
			t.Errorf("with lower end %v and upper end %v, %d parts of intervals are drawn, want %d", ends[0], ends[1], got, want)
		}
	}
}
