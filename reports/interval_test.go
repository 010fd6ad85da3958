package reports_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// TestEveryIntervalIsExplained: a report names no interval that none of its rows has, and
// says why a level is not that of the file.
func TestEveryIntervalIsExplained(t *testing.T) {
	named := regexp.MustCompile(`(\d+(?:\.\d+)?) % interval|\((\d+(?:\.\d+)?) %\) \|`)
	for name, level := range map[string]float64{"one level for all": 0, "a look": 0.0125, "several": -1} {
		doc := passing()
		levels := map[string]bool{}
		for i := range doc.Gates {
			for j := range doc.Gates[i].Decisions {
				d := &doc.Gates[i].Decisions[j]
				if d.Lower == nil && d.Upper == nil {
					continue
				}
				d.Level = level
				if level < 0 {
					d.Level = []float64{0, 0.0125}[j%2]
				}
				levels[map[bool]string{true: "97.5", false: "90"}[d.Level > 0]] = true
			}
		}
		var out bytes.Buffer
		if err := reports.Markdown(&out, doc, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(out.String(), -1) {
			if !levels[m[1]+m[2]] {
				t.Errorf("%s: %q is the level of no row", name, m[0])
			}
		}
		if explained := strings.Contains(out.String(), "has the stricter level of a look"); explained != (level != 0) {
			t.Errorf("%s: explained %v", name, explained)
		}
	}
	doc := passing() // success rates alone: no row has an interval
	for i := range doc.Gates {
		var kept []result.Decision
		for _, d := range doc.Gates[i].Decisions {
			if d.Kind == result.KindSuccess {
				d.Lower, d.Upper = nil, nil
				kept = append(kept, d)
			}
		}
		doc.Gates[i].Decisions = kept
	}
	var out bytes.Buffer
	if err := reports.Text(&out, doc, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "% interval") {
		t.Errorf("an interval is named where no row has one:\n%s", out.String())
	}
}
