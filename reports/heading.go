package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// banner warns that the servers were simulated. It returns nil if they were real.
func (v *view) banner() model.Line {
	if v.doc.Simulated == "" {
		return nil
	}
	if v.doc.Virtual() {
		return model.Line{{Text: "Virtual time:", Style: model.Strong},
			{Text: " model only, nothing was measured; never a baseline for a real run."}}
	}
	text := "the vLLM and SGLang servers were replaced by simulated ones"
	if k := v.doc.TimeScale; k > 0 && k != 1 {
		text += fmt.Sprintf(", time scale %s (delays of this machine count %[1]s times)", humanize.Exact(k))
	}
	return model.Line{{Text: "Simulated run:", Style: model.Strong}, {Text: " " + text + "; never a baseline for a real one."}}
}

// tally counts gates or comparisons by verdict; refuted counts the refuted ones among the inconclusive.
type tally struct {
	of      map[result.Verdict]int
	refuted int
}

func (t *tally) count(v result.Verdict, refuted bool) {
	t.of[v]++
	if refuted {
		t.refuted++
	}
}

func (t tally) passed() int { return t.of[result.Pass] + t.of[result.Improvement] }

// heading returns the icon and the headline with the verdict of the whole file.
func (v *view) heading() (model.Icon, model.Line) {
	icon, text := v.verdict()
	h := model.Plain("Performance: " + text)
	if v.doc.File != "" {
		h = model.Join(" — ", h, model.Code(v.doc.File))
	}
	return icon, h
}

func (v *view) verdict() (model.Icon, string) {
	text := strings.ReplaceAll(v.outcome.Headline, result.Repeats, fmt.Sprintf("%d of %s", v.doc.RepeatsDone,
		humanize.Count(v.doc.RepeatsPlanned, "repeat")))
	if text == "" {
		text = v.tallyText() + v.capacityText()
	}
	return causeIcons[v.outcome.Cause], text
}

// tallyText counts the gates by verdict, or the comparisons of a document without gates of its own.
func (v *view) tallyText() string {
	t := tally{of: map[result.Verdict]int{}}
	if v.o.NoGates {
		for _, r := range v.rows {
			t.count(r.d.Verdict, r.d.Refuted)
		}
		return t.text(len(v.rows), "comparison")
	}
	for _, g := range v.gates {
		t.count(g.Verdict, g.Refuted())
	}
	return t.text(len(v.gates), "gate")
}

// causeIcons maps the causes of outcomes to icons.
var causeIcons = map[result.Cause]model.Icon{
	result.CauseRegression: model.IconRegression, result.CauseLimit: model.IconRegression,
	result.CauseFailed: model.IconInfrastructure, result.CauseInfrastructure: model.IconInfrastructure,
	result.CauseInterrupted: model.IconInterrupted, result.CauseUnjudged: model.IconInvalid,
	result.CauseUndecided: model.IconInconclusive, result.CauseInconclusive: model.IconInconclusive,
	result.CauseTolerated: model.IconWarning, result.CauseUngated: model.IconInfo, result.CausePass: model.IconPass,
}

// capacityText returns the values of the first comparison of a capacity, as a part of the headline: ", capacity
// 19.9 → 21.0 req/s".
func (v *view) capacityText() string {
	found := v.where(func(r verdictRow) bool {
		return strings.HasPrefix(r.d.Metric, "capacity.") && r.d.SuiteCells == 0 && r.d.BaseValue != nil && r.d.HeadValue != nil
	})
	if len(found) == 0 {
		return ""
	}
	text := ", capacity " + valuesText(found[0].d)
	if len(found) > 1 {
		if name := v.cellName(found[0]).String(); name != "" {
			text += " at " + name
		}
		text += fmt.Sprintf(" and %d more", len(found)-1)
	}
	return text
}

// valuesText returns the values of both sides with one unit: "19.9 → 21.0 req/s".
func valuesText(d *result.Decision) string {
	base, head := valueTexts(d)
	if number, ok := strings.CutSuffix(base, " "+scaleOf(d).Unit); ok && strings.HasSuffix(head, " "+scaleOf(d).Unit) {
		base = number
	}
	return base + " → " + head
}

// text summarizes the tally: "1 of 2 gates regressed, 1 inconclusive".
func (t tally) text(all int, noun string) string {
	of := " of " + humanize.Count(all, noun)
	if all == 1 {
		of = " " + noun
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{t.of[result.Regression], "regressed"},
		{t.of[result.Invalid], "invalid"},
		{t.of[result.Missing], "missing"},
		{t.refuted, "refuted"},
		{t.of[result.Inconclusive] - t.refuted, "inconclusive"},
	} {
		switch {
		case p.n == 0:
		case len(parts) == 0:
			parts = append(parts, fmt.Sprintf("%d%s %s", p.n, of, p.what))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("%d%s passed", t.passed(), of))
	}
	if n := t.of[result.Improvement]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d improved", n))
	}
	return strings.Join(parts, ", ")
}

// lead returns the lines above the table.
func (v *view) lead() []model.Line {
	all := []model.Line{nonEmpty(v.doc.Title), v.status(), v.worst(), v.movedCost(), v.oneLaunch(), v.next(), v.context(), v.machines(),
		v.bill()}
	if v.o.Comment { // the answer first; the rest in one line
		all = []model.Line{v.status(), v.worst(), v.movedCost(), v.oneLaunch(), v.next(), v.machines(),
			model.Join(" · ", nonEmpty(v.doc.Title), v.context(), v.shortBill())}
	}
	var lines []model.Line
	for _, l := range all {
		if len(l) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

// status explains why the run is incomplete or was stopped early, nil otherwise.
func (v *view) status() model.Line {
	reason := v.doc.StatusReason
	switch v.doc.Status {
	case result.StatusInterrupted:
		return model.Join(": ", model.Plain("Interrupted; what was finished is kept"), nonEmpty(reason))
	case result.StatusFailed:
		if l := v.baseFailure(); l != nil {
			return l
		}
		return model.Join(": ", model.Line{{Text: "Infrastructure", Style: model.Strong}}, nonEmpty(reason))
	}
	if v.doc.StoppedBy != "" {
		return model.Join(": ", model.Line{{Text: stopped[v.doc.StoppedBy], Style: model.Strong}}, nonEmpty(reason))
	}
	return nil
}

// stopped names the reason why a session with a budget took fewer repeats than planned.
var stopped = map[result.StoppedBy]string{
	result.StoppedBudget: "Budget spent", result.StoppedSettled: "Verdict settled", result.StoppedHopeless: "Given up",
}

func nonEmpty(s string) model.Line {
	if s == "" {
		return nil
	}
	return model.Plain(s)
}

// worst returns one sentence with the worst findings, or with the result if there are none.
func (v *view) worst() model.Line {
	regressions := v.where(func(r verdictRow) bool { return r.d.Verdict == result.Regression })
	if len(regressions) > 0 {
		return v.worstOf(regressions)
	}
	open := v.where(func(r verdictRow) bool { return !r.passed() })
	switch {
	case len(v.rows) == 0 || v.o.Comment && v.outcome.Cause == result.CauseFailed:
		return nil
	case len(open) == 0:
		return v.passed()
	case v.outcome.Cause == result.CauseInfrastructure:
		return v.infrastructure(open)
	}
	return model.Plain(v.undecided(open))
}

// passed summarizes a run in which everything passes: what improved, and that the rest was shown not to be worse.
func (v *view) passed() model.Line {
	improved := v.where(func(r verdictRow) bool { return r.d.Verdict == result.Improvement })
	slices.Reverse(improved) // the largest first
	guards := len(v.where(func(r verdictRow) bool { return r.passed() && r.d.Kind == result.KindSuccess }))
	rest := len(v.rows) - len(improved) - guards
	var held []string
	if rest > 0 {
		held = append(held, map[bool]string{true: "all ", false: "the other "}[len(improved) == 0]+humanize.Count(rest, "comparison"))
		if rest == 1 {
			held[0] = map[bool]string{true: "the comparison", false: "the other comparison"}[len(improved) == 0]
		}
	}
	if guards > 0 {
		held = append(held, map[bool]string{true: "the success rate", false: "the success rates"}[guards == 1])
	}
	text := strings.Join(held, " and ")
	if text != "" {
		text = "Not worse by the margin: " + text + "."
	}
	if len(improved) == 0 {
		return model.Plain(text)
	}
	found := v.worstOf(improved)
	if v.o.Comment {
		found = v.improvedShort(improved)
	}
	line := append(model.Plain("Improved: "), found...)
	return append(line, model.Span{Text: strings.TrimSpace(". " + text)})
}

// movedCost returns the metrics without a gate in which the head is worse, of one cell. The warnings have those of all.
func (v *view) movedCost() model.Line {
	found := v.where(func(r verdictRow) bool { return r.d.MovedCost != "" })
	if len(found) == 0 {
		return nil
	}
	line := append(model.Line{{Text: "Worse where no gate looks:", Style: model.Strong}, {Text: " " + found[0].d.MovedCost + " at "}},
		v.cellName(found[0])...)
	if n := len(found) - 1; n > 0 {
		line = append(line, model.Span{Text: " and at " + humanize.Count(n, "more cell")})
	}
	return line
}

// improvedShort returns the first improvements in one line of a comment: "TPOT p50 −23.6 % (3.17 → 2.42 ms) · …".
func (v *view) improvedShort(improved []verdictRow) model.Line {
	const most = 3
	var parts []model.Line
	for _, r := range improved[:min(most, len(improved))] {
		line := v.finding(r, 0, false)
		if r.d.BaseValue != nil && r.d.HeadValue != nil {
			line = append(line, model.Span{Text: " (" + valuesText(r.d) + ")"})
		}
		parts = append(parts, line)
	}
	line := model.Join(" · ", parts...)
	if n := len(improved) - most; n > 0 {
		line = append(line, model.Span{Text: fmt.Sprintf(" · and %d more", n)})
	}
	return line
}

// infrastructure explains why the base fails too, each reason once.
func (v *view) infrastructure(open []verdictRow) model.Line {
	var reasons []string
	for _, r := range open {
		reason := strings.TrimPrefix(strings.TrimPrefix(r.d.Reason, "base fails too"), ": ")
		if r.d.Infrastructure && reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	const most = 3
	text := strings.Join(reasons[:min(most, len(reasons))], "; ")
	if n := len(reasons) - most; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	if text == "" {
		return model.Line{{Text: "Not your change:", Style: model.Strong}, {Text: " the base fails too."}}
	}
	return model.Line{{Text: "Not your change:", Style: model.Strong}, {Text: " the base fails too: " + strings.TrimSuffix(text, ".") + "."}}
}

// next advises what to do about the result.
func (v *view) next() model.Line {
	text, lead := nonEmpty(v.outcome.Next), "Next:"
	if v.outcome.Cause == result.CauseInfrastructure || v.outcome.Cause == result.CauseFailed {
		lead = "For the maintainer:"
	}
	if c := v.outcome.Cause; c == result.CauseUndecided || c == result.CauseInconclusive {
		if v.o.NoGates { // nothing is merged
			text = nil
		}
		text = model.Join(" ", text, v.wouldDecide())
	}
	if len(text) == 0 {
		return nil
	}
	return model.Join(" ", model.Line{{Text: lead, Style: model.Strong}}, text)
}

// baseFailure states how the base failed, if the base of every comparison without a verdict failed in each of its
// launches: "Not your change: the base fails too: out of memory in 2 of 2 launches of server.vllm.sut["base"]." It
// returns nil otherwise.
func (v *view) baseFailure() model.Line {
	groups, first := v.failureGroups(), (*failureGroup)(nil)
	for _, r := range v.rows {
		if r.passed() || r.d.Kind == result.KindAssert {
			continue
		}
		at, ok := v.cell(r.gate.Benchmark, r.d.BaseCell)
		i := slices.IndexFunc(groups, func(g *failureGroup) bool {
			return ok && g.addr == at.cell.Target && g.launches > 0 && len(g.repeats) == g.launches
		})
		if i < 0 {
			return nil
		}
		if first == nil {
			first = groups[i]
		}
	}
	if first == nil {
		return nil
	}
	class := strings.ReplaceAll(cmp.Or(first.failure.Class, first.failure.Exit, "failure"), "_", " ")
	return model.Line{{Text: "Not your change:", Style: model.Strong}, {Text: fmt.Sprintf(" the base fails too: %s in %d of %s of ", class,
		len(first.repeats), humanize.Count(first.launches, "launch"))}, {Text: first.addr, Style: model.Mono}, {Text: "."}}
}

// wouldDecide states what would decide the undecided comparisons: more repeats and their duration, or margins that
// as many repeats as these would show. It returns nil if neither is known.
func (v *view) wouldDecide() model.Line {
	need := v.need()
	if need == 0 {
		return nil
	}
	what, text := model.Code(fmt.Sprintf("repeat { max = %d }", need)), ""
	switch {
	case v.o.NoGates:
		what = model.Plain(fmt.Sprintf("%d launches of each side", need))
	case need <= v.doc.RepeatsPlanned:
		what = model.Plain(humanize.Count(need, "repeat"))
	}
	if done := v.doc.RepeatsDone; done > 0 && !v.doc.Started.IsZero() {
		if took := v.doc.Ended.Sub(v.doc.Started); took > 0 {
			text += fmt.Sprintf(", about %s", humanize.Duration(took*time.Duration(need)/time.Duration(done)))
		}
	}
	if margins := v.margins(); margins != "" {
		text += ", or a margin of " + margins
	}
	return model.Join(": ", model.Plain("To decide"), append(what, model.Span{Text: text + "."}))
}

// need returns the largest number of repeats that an undecided comparison needs, 0 if unknown.
func (v *view) need() int {
	need := 0
	for _, r := range v.rows {
		if r.d.Verdict == result.Inconclusive && !r.d.Refuted {
			need = max(need, r.d.NeedPairs)
		}
	}
	return need
}

// margins returns, per metric, the largest margin that an undecided comparison needs in order to pass.
func (v *view) margins() string {
	most := map[string]*result.Decision{}
	var order []string
	for _, r := range v.rows {
		margin := passingMargin(r)
		if margin == 0 {
			continue
		}
		label := metricLabel(r.d)
		if most[label] == nil {
			order = append(order, label)
		}
		if d := *r.d; most[label] == nil || margin > most[label].Detectable {
			d.Detectable = margin
			most[label] = &d
		}
	}
	const shown = 3
	var parts []string
	for _, label := range order[:min(shown, len(order))] {
		parts = append(parts, detectable(most[label], scaleOf(most[label]))+" for "+label)
	}
	return strings.Join(parts, ", ")
}

// passingMargin returns the margin with which at least 70 % of sessions like this one would pass (TestMarginsThatPass draws
// them). It returns 0 if that is unknown, or if the estimate is at the margin already: a larger margin does not undo a
// regression. Another session has another mean and spread, so the margin is twice as far from the mean as the worse end of
// the interval. Two pairs often spread far less than two others.
func passingMargin(r verdictRow) float64 {
	d := r.d
	const (
		farther    = 2
		leastPairs = 3
		largest    = 1 // of a ratio or a share: files may not state more
	)
	if d.Verdict != result.Inconclusive || d.NeedPairs == 0 || d.N < leastPairs || d.Change == nil || d.Lower == nil || d.Upper == nil ||
		expectsImprovement(r) {
		return 0
	}
	worst := *d.Upper
	if worseSign(d) < 0 {
		worst = *d.Lower
	}
	mean := diffOf(d, *d.Change)
	margin := mean + farther*(diffOf(d, worst)-mean)
	if onLog(d) {
		margin = math.Expm1(margin)
	}
	if mean >= marginOf(d) || !humanize.Finite(margin) || margin <= float64(d.Margin) {
		return 0
	}
	if margin = rounded(margin, float64(d.Margin), onLog(d)); margin > largest && (onLog(d) || metric.Unit(d.Unit) == metric.Fraction) {
		return 0
	}
	return margin
}

// rounded returns a margin with the digits that reports show of it, above the present one: tenths of a percent of a ratio, and
// two digits of others.
func rounded(margin, present float64, ratio bool) float64 {
	step := 0.001
	if !ratio {
		step = math.Pow(10, math.Floor(math.Log10(margin))-1)
	}
	steps := math.Round(margin / step)
	if steps*step <= present*(1+1e-9) {
		steps++
	}
	return steps * step
}

// worstOf returns the first three findings. It merges findings that do not measure a metric and share a reason, such
// as a server that fails in every cell.
func (v *view) worstOf(regressions []verdictRow) model.Line {
	const most = 3
	var firsts []verdictRow
	others := map[string]int{}
	for i, r := range regressions {
		key := fmt.Sprint(i)
		if r.d.Kind != result.KindMetric {
			key = r.d.Metric + "\x00" + r.d.Reason
		}
		if _, ok := others[key]; ok {
			others[key]++
			continue
		}
		others[key] = 0
		if len(firsts) < most {
			firsts = append(firsts, r)
		}
	}
	var parts []model.Line
	for i, r := range firsts {
		parts = append(parts, v.finding(r, others[r.d.Metric+"\x00"+r.d.Reason], i == 0))
	}
	line := model.Join(" · ", parts...)
	if n := len(others) - len(firsts); n > 0 {
		line = append(line, model.Span{Text: fmt.Sprintf(" · and %d more", n)})
	}
	return line
}

// undecided counts the comparisons that could not be decided.
func (v *view) undecided(open []verdictRow) string {
	n, refuted := 0, 0
	for _, r := range open {
		switch {
		case r.d.Refuted:
			refuted++
		case r.d.Verdict == result.Inconclusive:
			n++
		}
	}
	comparisons := humanize.Count(len(v.rows), "comparison")
	var parts []string
	if n > 0 {
		part := fmt.Sprintf("%d of %s could not be decided", n, comparisons)
		if why := v.describedFor(); why != "" && len(v.oneLaunch()) == 0 {
			part += ", since " + why
		}
		parts = append(parts, part)
	}
	if refuted > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s cannot have the improvement that is expected", refuted, comparisons))
	}
	if rest := len(open) - n - refuted; rest > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s could not be judged", rest, comparisons))
	}
	return strings.Join(parts, "; ") + ". This is not a pass."
}

// describedFor returns why the comparisons of this document are described and not decided, if all of metrics are, for one
// reason. The lead says it once, and no row repeats it.
func (v *view) describedFor() string {
	reason := ""
	for _, r := range v.rows {
		switch {
		case r.d.Kind != result.KindMetric:
			continue
		case !r.d.Descriptive || reason != "" && r.d.Reason != reason:
			return ""
		}
		reason = r.d.Reason
	}
	return reason
}

// finding describes one regression or improvement, and counts the other cells with the same one. Only the first is a
// sentence.
func (v *view) finding(r verdictRow, others int, first bool) model.Line {
	d := r.d
	if first {
		line := v.sentence(r)
		if others > 0 {
			line = append(line, model.Span{Text: "; so in " + humanize.Count(others, "other cell")})
		}
		return line
	}
	line := model.Line{{Text: metricLabel(d), Style: model.Strong}}
	if d.Kind == result.KindMetric && d.N > 0 {
		line = model.Line{{Text: metricLabel(d) + " " + changeText(d, scaleOf(d)), Style: model.Strong}}
	}
	if v.severalSides || len(v.coordinates(r)) > 0 {
		line = model.Join(" at ", line, v.cellName(r))
	}
	if others > 0 {
		line = append(line, model.Span{Text: " and " + humanize.Count(others, "other cell")})
	}
	if _, limit, headroom := limitTexts(d); d.Kind == result.KindAssert && limit != humanize.None {
		line = append(line, model.Span{Text: " (" + headroom + ")"})
	} else if d.Kind != result.KindMetric && d.Reason != "" {
		line = append(line, model.Span{Text: " (" + d.Reason + ")"})
	}
	return line
}

// context describes what was compared, how often, on what machine, and for how long.
func (v *view) context() model.Line { return model.Join(" · ", v.sides(), v.session()) }

// session describes how often, on what machine, and for how long the session measured.
func (v *view) session() model.Line {
	var parts []model.Line
	if p := v.doc.RepeatsPlanned; p > 0 {
		parts = append(parts, model.Plain(v.repeats(p)))
	}
	if text := pairingText(v.doc.Pairings); text != "" {
		parts = append(parts, model.Plain(text))
	}
	if m := machineName(v.doc.Machine); m != "" {
		parts = append(parts, model.Plain(m))
	}
	if nodes := v.doc.Machine[result.MachineLoad]; nodes != "" {
		parts = append(parts, model.Plain("load from "+nodes))
	}
	if !v.doc.Started.IsZero() {
		if d := humanize.Duration(v.doc.Ended.Sub(v.doc.Started)); d != "" {
			parts = append(parts, model.Plain(d))
		}
	}
	return model.Join(" · ", parts...)
}

// pairingText describes how imported launches were paired: "paired by the time of their measurement, alternated".
func pairingText(pairings []result.Pairing) string {
	var texts []string
	for _, p := range pairings {
		text := "paired " + p.How
		if p.Order != "" {
			text += ", " + string(p.Order)
		}
		if p.Problem == "" && p.Pairs > 0 && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " and ")
}

// repeats describes the repeats: "6 of at most 12 repeats of 3 passes, judged at 2 looks of 5".
func (v *view) repeats(planned int) string {
	repeats := humanize.Count(planned, "repeat")
	if n := v.mostPasses(); n > 1 {
		repeats += fmt.Sprintf(" of %d passes", n)
	}
	switch {
	case len(v.doc.Looks) < 2:
		return fmt.Sprintf("%d of %s", v.doc.RepeatsDone, repeats)
	case len(v.doc.LooksTaken) == 0:
		return fmt.Sprintf("%d of at most %s", v.doc.RepeatsDone, repeats)
	}
	return fmt.Sprintf("%d of at most %s, judged at %s of %d", v.doc.RepeatsDone, repeats, humanize.Count(len(v.doc.LooksTaken), "look"),
		len(v.doc.Looks))
}

// mostPasses returns the maximum number of passes per launch.
func (v *view) mostPasses() int {
	most := 1
	v.eachRun(allRuns, func(_ cellAt, r *result.Run) { most = max(most, r.Pass) })
	return most
}

// sides names the compared sides: "v0.11.0 against v0.10.2".
func (v *view) sides() model.Line {
	var sides []result.Names
	for _, r := range v.rows {
		if r.d.Head == "" && r.d.Base == "" || r.d.SuiteCells > 0 {
			continue
		}
		if n := v.names(r); !slices.Contains(sides, n) {
			sides = append(sides, n)
		}
	}
	const most = 4
	var parts []model.Line
	for _, s := range sides[:min(most, len(sides))] {
		head, base := "", "" // roles, where tables have them for the names
		if !fitColumns(s) && s.Head != "head" {
			head, base = " (head)", " (base)"
		}
		parts = append(parts, model.Line{
			{Text: s.Head, Style: model.Strong}, {Text: head + " against "}, {Text: s.Base, Style: model.Strong}, {Text: base},
		})
	}
	if n := len(sides) - most; n > 0 {
		parts = append(parts, model.Plain(humanize.Count(n, "more comparison")+" of sides"))
	}
	return model.Join("; ", parts...)
}

// names returns what to call the sides of a row.
func (v *view) names(r verdictRow) result.Names {
	n, ok := v.named[r.d]
	if !ok {
		n = v.doc.Names(r.gate, r.d)
		v.named[r.d] = n
	}
	return n
}

// maxColumnName is the length of names that the columns of a table have room for.
const maxColumnName = 16

func fitColumns(n result.Names) bool {
	return len([]rune(n.Head)) <= maxColumnName && len([]rune(n.Base)) <= maxColumnName
}

// commonNames returns the names of the sides of rows, "base" and "head" if the rows differ in them or they are long.
func (v *view) commonNames(rows []verdictRow) result.Names {
	var common result.Names
	for _, r := range rows {
		if r.d.Head == "" && r.d.Base == "" {
			continue
		}
		n := v.names(r)
		if common == (result.Names{}) {
			common = n
		}
		if n != common || !fitColumns(n) {
			return result.Names{Head: "head", Base: "base"}
		}
	}
	return result.Names{Head: cmp.Or(common.Head, "head"), Base: cmp.Or(common.Base, "base")}
}

// comparedAxis returns the axis of the head's cell that distinguishes the sides.
func (v *view) comparedAxis(r verdictRow) string {
	at, ok := v.cell(r.gate.Benchmark, r.d.Cell)
	if !ok {
		return ""
	}
	return r.d.ComparedAxis(at.cell.Values)
}

func machineName(m map[string]string) string {
	gpu := m[result.MachineGPU]
	if gpu == "" {
		return m[result.MachineCPU]
	}
	if n := m[result.MachineGPUs]; n != "" {
		return n + "× " + gpu
	}
	return gpu
}
