package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// legend explains the table: the interval, the number of comparisons over which the error is controlled, and each
// verdict.
func (v *view) legend() []model.Line {
	if len(v.rows) == 0 {
		return []model.Line{v.footer()}
	}
	alpha := humanize.Exact(v.doc.Alpha)
	repeat := "a repeat is one launch of every side"
	if n := v.mostPasses(); n > 1 {
		repeat += fmt.Sprintf(", and its values are means over the passes of a launch, %d at most", n)
	}
	names := v.commonNames(v.rows)
	lines := []model.Line{
		model.Plain(names.Base + " and " + names.Head + " are " + v.means() + " over the repeats; " + repeat + ". ↓ lower is better, " +
			"↑ higher is better. The margin is the smallest change that anyone would act on." + v.higherMargins()),
	}
	lines = append(lines, v.intervalLegend()...)
	if len(v.doc.Looks) > 1 {
		lines = append(lines, explain("looks", v.looksText()))
	}
	lines = append(lines, v.special()...)
	lines = append(lines,
		explain("regression", fmt.Sprintf("“nothing got worse” is rejected at α = %s, one-sided, %s%s, and the change is at least the margin%s. "+
			"A change between nothing and the margin is called a regression with a chance that rises to %s at the margin.",
			alpha, v.holm(), v.sharesNote(), v.strictNote(), v.atMargin())),
		explain("pass", fmt.Sprintf("the worse end of the interval is below the margin. Green is a statement on the whole file: the chance of "+
			"it with any comparison at or beyond its margin is at most %s; "+
			"one row that passed has an error of its own of %[1]s.%[2]s", alpha, v.rareModes(result.Pass))),
		explain("improvement", "the mirror of a regression."+v.expectNote()+v.rareModes(result.Improvement)),
		explain("inconclusive", "neither could be shown; it is not a pass. The repeats that would decide are those that do in about four of "+
			"five sessions like this one."),
		explain("missing, invalid", "there is nothing to judge, or what there is must not be judged; the reason is given."),
		v.footer(),
	)
	return lines
}

// means describes the means of the sides: geometric for ratios, arithmetic for differences.
func (v *view) means() string {
	differences := v.any(func(d *result.Decision) bool { return d.Kind == result.KindMetric && !onLog(d) })
	ratios := v.any(func(d *result.Decision) bool { return d.Kind == result.KindMetric && onLog(d) })
	switch {
	case differences && ratios:
		return "geometric means (arithmetic ones where changes are differences)"
	case differences:
		return "arithmetic means"
	}
	return "geometric means"
}

// higherMargins states which change corresponds to a margin for metrics that are better when higher. A margin is a
// ratio, and the reciprocal of 1.05 is 4.76 % less.
func (v *view) higherMargins() string {
	var margins []float64
	for _, r := range v.rows {
		if r.d.Kind == result.KindMetric && onLog(r.d) && r.d.Direction == "higher" && r.d.Margin > 0 &&
			!slices.Contains(margins, float64(r.d.Margin)) {
			margins = append(margins, float64(r.d.Margin))
		}
	}
	if len(margins) == 0 {
		return ""
	}
	slices.Sort(margins)
	const most = 3
	words := make([]string, min(most, len(margins)))
	for i := range words {
		words[i] = fmt.Sprintf("%s is reached at %s", humanize.PlainPercent(margins[i]), reciprocal(margins[i]))
	}
	return " It is a ratio, so that for ↑ a margin of " + strings.Join(words, ", of ") + "."
}

// reciprocal returns the change that a margin allows for a metric that is better when higher.
func reciprocal(margin float64) string {
	return humanize.Minus(strconv.FormatFloat(100*(1/(1+margin)-1), 'f', 2, 64)) + " %"
}

// rareModes states how rare a slower mode of launches may be for the repeats of the rows with a verdict to miss it. A mean
// over a few launches can miss what happens in one in ten.
func (v *view) rareModes(of result.Verdict) string {
	fewest := 0
	for _, r := range v.rows {
		if r.d.Verdict == of && r.d.Kind == result.KindMetric && (fewest == 0 || r.d.N < fewest) {
			fewest = r.d.N
		}
	}
	if fewest == 0 {
		return ""
	}
	const missed = 0.05
	return fmt.Sprintf(
		" A slower mode that fewer than %.0f %% of the launches of %s fall into can be missed by %s (with a chance of %s and more).",
		100*(1-math.Pow(missed, 1/float64(fewest))), v.commonNames(v.rows).Head, humanize.Count(fewest, "repeat"), humanize.PlainPercent(missed))
}

// holm describes how the error rate is shared.
func (v *view) holm() string {
	if v.doc.FamilySize == 0 {
		return "without a correction, since no gate of this file can fail the run"
	}
	return "after Holm over the family of " + humanize.Count(v.doc.FamilySize, "comparison") + " of this file"
}

// intervalLegend explains the intervals of the rows, and why some have another level than the file's error rate.
func (v *view) intervalLegend() []model.Line {
	var names []string
	own := true
	for _, r := range v.rows {
		if r.d.Lower == nil && r.d.Upper == nil {
			continue
		}
		l := v.decisionLevel(r)
		own = own && l == v.doc.Alpha
		if name := humanize.PlainPercent(1 - 2*l); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var text string
	switch level, common := v.level(v.rows); {
	case len(names) == 0:
		return nil
	case common && level > 0:
		text = fmt.Sprintf("The %s decides: each of its two ends is a one-sided bound at %s.", intervalName(level),
			humanize.PlainPercent(1-level))
	default:
		text = "The interval decides: each of its two ends is a one-sided bound, at the level of its row (" + strings.Join(names, ", ") + ")."
	}
	if !own {
		text += fmt.Sprintf(
			" One that is not of %s has the stricter level of a look or of a further attempt, so that the file as a whole keeps to %s.",
			humanize.PlainPercent(1-2*v.doc.Alpha), humanize.Exact(v.doc.Alpha))
	}
	return []model.Line{model.Plain(text)}
}

// looksText describes when the gates were judged.
func (v *view) looksText() string {
	numbers := make([]string, len(v.doc.Looks))
	for i, n := range v.doc.Looks {
		numbers[i] = fmt.Sprint(n)
	}
	last := len(numbers) - 1
	text := fmt.Sprintf(
		"the gates are judged after %s and %s repeats, each time at a level so strict that the errors stated here hold for all looks together. "+
			"The first look that decides a comparison is final: what is measured later is shown and not judged. The session ends when everything "+
			"is decided.",
		strings.Join(numbers[:last], ", "), numbers[last])
	if n := len(v.doc.LooksTaken); n > 0 {
		text += fmt.Sprintf(" A row that does not say after how many repeats it was decided rests on the last look, after %d.",
			v.doc.LooksTaken[n-1])
	}
	return text
}

// special explains features that only some sessions have.
func (v *view) special() []model.Line {
	var lines []model.Line
	if k := v.doc.Attempt; k > 0 {
		text := fmt.Sprintf("A pass needs %.2g: the first attempt at a change has 0.8·α, attempt k after it 0.2·α/(k·(k − 1)), which "+
			"sums to α, so that running again until it is green does not work.",
			gates.AttemptAlpha(v.doc.Alpha, k))
		if k > 1 {
			text = "the same change was measured before, and that is not part of this result. " + text
		}
		lines = append(lines, explain(fmt.Sprintf("attempt %d", k), text))
	}
	if v.any(func(d *result.Decision) bool { return d.SuiteCells > 0 }) {
		lines = append(lines, explain("over several cells", fmt.Sprintf(
			"the ratio of the geometric means of both sides over these cells, repeat by repeat. It has %s of α to itself; the cells are tested "+
				"with the rest in any case.", humanize.PlainPercent(gates.SuiteShare))))
	}
	if known := v.doc.Variance; known != nil && v.any(func(d *result.Decision) bool { return d.Known != nil }) {
		text := fmt.Sprintf("that of the pairs and that of the calibration %s of %s together; the error rates hold while pairs spread at most "+
			"%g times as much as then.",
			known.Calibration, known.Time.Format(time.DateOnly), known.Within)
		if n := v.count(func(d *result.Decision) bool { return d.Known != nil && d.Known.Contradicted }); n > 0 {
			text += fmt.Sprintf(" In %s they spread more than that allows: there what the pairs alone show counts wherever it is stricter. "+
				"Calibrate again if this stays so.", humanize.Count(n, "row"))
		}
		lines = append(lines, explain("known spread", text))
	}
	if v.any(func(d *result.Decision) bool { return d.Moderated }) {
		lines = append(lines, explain("spread", "that of a row with a p used of its own is drawn towards the spread of the other cells of the "+
			"same metric in this session, as far as they are alike."))
	}
	return lines
}

func (v *view) any(has func(*result.Decision) bool) bool {
	return slices.ContainsFunc(v.rows, func(r verdictRow) bool { return has(r.d) })
}

// count counts the rows whose decision satisfies has.
func (v *view) count(has func(*result.Decision) bool) (n int) {
	for _, r := range v.rows {
		if has(r.d) {
			n++
		}
	}
	return n
}

// atMargin describes the probability of a regression verdict if the true change equals the margin and the noise is
// well below it. The estimate is beyond the margin in one of two sessions, and more often with several looks. A
// strict gate requires the whole interval beyond the margin, which then is as rare as any false alarm.
func (v *view) atMargin() string {
	text := "about ½"
	if looks := min(len(v.doc.Looks), 10); looks > 1 {
		const alpha, margin, noise = 0.05, 0.05, 0.005 // any, if the noise is small
		in := gates.NewProspect(gates.LooksBetween(4, 2+2*looks), alpha, alpha, 1, gates.Rule{})
		text = fmt.Sprintf("about %.0f %%", 100*in.Found(margin, noise, margin))
	}
	switch v.strictGates() {
	case 0:
		return text
	case len(v.gates):
		return "at most " + humanize.Exact(v.doc.Alpha)
	}
	return text + " (" + humanize.Exact(v.doc.Alpha) + " at most in strict gates)"
}

func explain(word, meaning string) model.Line {
	return model.Line{{Text: word, Style: model.Strong}, {Text: ": " + meaning}}
}

func (v *view) sharesNote() string {
	if slices.ContainsFunc(v.gates, func(g *result.Gate) bool { return g.Alpha > 0 }) {
		return " (a gate with a share of α of its own: within its own comparisons)"
	}
	return ""
}

func (v *view) strictGates() (n int) {
	for _, g := range v.gates {
		if g.Strict {
			n++
		}
	}
	return n
}

func (v *view) strictNote() string {
	strict := v.strictGates()
	switch strict {
	case 0:
		return ""
	case len(v.gates):
		return " (strict: the nearer end of the interval is beyond it)"
	}
	return fmt.Sprintf(" (strict, in %d of %d gates: the nearer end of the interval is beyond it)", strict, len(v.gates))
}

// expectNote explains the conditions of gates that expect an improvement.
func (v *view) expectNote() string {
	if !slices.ContainsFunc(v.rows, expectsImprovement) {
		return ""
	}
	return " In a gate with expect = \"improvement\" it is that “better by the margin at most” is rejected, in the same family and at " +
		"the same α, and nothing else passes; " +
		"a regression is there that “nothing got worse” is rejected, whatever the margin. Refuted is that the interval excludes it, which " +
		"for programs is inconclusive."
}

// footer identifies the run.
func (v *view) footer() model.Line {
	var parts []model.Line
	seed := ""
	if v.doc.Seed != 0 {
		seed = fmt.Sprint(v.doc.Seed)
	}
	for _, p := range []struct{ what, value string }{
		{"run", v.doc.RunID}, {"seed", seed}, {"by", v.doc.Tool},
	} {
		if p.value != "" {
			parts = append(parts, model.Join(" ", model.Plain(p.what), model.Code(p.value)))
		}
	}
	line := model.Join(", ", parts...)
	if s := line.String(); s != "" {
		line[0].Text = strings.ToUpper(line[0].Text[:1]) + line[0].Text[1:]
	}
	return line
}
