package reports

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"gonum.org/v1/gonum/stat/distuv"
)

func sum(symbol, meaning, value string) model.Sum {
	return model.Sum{Symbol: symbol, Meaning: meaning, Value: value}
}

// pairTest is the paired t-test of a decision, recomputed from the values in the document so that a reader can follow
// it.
type pairTest struct {
	d    []float64 // per pair, on the scale of the test; positive is worse
	test gates.Statistic
}

// retest recomputes the test of a decision. It reports false if the decision was not made by a paired t-test, has
// fewer than two pairs, or has values that the scale cannot represent.
func retest(r verdictRow) (pairTest, bool) {
	if r.d.Kind != result.KindMetric || len(r.d.Pairs) < 2 || !pairedT(r.gate) {
		return pairTest{}, false
	}
	d := make([]float64, 0, len(r.d.Pairs))
	for _, p := range r.d.Pairs {
		if !p.Later {
			d = append(d, worseBy(r.d, p))
		}
	}
	test, err := gates.PairedT(d)
	return pairTest{d, test}, err == nil
}

// pairedT reports whether a gate is decided by a paired t-test within one session.
func pairedT(g *result.Gate) bool {
	return (g.BaselineKind == result.BaselinePaired || g.BaselineKind == "") && (g.TestName == "" || g.TestName == gates.PairedTTest.Name)
}

// worseBy returns the difference d of a pair: ln(head) − ln(base) on the log scale, head − base on the others. The
// sign makes worse positive. The result is NaN on the log scale unless both values are positive.
func worseBy(d *result.Decision, p result.Pair) float64 {
	diff := p.Head - p.Base
	if onLog(d) {
		diff = math.NaN()
		if p.Base > 0 && p.Head > 0 {
			diff = math.Log(p.Head / p.Base)
		}
	}
	return worseSign(d) * diff
}

// marginOf returns the margin on the scale of the test.
func marginOf(d *result.Decision) float64 { return d.Margin.On(cmp.Or(d.Scale, metric.Log)) }

func onLog(d *result.Decision) bool { return d.Scale == "log" || d.Scale == "" }

func worseSign(d *result.Decision) float64 {
	if d.Direction == "higher" {
		return -1
	}
	return 1
}

// changeOf converts a difference on the scale of the test to a change.
func changeOf(d *result.Decision, diff float64) float64 {
	return cmp.Or(d.Scale, metric.Log).Change(worseSign(d) * diff)
}

// diffOf converts a change to a difference on the scale of the test, positive if worse: the inverse of changeOf. A
// change of −100 % or less, such as an open end, is infinite on the log scale.
func diffOf(d *result.Decision, change float64) float64 {
	if onLog(d) {
		change = math.Log1p(max(change, -1))
	}
	return worseSign(d) * change
}

// sums returns the arithmetic of a decision, from the differences per repeat to the condition of each verdict.
func (v *view) sums(r verdictRow) []model.Sum {
	d := r.d
	s := scaleOf(d)
	pt, ok := retest(r)
	if !ok {
		return v.storedSums(r, s)
	}
	t := pt.test
	formula := "head − base"
	if onLog(d) {
		formula = "ln(head) − ln(base)"
	}
	if d.Direction == "higher" {
		formula = "−(" + formula + ")"
	}
	sums := []model.Sum{
		sum("d", "of each repeat: "+formula+", worse is positive", humanize.Count(len(pt.d), "value")),
		sum("d̄", fmt.Sprintf("mean of d; a change of %s", changeWords(d, s, changeOf(d, t.Shift))), digits(t.Shift)),
	}
	if k := d.Known; k != nil {
		own := float64(len(pt.d) - 1)
		spread := math.Sqrt((k.Weight*k.SD*k.SD + own*t.Noise.SD*t.Noise.SD) / (k.Weight + own))
		t.SE = spread / math.Sqrt(float64(len(pt.d)))
		t.T = t.Shift / t.SE
		sums = append(sums,
			sum("s", "standard deviation of d (divisor n − 1)", digits(t.Noise.SD)),
			sum("s₀", "that of the calibration, with a weight w of "+digits(k.Weight)+" degrees of freedom", digits(k.SD)),
			sum("s̃", "both together: √((w·s₀² + (n − 1)·s²) / (w + n − 1))", digits(spread)),
			sum("SE", fmt.Sprintf("standard error of d̄: s̃ / √n, n = %d", len(pt.d)), digits(t.SE)))
	} else if t.Exact {
		sums = append(sums, sum("s", "all repeats differ by the same amount: without spread t is undefined",
			"0"))
	} else {
		sums = append(sums,
			sum("s", "standard deviation of d (divisor n − 1)", digits(t.Noise.SD)),
			sum("SE", fmt.Sprintf("standard error of d̄: s / √n, n = %d", len(pt.d)), digits(t.SE)))
	}
	sums = append(sums, v.testSums(r, s, t)...)
	return append(sums, v.rules(r, s)...)
}

// testSums returns the figures of the test itself.
func (v *view) testSums(r verdictRow, s humanize.Scale, t gates.Statistic) []model.Sum {
	switch {
	case r.d.Known != nil && r.d.P != nil:
		against := "if nothing got worse"
		if aboutImprovement(r) {
			against = "if the head is better by the margin at most"
		}
		return []model.Sum{
			sum("t", "d̄ / SE", digits(t.T)),
			sum("p", "chance of this "+against+", and pairs spread "+humanize.Exact(v.doc.Variance.Within)+
				" times as much as when they were calibrated, one-sided", smallP(*r.d.P)),
			sum("interval", intervalName(v.decisionLevel(r)), intervalText(r.d, s)),
		}
	case r.d.P == nil:
		return []model.Sum{sum("p", "not tested, see the reason; the figures only describe", humanize.None)}
	case t.Exact && *r.d.P > 0 && *r.d.P < 1:
		return []model.Sum{sum("p", "largest chance that equal sides have such values, one-sided: 4⁻ⁿ", smallP(*r.d.P))}
	case t.Exact:
		return nil
	}
	sums := []model.Sum{
		sum("t", "d̄ / SE", digits(t.T)),
		sum("df", "degrees of freedom: n − 1", humanize.Exact(t.DF)),
		sum("p", "chance of this t or a larger one if nothing got worse, one-sided", smallP(t.Greater)),
	}
	if aboutImprovement(r) {
		sums[2] = sum("p", "chance of a d̄ this small or smaller if the head is better by the margin at most, one-sided: of (d̄ + m) / SE",
			smallP(*r.d.P))
	} else if !near(*r.d.P, t.Greater) {
		sums = append(sums, sum("p used", "the decision used another p: its spread was not that of these repeats alone", smallP(*r.d.P)))
	}
	return append(sums, v.intervalSum(r, s, t))
}

// storedSums returns the figures stored in the document, for decisions other than a paired t-test.
func (v *view) storedSums(r verdictRow, s humanize.Scale) []model.Sum {
	d := r.d
	var sums []model.Sum
	if d.P != nil {
		against := "nothing got worse"
		if aboutImprovement(r) {
			against = "better by the margin at most"
		}
		sums = append(sums, sum("p", "one-sided, against “"+against+"”", smallP(*d.P)))
	}
	if text := intervalText(d, s); text != humanize.None {
		sums = append(sums, sum("interval", intervalName(v.decisionLevel(r)), text))
	}
	if len(sums) == 0 {
		return nil
	}
	return append(sums, v.rules(r, s)...)
}

// changeWords formats a change as the table does.
func changeWords(d *result.Decision, s humanize.Scale, change float64) string {
	c := *d
	c.Change = &change
	return changeText(&c, s)
}

// intervalSum explains the distance of the bounds from the estimate.
func (v *view) intervalSum(r verdictRow, s humanize.Scale, t gates.Statistic) model.Sum {
	text := intervalText(r.d, s)
	level := v.decisionLevel(r)
	meaning := "each end is a one-sided bound"
	if level > 0 && level < 0.5 {
		meaning += " at " + humanize.PlainPercent(1-level)
		q := -distuv.StudentsT{Sigma: 1, Nu: t.DF}.Quantile(level)
		lower, upper := changeOf(r.d, t.Shift-worseSign(r.d)*q*t.SE), changeOf(r.d, t.Shift+worseSign(r.d)*q*t.SE)
		if r.d.Lower != nil && r.d.Upper != nil && near(*r.d.Lower, lower) && near(*r.d.Upper, upper) {
			meaning = fmt.Sprintf("d̄ ± %s · SE, turned back into changes; %s (%s is that point of t with %s)",
				digits(q), meaning, digits(q), "df = "+humanize.Exact(t.DF))
		}
	}
	return sum("interval", meaning, text)
}

// adjusted describes how p is adjusted. Gates that only warn share no error rate.
func (v *view) adjusted() string {
	if v.doc.FamilySize == 0 {
		return "as it is, since no gate of this file can fail the run"
	}
	return "adjusted over the family of " + humanize.Count(v.doc.FamilySize, "comparison")
}

// expectsImprovement reports whether the row compares a metric and its gate expects an improvement.
func expectsImprovement(r verdictRow) bool {
	return r.gate.Expect == gates.ExpectImprovement && r.d.Kind == result.KindMetric
}

// aboutImprovement reports whether the p values of a row test for an improvement.
func aboutImprovement(r verdictRow) bool {
	return r.d.PBetter || expectsImprovement(r) && r.d.Verdict != result.Regression
}

// subject names what the p values of a row test for.
func subject(r verdictRow) string {
	if aboutImprovement(r) {
		return "an improvement"
	}
	return "a regression"
}

// rules returns the figures that the verdicts compare.
func (v *view) rules(r verdictRow, s humanize.Scale) []model.Sum {
	d := r.d
	var sums []model.Sum
	if d.PHolm != nil {
		sums = append(sums, sum("p (Holm)", fmt.Sprintf(
			"p %s; %s needs at most %s", v.adjusted(), subject(r), digits(cmp.Or(d.HolmLevel, v.holmLevel(r.gate)))),
			smallP(*d.PHolm)))
	}
	if d.Margin > 0 && d.Kind == result.KindMetric {
		m, of := marginOf(d), "the margin itself"
		if onLog(d) {
			of = "ln(1 + " + humanize.PlainPercent(float64(d.Margin)) + ")"
			if d.Direction == "higher" {
				of += ", a change of " + reciprocal(float64(d.Margin))
			}
		}
		need := "an improvement needs p (Holm) at most its level; it is excluded where the better end of the interval is not beyond m"
		switch {
		case r.d.PBetter && !expectsImprovement(r):
			need = "an improvement needs p (Holm) at most its level and d̄ ≤ −m"
		case !aboutImprovement(r):
			need = "a regression needs d̄ ≥ m, a pass the worse end of the interval below m"
		}
		if r.gate.Strict {
			need = "a regression needs the nearer end of the interval beyond m (strict), a pass the worse end below m"
		}
		sums = append(sums, sum("m", "margin "+marginText(d, s)+": "+of+"; "+need, digits(m)))
	}
	if d.Detectable > 0 {
		change := "change for the worse"
		if expectsImprovement(r) {
			change = "improvement"
		}
		sums = append(sums, sum("detectable", "smallest "+change+" that n and s find with 80 % power", detectable(d, s)))
	}
	return sums
}

func detectable(d *result.Decision, s humanize.Scale) string {
	if onLog(d) {
		return humanize.Minus(strconv.FormatFloat(d.Detectable*100, 'f', 1, 64)) + " %"
	}
	c := *d
	c.Margin = metric.Margin(d.Detectable)
	return marginText(&c, s)
}

// holmLevel returns the error rate of a gate's group: the gate's own share, or the rest of the file's after all
// shares.
func (v *view) holmLevel(g *result.Gate) float64 {
	if g.Alpha > 0 {
		return g.Alpha
	}
	rest := v.doc.Alpha
	for _, other := range v.doc.Gates {
		rest -= other.Alpha
	}
	if rest <= 0 {
		return v.doc.Alpha
	}
	return rest
}

// digits formats a number with four significant digits.
func digits(x float64) string {
	if !humanize.Finite(x) {
		return humanize.None
	}
	return humanize.Minus(strconv.FormatFloat(x, 'g', 4, 64))
}

// smallP formats a p value with three significant digits, however small it is.
func smallP(p float64) string {
	if !humanize.Finite(p) {
		return humanize.None
	}
	return strconv.FormatFloat(p, 'g', 3, 64)
}

// near reports whether two values are equal except for rounding.
func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-6+1e-3*math.Max(math.Abs(a), math.Abs(b))
}
