package reports_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
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

// TestForestNamesAxesOnce: on a page the rows of a plot with several axes are named by the values alone, so that they are
// not cut; the plot names the axes, and the tip of a row all of it.
func TestForestNamesAxesOnce(t *testing.T) {
	doc := regression()
	for i := range doc.Gates {
		for j := range doc.Gates[i].Decisions {
			d := &doc.Gates[i].Decisions[j]
			d.Values = append(d.Values, result.AxisValue{Name: "input_len", Value: "1011"})
		}
	}
	var page strings.Builder
	if err := reports.HTML(&page, doc, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<span class="cell">4 · 1011<`, "Cells are named by rate · input_len.", "at rate=4 input_len=1011"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if text := render(t, doc, reports.Options{}); !strings.Contains(text, "rate=4 input_len=1011") {
		t.Errorf("a text has rows without axes:\n%s", text)
	}
}
