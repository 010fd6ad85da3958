package reports_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// judged is a document with a gate for each list of decisions.
func judged(lists ...[]result.Decision) *result.Document {
	doc := &result.Document{Status: result.StatusComplete, RepeatsPlanned: 4, RepeatsDone: 4}
	for i, list := range lists {
		g := result.Gate{Addr: fmt.Sprintf("gate.g%d", i), BaselineKind: result.BaselinePaired, Decisions: list,
			Actions: result.Actions{OnRegression: result.Fail, OnInconclusive: result.Fail, OnMissing: result.Fail, OnInvalid: result.Fail}}
		var verdicts []result.Verdict
		for _, d := range list {
			verdicts = append(verdicts, d.Verdict)
		}
		g.Verdict = result.Worst(verdicts...)
		doc.Gates = append(doc.Gates, g)
	}
	return doc
}

// decided is a decision on a time, worse by 2 %.
func decided(v result.Verdict, change func(*result.Decision)) result.Decision {
	d := result.Decision{Kind: result.KindMetric, Metric: "ttft.p50", Label: "TTFT p50", Unit: "s", Direction: metric.LowerIsBetter,
		Scale: metric.Log, Verdict: v, N: 4, Margin: 0.05, Change: new(0.02), Lower: new(-0.02), Upper: new(0.06),
		BaseValue: new(0.1), HeadValue: new(0.102)}
	if change != nil {
		change(&d)
	}
	return d
}

// TestMarginThatIsNamed: a margin with which an undecided comparison would pass is named where the estimate is known and within the
// margin, and what is named may be written.
func TestMarginThatIsNamed(t *testing.T) {
	points := func(unit string) func(*result.Decision) {
		return func(d *result.Decision) {
			d.Unit, d.Scale, d.Margin = unit, metric.Difference, 0.5
			d.Change, d.Lower, d.Upper = new(0.1), new(-0.5), new(0.7)
		}
	}
	for name, tt := range map[string]struct {
		change func(*result.Decision)
		want   string
	}{
		"the worse end, twice as far": {nil, "10.2 %"},
		"more is better": {func(d *result.Decision) {
			d.Direction, d.Change, d.Lower, d.Upper = metric.HigherIsBetter, new(-0.02), new(-0.06), new(0.1)
		}, "10.9 %"},
		"repeats unknown":           {func(d *result.Decision) { d.NeedPairs = 0 }, ""},
		"two pairs":                 {func(d *result.Decision) { d.N = 2 }, ""},
		"three pairs":               {func(d *result.Decision) { d.N = 3 }, "10.2 %"},
		"no estimate":               {func(d *result.Decision) { d.Change = nil }, ""},
		"no lower end":              {func(d *result.Decision) { d.Lower = nil }, ""},
		"no upper end":              {func(d *result.Decision) { d.Upper = nil }, ""},
		"at the margin":             {func(d *result.Decision) { d.Change = new(0.05) }, ""},
		"less than the present one": {func(d *result.Decision) { d.Change, d.Upper = new(-0.02), new(0.01) }, ""},
		"more than a file may say":  {func(d *result.Decision) { d.Upper = new(0.6) }, ""},
		"a share of more than all":  {points("fraction"), ""},
		"more than a second":        {points("s"), "1300 ms"},
		"an expected improvement":   {nil, ""},
	} {
		undecided := decided(result.Inconclusive, func(d *result.Decision) { d.NeedPairs = 9 })
		if tt.change != nil {
			tt.change(&undecided)
		}
		other := decided(result.Inconclusive, func(d *result.Decision) { d.NeedPairs, d.N, d.Metric = 5, 2, "tpot.p50" })
		doc := judged([]result.Decision{undecided, other})
		if name == "an expected improvement" {
			doc.Gates[0].Expect = gates.ExpectImprovement
		}
		_, got, found := strings.Cut(string(written(t, "text", doc, reports.Options{Width: 1000})), ", or a margin of ")
		got, _, _ = strings.Cut(got, " for ")
		if found != (tt.want != "") || got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestLeadOfAPass: the lead of a report, and of a comment, names what improved, largest first, and counts what held.
func TestLeadOfAPass(t *testing.T) {
	improved := func(label string, change float64) result.Decision {
		return decided(result.Improvement, func(d *result.Decision) {
			d.Metric, d.Label, d.Change = strings.ToLower(label), label, new(change)
			d.Lower, d.Upper, d.HeadValue = new(change-0.01), new(change+0.01), new(0.1+0.1*change)
		})
	}
	held := decided(result.Pass, nil)
	success := decided(result.Pass, func(d *result.Decision) { d.Kind, d.Metric = result.KindSuccess, "success.rate" })
	limit := decided(result.Pass, func(d *result.Decision) {
		d.Kind, d.Metric, d.Limit, d.LimitOp = result.KindAssert, "ttft.p99", new(1.0), "<"
	})
	without := improved("A", -0.3)
	without.BaseValue = nil
	several := []result.Decision{improved("A", -0.2), improved("B", -0.5), improved("C", -0.3), improved("D", -0.4)}
	for name, tt := range map[string]struct {
		doc     *result.Document
		comment bool
		want    string
		not     string
	}{
		"one":              {judged([]result.Decision{held}), false, "Not worse by the margin: the comparison.", "success"},
		"two and a guard":  {judged([]result.Decision{held, held, success}), false, "margin: all 2 comparisons and the success rate.", ""},
		"guards alone":     {judged([]result.Decision{success, success}), false, "Not worse by the margin: the success rates.", "comparison"},
		"a limit":          {judged([]result.Decision{limit, success}), false, "the comparison and the success rate.", ""},
		"improved and one": {judged([]result.Decision{improved("A", -0.2), held}), false, ". Not worse by the margin: the other comparison.", ""},
		"improved alone":   {judged([]result.Decision{improved("A", -0.2)}), false, "Improved: head is **20.0 % faster", "Not worse"},
		"in a comment":     {judged([]result.Decision{improved("A", -0.2)}), true, "Improved: **A −20.0 %** (100 → 80.0 ms)", "more"},
		"without a value":  {judged([]result.Decision{without}), true, "Improved: **A −30.0 %**", "ms)."},
		"four in a comment": {judged(several), true,
			"Improved: **B −50.0 %** (100 → 50.0 ms) · **D −40.0 %** (100 → 60.0 ms) · **C −30.0 %** (100 → 70.0 ms) · " +
				"and 1 more", "**A"},
		"three in a comment": {judged(several[:3]), true, "**A −20.0 %** (100 → 80.0 ms)", "more"},
		"gates that improved": {judged([]result.Decision{improved("A", -0.2)}, []result.Decision{held}), false,
			"2 of 2 gates passed, 1 improved", ""},
	} {
		text := strings.NewReplacer("\u00a0", " ").Replace(render(t, tt.doc, reports.Options{Comment: tt.comment}))
		lead, _, _ := strings.Cut(text, "<details>")
		lead, _, _ = strings.Cut(lead, "\n|")
		if !strings.Contains(lead, tt.want) || tt.not != "" && strings.Contains(lead, tt.not) {
			t.Errorf("%s: want %q and no %q in\n%s", name, tt.want, tt.not, lead)
		}
	}
}

// TestReasonsOfTheInfrastructure: the reasons for which the base fails too are named once each, the first three of them, and no
// other reason is.
func TestReasonsOfTheInfrastructure(t *testing.T) {
	failed := func(reason string, infrastructure bool) result.Decision {
		return decided(result.Invalid, func(d *result.Decision) {
			d.Change, d.N, d.Reason, d.Infrastructure = nil, 0, reason, infrastructure
		})
	}
	const prefix = "base fails too: "
	for name, tt := range map[string]struct {
		list []result.Decision
		want string
	}{
		"one":            {[]result.Decision{failed(prefix+"out of memory", true)}, " the base fails too: out of memory.\n"},
		"the same twice": {[]result.Decision{failed(prefix+"a", true), failed(prefix+"a", true)}, " the base fails too: a.\n"},
		"three":          {[]result.Decision{failed("a", true), failed("b", true), failed("c", true)}, " the base fails too: a; b; c.\n"},
		"four": {[]result.Decision{failed("a", true), failed("b", true), failed("c", true), failed("d", true)},
			" the base fails too: a; b; c; and 1 more.\n"},
		"without a reason": {[]result.Decision{failed("base fails too", true)}, " the base fails too.\n"},
		"beside others":    {[]result.Decision{failed("a", true), failed("b", false)}, " the base fails too: a.\n"},
	} {
		text := string(written(t, "text", judged(tt.list), reports.Options{Width: 1000}))
		if !strings.Contains(text, "Not your change:"+tt.want) {
			t.Errorf("%s: want %q in\n%s", name, tt.want, text)
		}
	}
}

// TestWhatWouldDecide: the repeats that the most demanding undecided comparison needs, how long they take, and the largest margin
// of each metric.
func TestWhatWouldDecide(t *testing.T) {
	undecided := func(need int, change func(*result.Decision)) result.Decision {
		return decided(result.Inconclusive, func(d *result.Decision) {
			if d.NeedPairs, d.N = need, 2; change != nil {
				change(d)
			}
		})
	}
	known := func(label string, upper float64) result.Decision {
		return undecided(9, func(d *result.Decision) {
			d.Metric, d.Label, d.N, d.Upper = strings.ToLower(label), label, 4, new(upper)
		})
	}
	start := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		list          []result.Decision
		done, minutes int
		want          string
	}{
		"more than planned": {[]result.Decision{undecided(9, nil), undecided(7, nil)}, 4, 0, "repeat { max = 9 }."},
		"as planned":        {[]result.Decision{undecided(4, nil)}, 2, 0, "4 repeats."},
		"one more":          {[]result.Decision{undecided(5, nil)}, 4, 0, "repeat { max = 5 }."},
		"what is refuted stays so": {[]result.Decision{undecided(5, nil), undecided(20, func(d *result.Decision) { d.Refuted = true })}, 4, 0,
			"repeat { max = 5 }."},
		"what passes is decided": {[]result.Decision{undecided(5, nil), undecided(20, func(d *result.Decision) { d.Verdict = result.Pass })},
			4, 0, "repeat { max = 5 }."},
		"how long":       {[]result.Decision{undecided(8, nil)}, 4, 40, "repeat { max = 8 }, about 80 min."},
		"nothing so far": {[]result.Decision{undecided(8, nil)}, 0, 40, "repeat { max = 8 }."},
		"margins": {[]result.Decision{known("A", 0.05), known("A", 0.06), known("A", 0.055), known("B", 0.04)}, 4, 0,
			"repeat { max = 9 }, or a margin of 10.2 % for A, 6.0 % for B."},
	} {
		doc := judged(tt.list)
		if doc.RepeatsDone = tt.done; tt.minutes > 0 {
			doc.Started, doc.Ended = start, start.Add(time.Duration(tt.minutes)*time.Minute)
		}
		text := strings.ReplaceAll(string(written(t, "text", doc, reports.Options{Width: 1000})), "\u00a0", " ")
		if want := "To decide: " + tt.want + "\n"; !strings.Contains(text, want) {
			t.Errorf("%s: want %q in\n%s", name, want, text)
		}
	}
}

// TestBaseThatFails: a session that failed is not the change's fault only where the base of each comparison that is open failed in
// each of its launches.
func TestBaseThatFails(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(doc *result.Document)
		want   bool
	}{
		"in each launch": {func(*result.Document) {}, true},
		"in all launches but one": {func(doc *result.Document) {
			for i := range doc.Launches {
				if l := &doc.Launches[i]; l.Target == target("base") && l.Repeat == 1 {
					l.Failure = nil
				}
			}
		}, false},
		"the head alone": {func(doc *result.Document) {
			for i := range doc.Launches {
				if l := &doc.Launches[i]; l.Target == target("base") {
					l.Failure = nil
				}
			}
		}, false},
		"of all comparisons but one": {func(doc *result.Document) {
			for i := range doc.Launches {
				if l := &doc.Launches[i]; l.Target == target("head") {
					l.Failure = nil
				}
			}
			doc.Gates[0].Decisions[1].BaseCell = doc.Gates[0].Decisions[1].Cell // its base is a server that works
		}, false},
		"beside a limit": {func(doc *result.Document) {
			doc.Gates[0].Decisions = append(doc.Gates[0].Decisions, result.Decision{Kind: result.KindAssert, Verdict: result.Missing})
		}, true},
		"beside what passes": {func(doc *result.Document) {
			doc.Gates[0].Decisions = append(doc.Gates[0].Decisions, decided(result.Pass, nil))
		}, true},
		"beside what has no base": {func(doc *result.Document) {
			doc.Gates[0].Decisions = append(doc.Gates[0].Decisions, decided(result.Missing, nil))
		}, false},
	} {
		doc := infrastructure()
		tt.change(doc)
		text := string(written(t, "text", doc, reports.Options{Width: 1000}))
		if got := strings.Contains(text, "Not your change: the base fails too: "); got != tt.want {
			t.Errorf("%s: not the change's fault %v, want %v:\n%.900s", name, got, tt.want, text)
		}
	}
}

// TestFindingsOfALead: open findings are counted by kind. Those after the first show a metric's change, the distance to a limit,
// or a reason.
func TestFindingsOfALead(t *testing.T) {
	red := func(change func(*result.Decision)) result.Decision {
		return decided(result.Regression, func(d *result.Decision) {
			if d.Change = new(0.5); change != nil {
				change(d)
			}
		})
	}
	limit := func(limit *float64) result.Decision {
		return red(func(d *result.Decision) {
			d.Kind, d.Metric, d.Label, d.Limit, d.LimitOp, d.Change = result.KindAssert, "e2el.p50", "E2EL p50", limit, "<", nil
			d.HeadValue, d.Reason = new(2.0), "above what was promised"
		})
	}
	undecided, refuted := decided(result.Inconclusive, nil), decided(result.Inconclusive, func(d *result.Decision) { d.Refuted = true })
	missing := decided(result.Missing, func(d *result.Decision) { d.Change, d.N = nil, 0 })
	capacity := decided(result.Pass, func(d *result.Decision) { d.Metric, d.Label, d.Unit = "capacity.rate", "Capacity", "req/s" })
	at := func(d result.Decision, rate string) result.Decision {
		d.Values = []result.AxisValue{{Name: "rate", Value: rate}}
		return d
	}
	unknown := decided(result.Pass, func(d *result.Decision) { d.Metric, d.Unit, d.BaseValue = "capacity.rate", "req/s", nil })
	for name, tt := range map[string]struct {
		list []result.Decision
		want string
	}{
		"of each kind": {[]result.Decision{undecided, undecided, undecided, refuted, refuted, missing, decided(result.Pass, nil)},
			"3 of 7 comparisons could not be decided; 2 of 7 comparisons cannot have the improvement that is expected; 1 of 7 comparisons could " +
				"not be judged. This is not a pass."},
		"unjudged alone":        {[]result.Decision{missing, missing}, "2 of 2 comparisons could not be judged. This is not a pass."},
		"a limit second":        {[]result.Decision{red(nil), limit(new(1.0))}, " · E2EL p50 (100 % beyond)\n"},
		"a condition second":    {[]result.Decision{red(nil), limit(nil)}, " · E2EL p50 (above what was promised)\n"},
		"a metric second":       {[]result.Decision{red(nil), red(func(d *result.Decision) { d.Change = new(0.4) })}, " · TTFT p50 +40.0 %\n"},
		"one capacity":          {[]result.Decision{capacity, decided(result.Pass, nil)}, "1 gate passed, capacity 0.100 → 0.102 req/s\n"},
		"two of one cell":       {[]result.Decision{capacity, capacity}, "capacity 0.100 → 0.102 req/s and 1 more\n"},
		"two of several cells":  {[]result.Decision{at(capacity, "4"), at(capacity, "8")}, "req/s at rate=4 and 1 more\n"},
		"a capacity is unknown": {[]result.Decision{unknown, decided(result.Pass, nil)}, "1 gate passed\n"},
	} {
		text := strings.ReplaceAll(string(written(t, "text", judged(tt.list), reports.Options{Width: 1000})), "\u00a0", " ")
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: want %q in\n%.700s", name, tt.want, text)
		}
	}
}
