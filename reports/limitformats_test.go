package reports_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// TestLimitsInEveryFormat: a limit that is not kept shows its value, the limit and how far
// it is beyond.
func TestLimitsInEveryFormat(t *testing.T) {
	doc := passing()
	g := &doc.Gates[len(doc.Gates)-1]
	limit := 0.4
	g.Decisions[0].Limit, g.Decisions[0].Verdict, g.Decisions[0].HeadValue = &limit, result.Regression, new(0.5)
	g.Verdict = result.Regression
	for _, f := range reports.AllFormats() {
		if f.Name == "curves" { // of points, which this document has not
			continue
		}
		wanted := []string{"500 ms", "400 ms", "25.0"}
		if f.Name == "json" || f.Name == "csv" {
			wanted = []string{"0.4", "0.5"}
		}
		out := string(written(t, f.Name, doc, reports.Options{}))
		for _, want := range wanted {
			if !strings.Contains(out, want) {
				t.Errorf("%s lacks %q", f.Name, want)
			}
		}
	}
}
