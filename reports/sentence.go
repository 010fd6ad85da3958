package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// Answer returns the verdict on the decision that matters most as a sentence without its full stop: "v0.11.0 is 3.1 %
// slower than v0.10.2 in TPOT p50 (90 % interval +2.0 … +4.2 %, margin 5 %)". The decision is the worst that did not
// pass, otherwise the largest improvement, otherwise the pass that is closest to its margin. It returns "" if nothing
// was compared, or if the session ended without a verdict: the headline has the reason.
func Answer(doc *result.Document, o Options) string {
	v := newView(doc, o)
	switch {
	case len(v.rows) == 0:
		return ""
	case slices.Contains([]result.Cause{result.CauseFailed, result.CauseInfrastructure, result.CauseInterrupted}, v.outcome.Cause):
		return ""
	}
	return v.sentence(v.rows[0]).String()
}

// Verdict returns the verdict on the whole document as one line for a terminal, with its sign: "✗ 1 of 2 gates
// regressed".
func Verdict(doc *result.Document) string {
	icon, text := newView(doc, Options{}).verdict()
	return icon.Symbol() + " " + text
}

// sentence states the verdict on one comparison.
func (v *view) sentence(r verdictRow) model.Line {
	d, n := r.d, v.names(r)
	s := scaleOf(d)
	claim := func(before, strong, after string) model.Line {
		return model.Line{{Text: before}, {Text: strong, Style: model.Strong}, {Text: after}, {Text: " in "},
			{Text: metricLabel(d), Style: model.Strong}}
	}
	worse, better := comparative(d, worseSign(d)), comparative(d, -worseSign(d))
	orMore := fmt.Sprintf(" %s or more", marginText(d, s))
	var line model.Line
	change := []string{}
	switch {
	case d.Kind == result.KindAssert:
		return v.limitSentence(r)
	case d.Change == nil || d.N == 0 || d.Verdict == result.Missing || d.Verdict == result.Invalid:
		return v.unjudged(r)
	case d.Kind == result.KindSuccess:
		return v.successSentence(r)
	case d.Verdict == result.Pass && d.Margin > 0:
		line = claim(n.Head+" is ", "not "+worse+" by"+orMore, " than "+n.Base)
		change = append(change, changeText(d, s))
	case d.Refuted:
		line = claim(n.Head+" is ", "not "+better+" by"+orMore, " than "+n.Base)
		change = append(change, changeText(d, s))
	case d.Verdict == result.Inconclusive:
		line = claim("It is ", "not decided", " whether "+n.Head+" is "+worse+" than "+n.Base)
		change = append(change, changeText(d, s))
	case *d.Change == 0:
		line = claim(n.Head+" ", "equals", " "+n.Base)
	default:
		line = claim(n.Head+" is ", strings.TrimLeft(changeText(d, s), "+−")+" "+comparative(d, *d.Change), " than "+n.Base)
	}
	return v.withNotes(model.Join(" at ", line, v.coordinates(r)), r, change...)
}

// withNotes appends the figures of a comparison in parentheses.
func (v *view) withNotes(line model.Line, r verdictRow, notes ...string) model.Line {
	d := r.d
	s := scaleOf(d)
	if i := intervalText(d, s); i != humanize.None {
		notes = append(notes, intervalName(v.decisionLevel(r))+" "+i)
	}
	if d.BaseValue != nil && d.HeadValue != nil {
		notes = append(notes, valuesText(d))
	}
	if m := marginText(d, s); m != humanize.None && d.Verdict != result.Pass && !d.Refuted {
		notes = append(notes, "margin "+m)
	}
	if len(notes) == 0 {
		return line
	}
	return append(line, model.Span{Text: " (" + strings.Join(notes, ", ") + ")"})
}

// limitSentence states a value against its limit: "TTFT p99 at rate=4 is 702 ms, limit < 1 s, 29.8 % left".
func (v *view) limitSentence(r verdictRow) model.Line {
	line := model.Join(" at ", model.Line{{Text: metricLabel(r.d), Style: model.Strong}}, v.coordinates(r))
	value, limit, headroom := limitTexts(r.d)
	if limit == humanize.None || value == humanize.None {
		return model.Join(": ", append(line, model.Span{Text: " was not compared with its limit"}), nonEmpty(r.d.Reason))
	}
	return append(line, model.Span{Text: fmt.Sprintf(" is %s, limit %s, %s", value, limit, headroom)})
}

// unjudged states why two sides were not compared.
func (v *view) unjudged(r verdictRow) model.Line {
	n := v.names(r)
	line := model.Plain(fmt.Sprintf("%s was not compared with %s in ", n.Head, n.Base))
	line = append(line, model.Span{Text: metricLabel(r.d), Style: model.Strong})
	if r.d.Verdict == result.Regression {
		line = model.Line{{Text: n.Head + " "}, {Text: "fails", Style: model.Strong}, {Text: " where " + n.Base + " does not"}}
	}
	return model.Join(": ", model.Join(" at ", line, v.coordinates(r)), nonEmpty(r.d.Reason))
}

// successSentence compares success rates.
func (v *view) successSentence(r verdictRow) model.Line {
	base, head := valueTexts(r.d)
	n := v.names(r)
	text := fmt.Sprintf(" of the requests to %s succeeded, %s to %s", n.Head, base, n.Base)
	line := model.Line{{Text: head, Style: model.Strong}, {Text: text}}
	line = model.Join(" at ", line, v.coordinates(r))
	if r.passed() {
		return line
	}
	return model.Join(": ", line, nonEmpty(r.d.Reason))
}

// coordinates returns the cell of a row without its sides, nil if it has no coordinates.
func (v *view) coordinates(r verdictRow) model.Line {
	name := v.valuesName(r.d.Values)
	if len(v.doc.Benchmarks) > 1 {
		name = strings.TrimSpace(model.ShortAddr(r.gate.Benchmark) + " " + name)
	}
	if name == "" {
		return nil
	}
	return model.Code(name)
}

// comparative returns the word for a change of a metric in the direction of its sign: "slower" and "faster" for times
// and rates, otherwise "worse" and "better", or "higher" and "lower" if neither direction is better.
func comparative(d *result.Decision, change float64) string {
	of := func(yes bool, a, b string) string {
		if yes {
			return a
		}
		return b
	}
	if d.Direction == "" {
		return of(change >= 0, "higher", "lower")
	}
	worse := math.Copysign(1, change) == worseSign(d)
	speed := d.Unit == "s" || strings.HasSuffix(d.Unit, "/s") && !strings.HasPrefix(d.Metric, "capacity.")
	if speed {
		return of(worse, "slower", "faster")
	}
	return of(worse, "worse", "better")
}
