package reports_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// A report of a session with looks says when it was judged, at which level, and what came
// after a comparison was decided.
func TestLooksAreTold(t *testing.T) {
	doc := fixtures()["pass"]
	doc.Looks, doc.LooksTaken, doc.RepeatsPlanned, doc.RepeatsDone = []int{4, 6, 8}, []int{4, 6}, 8, 6
	d := &doc.Gates[0].Decisions[0]
	d.Level, d.HolmLevel, d.Look = 0.0189, 0.0189, 4
	d.Later = &result.Estimate{N: 6, BaseValue: d.BaseValue, HeadValue: d.HeadValue, Change: 0.031}
	text := strings.Join(strings.Fields(render(t, doc, reports.Options{})), " ")
	for _, want := range []string{
		"6 of at most 8 repeats, judged at 2 looks of 3", "the gates are judged after 4, 6 and 8 repeats",
		"about 65 % at the margin", "decided after 4 repeats; all 6 show +3.1 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}
