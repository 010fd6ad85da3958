package reports_test

import (
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// verdictTable returns the titles and the cells of the only comparison of a document.
func verdictTable(t *testing.T, d result.Decision) (titles, cells []string) {
	t.Helper()
	if d.Verdict == "" {
		d.Verdict = result.Regression
	}
	doc := &result.Document{Status: result.StatusComplete, Gates: []result.Gate{
		{Addr: "gate.g", BaselineKind: "paired", Verdict: d.Verdict, Decisions: []result.Decision{d}}}}
	for _, s := range reports.Build(doc, reports.Options{}).Sections {
		for _, table := range s.Tables {
			if last := table.Columns[len(table.Columns)-1]; last.Title != "verdict" || len(table.Rows) != 1 || len(table.Columns) != 9 {
				continue
			}
			for i, c := range table.Columns {
				titles, cells = append(titles, c.Title), append(cells, table.Rows[0].Cells[i].String())
			}
			return titles, cells
		}
	}
	t.Fatal("the report has no table of comparisons")
	return nil, nil
}

// Columns of a table of comparisons.
const (
	headColumn, changeColumn, intervalColumn, marginColumn, verdictColumn = 3, 4, 5, 7, 8
)

func TestIntervalNamesItsLevel(t *testing.T) {
	for level, want := range map[float64]string{0.05: "90 % interval", 0.0125: "97.5 % interval", 0: "interval", 0.5: "interval"} {
		titles, _ := verdictTable(t, result.Decision{Kind: result.KindMetric, Lower: new(0.1), Upper: new(0.2), Level: level})
		if got := titles[intervalColumn]; got != want {
			t.Errorf("level %g: %q, want %q", level, got, want)
		}
	}
}

// TestMargin: the margin of a share is in percentage points, as its change is; a margin of 0 is one, and what has
// none shows none.
func TestMargin(t *testing.T) {
	for _, tt := range []struct {
		d    result.Decision
		want string
	}{
		{result.Decision{Kind: result.KindMetric, Unit: "fraction", Scale: metric.Difference, Margin: 0.01}, "1 pp"},
		{result.Decision{Kind: result.KindMetric, Scale: metric.Log}, "0 %"},
		{result.Decision{Kind: result.KindMetric, Scale: metric.Difference, Unit: "nats", Margin: 0.005, BaseValue: new(0.002),
			HeadValue: new(0.002)}, "5 mnat"},
		{result.Decision{Kind: result.KindSuccess, Scale: metric.Proportion, Unit: "fraction"}, humanize.None},
		{result.Decision{Kind: result.KindAssert, Scale: metric.Log}, humanize.None},
	} {
		if _, cells := verdictTable(t, tt.d); cells[marginColumn] != tt.want {
			t.Errorf("%+v: %q, want %q", tt.d, cells[marginColumn], tt.want)
		}
	}
}

// TestRefutedIsNamed: a claim that the interval excludes is refuted in the headline, and what is merely
// open stays inconclusive.
func TestRefutedIsNamed(t *testing.T) {
	d := result.Decision{Kind: result.KindMetric, Verdict: result.Inconclusive, Refuted: true, N: 5}
	doc := &result.Document{Status: result.StatusComplete, Gates: []result.Gate{
		{Addr: "gate.a", Verdict: result.Inconclusive, Actions: result.Actions{OnInconclusive: result.Fail}, Decisions: []result.Decision{d}},
		{Addr: "gate.b", Verdict: result.Inconclusive, Actions: result.Actions{OnInconclusive: result.Fail},
			Decisions: []result.Decision{{Kind: result.KindMetric, Verdict: result.Inconclusive}}},
	}}
	if got := reports.Build(doc, reports.Options{}).Heading.String(); got != "Performance: 1 of 2 gates refuted, 1 inconclusive" {
		t.Errorf("%q", got)
	}
	if _, cells := verdictTable(t, d); cells[verdictColumn] != "refuted" {
		t.Errorf("%q", cells[verdictColumn])
	}
}
