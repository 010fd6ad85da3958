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
	d.Later = &result.Estimate{N: 6, BaseValue: *d.BaseValue, HeadValue: *d.HeadValue, Change: 0.031}
	text := strings.Join(strings.Fields(render(t, doc, reports.Options{})), " ")
	for _, want := range []string{
		"6 of at most 8 repeats, judged at 2 looks of 3", "the gates are judged after 4, 6 and 8 repeats",
		"about 66 % at the margin", "decided after 4 repeats; all 6 show TTFT p99 +3.1 % at rate=4", "rests on the last look, after 6",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	doc.LooksTaken, doc.RepeatsDone = nil, 0 // it ended before the first
	if text := render(t, doc, reports.Options{}); !strings.Contains(text, "0 of at most 8 repeats") || strings.Contains(text, "0 looks") {
		t.Errorf("looks that were not taken are counted:\n%.900s", text)
	}
}

// The legend speaks of the session at hand: a strict gate, a further attempt, comparisons
// over several cells, spreads that were drawn together.
func TestTheLegendSpeaksOfTheSession(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*result.Document)
		want   string
	}{
		"one look":   {func(*result.Document) {}, "rises to about ½ at the margin"},
		"five looks": {func(d *result.Document) { d.Looks = []int{4, 6, 8, 10, 12} }, "rises to about 72 % at the margin"},
		"strict": {func(d *result.Document) {
			for i := range d.Gates {
				d.Gates[i].Strict = true
			}
		}, "rises to at most 0.05 at the margin"},
		"attempt": {func(d *result.Document) { d.Attempt = 3 },
			"the same change was measured before, and that is not part of this result. A pass needs 0.0017: the first attempt"},
		"suite":     {func(d *result.Document) { d.Gates[0].Decisions[0].SuiteCells = 4 }, "It has 20 % of α to itself"},
		"moderated": {func(d *result.Document) { d.Gates[0].Decisions[0].Moderated = true }, "drawn towards the spread of the other cells"},
	} {
		doc := fixtures()["pass"]
		tt.change(doc)
		if text := strings.Join(strings.Fields(render(t, doc, reports.Options{})), " "); !strings.Contains(text, tt.want) {
			t.Errorf("%s: the report lacks %q:\n%s", name, tt.want, text)
		}
	}
}
