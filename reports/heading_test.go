package reports_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// TestImprovementsAreStated: what improved is named with its values, the rest is not said to be within a margin on both
// sides, and the headline of a capacity has its values.
func TestImprovementsAreStated(t *testing.T) {
	doc := passing()
	d := &doc.Gates[0].Decisions[0]
	d.Metric, d.Label, d.Unit, d.Direction, d.Scale = "capacity.rate", "Capacity", string(metric.RequestsPerSec),
		metric.HigherIsBetter, metric.Log
	d.BaseValue, d.HeadValue, d.Change, d.Lower, d.Upper = new(19.9), new(21.0), new(0.055), new(0.03), new(0.08)
	d.Verdict, d.PBetter, d.PHolm = result.Improvement, true, new(0.002)
	doc.Gates[0].Verdict = result.Worst(result.Pass)
	heading, rest, _ := strings.Cut(render(t, doc, reports.Options{}), "\n")
	if !strings.Contains(heading, "2 of 2 gates passed, capacity 19.9 → 21.0 req/s") {
		t.Errorf("the headline is %q", heading)
	}
	for _, want := range []string{
		"Improved: v0.11.0 is **5.5 % better** than v0.10.2 in **Capacity** at `rate=4` (",
		". Not worse by the margin: the other 4 comparisons and the success rates.",
		"| 0.002 |",
	} {
		if !strings.Contains(rest, want) {
			t.Errorf("%q is missing in\n%s", want, rest[:600])
		}
	}
}

// TestMovedCostIsInTheAnswer: what a head that passes pays where no gate looks stands above the table, in comments as well,
// for one cell; the warnings have every cell.
func TestMovedCostIsInTheAnswer(t *testing.T) {
	doc := passing()
	first, second := &doc.Gates[0].Decisions[0], &doc.Gates[0].Decisions[1]
	first.MovedCost, second.MovedCost = "TTFT p90 40 ms → 97 ms (+142 %)", "Startup time 1 s → 9 s"
	for name, o := range map[string]reports.Options{"report": {}, "comment": {Comment: true}} {
		text := render(t, doc, o)
		want := "**Worse where no gate looks:** TTFT p90 40 ms → 97 ms (+142 %) at `rate=4` and at 1 more cell"
		if lead, _, _ := strings.Cut(text, "<details>"); !strings.Contains(lead, want) {
			t.Errorf("%s: %q is missing in\n%s", name, want, lead)
		}
		if all := "worse where no gate looks: Startup time 1 s → 9 s"; !o.Comment && !strings.Contains(text, all) {
			t.Errorf("%s: %q is missing in\n%s", name, all, text)
		}
	}
}

// TestAnswerNeedsAVerdict: a session that ended without a verdict has its reason in the headline alone.
func TestAnswerNeedsAVerdict(t *testing.T) {
	for name, doc := range map[string]*result.Document{"infrastructure": infrastructure(), "interrupted": interrupted()} {
		if got := reports.Answer(doc, reports.Options{}); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := reports.Answer(inconclusive(), reports.Options{}); got == "" {
		t.Error("an inconclusive result has no answer")
	}
}

// TestWhatIsDescribedHasOneReason: where nothing is decided for one reason, the lead has it and no row does.
func TestWhatIsDescribedHasOneReason(t *testing.T) {
	const why = "the servers run already"
	doc := inconclusive()
	n := 0
	for i := range doc.Gates[0].Decisions {
		if d := &doc.Gates[0].Decisions[i]; d.Kind == result.KindMetric {
			d.Verdict, d.Descriptive, d.Reason = result.Inconclusive, true, why
			n++
		}
	}
	for name, o := range map[string]reports.Options{"report": {}, "comment": {Comment: true}} {
		text := render(t, doc, o)
		if n < 2 || strings.Count(text, why) != 1 || !strings.Contains(text, "could not be decided, since "+why+". This is not a pass.") {
			t.Errorf("%s: %d rows in\n%s", name, n, text)
		}
	}
	doc.Gates[0].Decisions[0].Reason = "another"
	if text := render(t, doc, reports.Options{}); strings.Contains(text, "decided, since ") || strings.Count(text, why) < n-1 {
		t.Errorf("two reasons in\n%s", text)
	}
}

// TestMarginsThatFilesMayState: a margin that would decide is named up to 100 %, above which no file may have one.
func TestMarginsThatFilesMayState(t *testing.T) {
	for upper, want := range map[float64]bool{0.2: true, 0.6: false} {
		doc := inconclusive()
		for i := range doc.Gates[0].Decisions {
			d := &doc.Gates[0].Decisions[i]
			d.N, d.NeedPairs, d.Change, d.Upper = 3, 4, new(0.01), new(upper)
		}
		if got := strings.Contains(render(t, doc, reports.Options{}), "or a margin of"); got != want {
			t.Errorf("an interval up to %g: a margin is named: %v", upper, got)
		}
	}
}

// TestDigitsOfMargins: a margin is named with two digits, and never as the one that the gate has.
func TestDigitsOfMargins(t *testing.T) {
	for name, tt := range map[string]struct {
		scale  metric.Scale
		unit   metric.Unit
		margin metric.Margin
		upper  float64
		want   string
	}{
		"the present one": {metric.Log, metric.Seconds, 0.05, 0.0248, "a margin of 5.1 % for TTFT p99"},
		"a share":         {metric.Difference, metric.Fraction, 0.01, 0.0123456, "a margin of 2.5 pp for TTFT p99"},
		"a count":         {metric.Difference, metric.Count, 0.001, 0.00123456, "a margin of 0.0025 for TTFT p99"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := inconclusive()
			doc.Gates[0].Decisions = doc.Gates[0].Decisions[:1]
			d := &doc.Gates[0].Decisions[0]
			d.Scale, d.Unit, d.Margin, d.N, d.NeedPairs = tt.scale, string(tt.unit), tt.margin, 3, 4
			d.Change, d.Lower, d.Upper = new(0.0), new(-tt.upper), new(tt.upper)
			if got := render(t, doc, reports.Options{}); !strings.Contains(got, tt.want) {
				t.Errorf("%q is missing in\n%s", tt.want, got[:min(len(got), 800)])
			}
		})
	}
}

// TestMeansOfTheSides: the legend calls means of ratios geometric and those of differences arithmetic.
func TestMeansOfTheSides(t *testing.T) {
	for want, changed := range map[string]int{
		"are geometric means over": 0, "are geometric means (arithmetic ones where changes are differences) over": 1,
		"are arithmetic means over": 99,
	} {
		doc := inconclusive()
		for _, g := range doc.Gates {
			for i := range g.Decisions {
				if d := &g.Decisions[i]; d.Kind == result.KindMetric && changed > 0 {
					d.Scale = metric.Difference
					changed--
				}
			}
		}
		if text := render(t, doc, reports.Options{}); !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// TestNextOfEachCause: what is to be done follows from the cause, and only what blocks merging is said to.
func TestNextOfEachCause(t *testing.T) {
	open := inconclusive()
	open.Gates[0].OnInconclusive = result.Warn
	open.Gates[0].Decisions[0].NeedPairs, open.Gates[0].Decisions[0].Detectable = 42, 5.4 // of Holm's first step, no margin that is needed
	for i := range open.Gates[0].Decisions {
		open.Gates[0].Decisions[i].N = 3
	}
	base := infrastructure()
	base.Status, base.StatusReason = result.StatusComplete, ""
	for name, tt := range map[string]struct {
		doc       *result.Document
		want, not []string
	}{
		"inconclusive": {open, []string{
			"Merging is not blocked. To decide: `repeat { max = 42 }`, about 13 h 22 min, or a margin of 11.1 % for TTFT p99, " +
				"12.2 % for ITL p99.", // twice as far from the change as the worse end of the interval
		}, []string{"nothing to accept"}},
		"undecided":      {inconclusive(), []string{"Merging is blocked"}, []string{"or a margin"}}, // of two pairs
		"infrastructure": {infrastructure(), []string{"Repair what failed and measure again; there is nothing to accept"}, []string{"| — | — |"}},
		"base fails too": {base, []string{"**Not your change:** the base fails too.", "**For the maintainer:** Repair the base or the machine"},
			[]string{"| — | — |"}},
		"interrupted": {interrupted(), []string{"The same command with --resume goes on"}, nil},
	} {
		lead, _, _ := strings.Cut(render(t, tt.doc, reports.Options{}), "<details>")
		for _, want := range tt.want {
			if !strings.Contains(lead, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, lead)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(lead, not) {
				t.Errorf("%s: %q is in\n%s", name, not, lead)
			}
		}
	}
}
