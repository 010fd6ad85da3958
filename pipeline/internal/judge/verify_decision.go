package judge

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// checkMetric checks the description of a decision's metric.
func (v *verifier) checkMetric(d judged) {
	if d.Kind == result.KindAssert {
		return
	}
	m, ok := v.doc.Metric(d.Metric)
	switch {
	case !ok:
		v.addf("%s: unknown metric", d.name())
	case d.Unit != string(m.Unit) || d.Direction != m.Direction || d.Scale != m.Scale || !strings.HasPrefix(d.Label, m.Label):
		v.addf("%s is described as %q in %q, %s is better, which the metric is not", d.name(), d.Label, d.Unit, d.Direction)
	case d.SuiteCells > 0 && d.gate.SuiteMargin == 0:
		v.addf("%s is over %d cells, and its gate states no suite_margin: judge the run directory again with `pipeline gate`", d.name(),
			d.SuiteCells)
	case d.Kind == result.KindMetric && d.Margin != d.margin():
		v.addf("%s has the margin %g, and its gate %g", d.name(), d.Margin, d.margin())
	}
}

// margin returns the margin that the gate states for the decision.
func (d judged) margin() metric.Margin {
	if d.SuiteCells > 0 {
		return d.gate.SuiteMargin
	}
	return d.gate.Margin
}

// checkNotGreen reports a decision that the document has no evidence for.
func (v *verifier) checkNotGreen(d judged) {
	if d.Verdict != result.Inconclusive && d.Verdict != result.Missing && d.Verdict != result.Invalid {
		v.addf("%s is %s, and has nothing to be decided by", d.name(), d.Verdict)
	}
}

// checkNotPassed reports a limit that passes in a session that did not finish.
func (v *verifier) checkNotPassed(d judged) {
	if d.Verdict == result.Pass || d.Verdict == result.Improvement {
		v.addf("%s is %s, and the session %s", d.name(), d.Verdict, unfinished(v.doc))
	}
}

// checkPairs compares the pairs of a decision with the pairs of the runs.
func (v *verifier) checkPairs(d judged, want []result.Pair) {
	byRepeat := map[int]result.Pair{}
	for _, p := range d.Pairs {
		byRepeat[p.Repeat] = p
	}
	if len(want) != len(d.Pairs) || len(byRepeat) != len(want) {
		v.addf("%s has %d pairs, and the runs have %d", d.name(), len(d.Pairs), len(want))
		return
	}
	for _, w := range want {
		if p, ok := byRepeat[w.Repeat]; !ok || !near(p.Base, w.Base) || !near(p.Head, w.Head) || p.Nodes != w.Nodes {
			v.addf("%s has another pair in repeat %d than the runs", d.name(), w.Repeat)
			return
		}
	}
}

// checkDecision compares a decision with the one that its evidence gives.
func (v *verifier) checkDecision(d judged, from gates.Decision) {
	if d.Verdict == result.Invalid { // the reason is not in the document
		return
	}
	want := result.Decision{ID: d.ID, Kind: d.Kind, Cell: d.Cell, BaseCell: d.BaseCell, Metric: d.Metric, Margin: d.Margin, Scale: d.Scale,
		Unit: d.Unit, Pairs: slices.Clone(d.Pairs)}
	want.Sessions, want.SuiteCells = d.Sessions, d.SuiteCells
	fill(&want, from, v.doc.Alpha, d.gate.Expect)
	v.takeBack(&want, d)
	bound(&want, v.cells[key(d.gate.Benchmark, d.BaseCell)], v.cells[key(d.gate.Benchmark, d.Cell)])
	if d.BaseBound != want.BaseBound || d.HeadBound != want.HeadBound {
		v.addf("%s has the bounds %q and %q, and its runs give %q and %q", d.name(), d.BaseBound, d.HeadBound, want.BaseBound, want.HeadBound)
	}
	suspend(&want, d.gate, v.doc)
	withhold(&want, d.gate.Expect, v.withholders)
	if !slices.Equal(d.WithheldBy, want.WithheldBy) {
		v.addf("%s is withheld by %q, and the gates withhold it by %q", d.name(), d.WithheldBy, want.WithheldBy)
	}
	if from.Outcome != nil && v.suites && d.Kind == result.KindMetric {
		want.HolmLevel = from.Level
	}
	if d.Verdict != want.Verdict || d.Infrastructure != want.Infrastructure || d.Refuted != want.Refuted {
		v.addf("%s is %s, and its runs give %s (%s)", d.name(), d.Verdict, want.Verdict, want.Reason)
		return
	}
	if d.PBetter != want.PBetter {
		v.addf("%s: its p is for the other direction than its runs give", d.name())
	}
	if d.Reason != want.Reason {
		v.addf("%s: the reason is %q, and its runs give %q", d.name(), d.Reason, want.Reason)
	}
	known, wantKnown := cmp.Or(d.Known, &result.KnownSpread{}), cmp.Or(want.Known, &result.KnownSpread{})
	if known.Contradicted != wantKnown.Contradicted {
		v.addf("%s does not say as its runs do whether they contradict the known spread", d.name())
	}
	for _, f := range []struct {
		name      string
		got, want float64
	}{
		{"known spread", known.SD, wantKnown.SD},
		{"weight of the known spread", known.Weight, wantKnown.Weight},
		{"n", float64(d.N), float64(want.N)},
		{"base", figure(d.BaseValue), figure(want.BaseValue)},
		{"head", figure(d.HeadValue), figure(want.HeadValue)},
		{"change", figure(d.Change), figure(want.Change)},
		{"lower bound", figure(d.Lower), figure(want.Lower)},
		{"upper bound", figure(d.Upper), figure(want.Upper)},
		{"p", figure(d.P), figure(want.P)},
		{"adjusted p", figure(d.PHolm), figure(want.PHolm)},
		{"level", d.Level, want.Level},
		{"level of Holm", d.HolmLevel, want.HolmLevel},
		{"look", float64(d.Look), float64(want.Look)},
		{"margin", float64(d.Margin), float64(want.Margin)},
	} {
		if !near(f.got, f.want) {
			v.addf("%s has the %s %g, and its runs give %g", d.name(), f.name, f.got, f.want)
		}
	}
}

// takeBack applies to a decision what takes verdicts back: other work, for success rates, and missing pairs.
func (v *verifier) takeBack(want *result.Decision, d judged) {
	if d.gate.BaselineKind != result.BaselinePaired || d.BaseCell == "" || d.SuiteCells > 0 {
		return
	}
	base, head := v.sides(d)
	if d.Kind == result.KindSuccess {
		if why := v.likeness(d, base, head).reason; why != "" {
			want.Verdict, want.Reason = result.Invalid, why
		}
		applyShortage(want, withoutPartner(v.doc, d.gate.Benchmark, base, head))
		return
	}
	m, _ := v.doc.Metric(d.Metric)
	applyShortage(want, shortage(v.doc, d.gate.Benchmark, m, base, head))
}

// figure returns the number at x, −∞ for nil.
func figure(x *float64) float64 {
	if x == nil {
		return math.Inf(-1)
	}
	return *x
}

// near reports whether two figures are equal within the rounding of another machine.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9+1e-6*math.Max(math.Abs(a), math.Abs(b))
}
