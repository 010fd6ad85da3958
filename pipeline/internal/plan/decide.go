package plan

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
)

// Noise is the known spread of a metric between the two sides of a repeat.
type Noise struct {
	// SD returns the standard deviation of the differences of pairs of launches with a number of passes each,
	// on the scale of the test: of ln(head/base) for times and rates.
	SD func(passes int) float64
	// Basis describes its source in a few words.
	Basis string
}

// Power is the smallest change of one metric that a gate calls a regression with 80 % power, or an improvement
// if it expects one. It assumes that its comparison is the strictest of the family.
type Power struct {
	Metric string  `json:"metric"` // id, or "" for all
	SD     float64 `json:"sd"`
	Basis  string  `json:"basis"`
	// Points is set if the change is a difference of shares.
	Points bool `json:"points,omitempty"`
	// AtMin and AtMax are the changes found after the least and the most repeats.
	AtMin float64 `json:"at_min"`
	AtMax float64 `json:"at_max"`
}

// decide computes what the gates can find. It refuses gates that can decide nothing with what is planned.
func (b *builder) decide(p *Plan) {
	for i := range p.Gates {
		g := &p.Gates[i]
		if !g.paired() || len(g.Comparisons) == 0 || p.described(*g) {
			continue
		}
		src := b.cfg.GateAt(g.Addr)
		level := p.Level(*g)
		if why := p.undecidable(*g, level, b.filling(p, *g)); why != "" {
			b.fail(src.Range, "gate cannot decide", why)
			continue
		}
		b.warnOfLosses(p, *g, src)
		b.warnOfRareEvents(p, *g, src)
		if g.SuiteMargin > 0 && len(g.Suites()) == 0 {
			b.fail(src.Range, "gate has no suite",
				"suite_margin compares the geometric means over at least 2 cells, and the gate compares fewer. Leave it out, or widen where.")
			continue
		}
		if questions := p.questions(*g); questions > 0 {
			b.decideEvaluation(p, g, questions, src)
			continue
		}
		g.Power = b.power(p, *g)
		for _, w := range g.Power {
			if w.Metric != "" && g.Expect == gates.NoRegression {
				b.refuseNoise(p, *g, w, level, src)
			}
		}
	}
}

// Level returns the strictest level that a comparison of a gate has to meet in the end: the level of the last
// look, divided by the size of the family, without the part of the comparison of launches.
func (p *Plan) Level(g Gate) float64 {
	level := p.strictest(g)
	if g.CanFail() && p.Test(g).Joint() { // corrected jointly: only its part of the group counts
		level *= float64(p.joint(g.group()))
	}
	return level
}

// strictest returns the level of a comparison that is corrected by itself, such as one of success rates.
func (p *Plan) strictest(g Gate) float64 {
	l := gates.Looks(p.Looks)
	if !g.CanFail() {
		return l.Last(cmp.Or(g.Alpha, p.Alpha), 1)
	}
	size := max(1, p.families()[g.group()])
	return (1 - gates.LaunchShare) * l.Last(p.share(g), size) / float64(size)
}

// PassAlpha returns the error rate of a pass: the file's, shared by its attempts. Re-running until it passes
// therefore does not help.
func (p *Plan) PassAlpha() float64 { return gates.AttemptAlpha(p.Alpha, p.Attempt) }

// joint counts the comparisons of a group whose tests correct them jointly.
func (p *Plan) joint(group string) int {
	n := 0
	for _, g := range p.Gates {
		if g.group() == group && p.Test(g).Joint() && g.CanFail() {
			for _, c := range g.Comparisons {
				n += len(g.Of(c))
			}
		}
	}
	return max(1, n)
}

// undecidable returns why the planned repeats cannot reject at a level, whatever the data, "" if they can.
// filling is the number of repeats that fill caches and have no start-up times.
func (p *Plan) undecidable(g Gate, level float64, filling int) string {
	test, n := p.Test(g), p.repeatsOf(g.Benchmark)
	if n < 2 {
		return "" // one repeat causes a warning elsewhere
	}
	if filling > 0 && (n-filling < test.LeastRepeats || gates.CanReject(test, n-filling, level) != nil &&
		gates.CanReject(test, n, level) == nil) {
		return fmt.Sprintf("The caches of its servers are filled in %s of %d, whose start-up times do not count, and %s cannot decide "+
			"startup.time by %s alone. Plan more repeats, or a gate of its own for startup.time.",
			humanize.Count(filling, "repeat"), n, test, humanize.Count(n-filling, "repeat"))
	}
	if n < test.LeastRepeats {
		return fmt.Sprintf("%s needs at least %d repeats, and %s has %d. Plan more, or use test = %q.", test, test.LeastRepeats, g.Benchmark,
			n, gates.PairedTTest)
	}
	if err := gates.CanReject(test, n, level); err != nil {
		return fmt.Sprintf("%s Its family has %s at %.3g, one-sided. A t-test (%q) needs 2.",
			diag.Sentence(err), humanize.Count(max(1, p.families()[g.group()]), "comparison"), p.share(g), gates.PairedTTest)
	}
	return ""
}

// warnOfLosses warns of a gate with too few repeats to call lost requests a regression. If the head alone lost
// requests in every run, its results would be invalid.
func (b *builder) warnOfLosses(p *Plan, g Gate, src *config.Gate) {
	n, least := p.repeatsOf(g.Benchmark), gates.FailingRuns(p.strictest(g))
	if !g.CanFail() || n < 2 || n >= least {
		return // one repeat causes a warning elsewhere
	}
	b.warn(src.Range, "lost requests cannot be a regression", fmt.Sprintf(
		"Not even a head that loses requests in each of %d runs is one, beside a base that loses none: over %s at %.3g, one-sided, "+
			"that takes %d repeats. Plan at least %d, or compare by fewer metrics.",
		n, humanize.Count(max(1, p.families()[g.group()]), "comparison"), p.share(g), least, least))
}

// leastEvents is the number of events that a margin on events per request must be in the runs of one side. With fewer a head at
// the margin passes too often, since it often has none: 8 % of files at 6 events, 33 % at 0.4 ("Values that are not lognormal" in
// docs/evidence/error-rates.md).
const leastEvents = 6

// warnOfRareEvents warns of a margin that is less than a few events in the runs that the first look judges, of the cell with the
// fewest requests.
func (b *builder) warnOfRareEvents(p *Plan, g Gate, src *config.Gate) {
	requests := math.Inf(1)
	for _, c := range g.Comparisons {
		_, cell, _ := p.Cell(c.Head)
		if n := sends(cell.Workload.Load); n > 0 {
			requests = min(requests, float64(p.least()*max(1, p.PassesOf(g.Benchmark)))*n)
		}
	}
	events := float64(g.Margin) * requests
	for _, id := range g.Metrics {
		if m, _ := p.Metric(id); m.EventsPerRequest() && 0 < events && events < leastEvents {
			b.warn(src.Range, "margin of less than a few events", fmt.Sprintf(
				"The margin of %s is %.2g events in the %.0f requests of each side's first %s, of which chance alone often leaves none: a head "+
					"at the margin then passes. Set a margin of %.2g or more, or plan %.1f times the requests.",
				id, events, requests, humanize.Count(p.least(), "repeat"), leastEvents/requests, leastEvents/events))
		}
	}
}

// sends returns the number of requests of a run, 0 if the answers decide it.
func sends(l steps.Load) float64 {
	if l.Requests == 0 && l.Ramp == 0 {
		return l.Rate * l.Duration.Seconds()
	}
	return float64(l.Requests)
}

// power returns the power of a gate for each metric whose noise is known. Unless it is known for all, power
// adds assumed spreads.
func (b *builder) power(p *Plan, g Gate) []Power {
	if answers, _ := g.ofAnswers(); answers {
		return p.powerOfAnswers(g)
	}
	var out []Power
	for _, id := range g.Metrics {
		if k := p.worstKnown(g, id); k != nil {
			out = append(out, p.powerKnown(g, id, k))
			continue
		}
		noise, ok := b.worstNoise(g, id, p.PassesOf(g.Benchmark))
		if !ok {
			continue
		}
		out = append(out, p.powerAt(g, id, noise.SD(p.PassesOf(g.Benchmark)), noise.Basis))
	}
	if len(out) == len(g.Metrics) {
		return out
	}
	searched := p.resolution(g)
	for _, sd := range assumedSpreads {
		basis := fmt.Sprintf("if pairs spread by %.0f %%", 100*sd)
		if searched > 0 {
			basis += fmt.Sprintf(" beside what searches to ±%.3g %% add", 100*searched)
		}
		out = append(out, p.powerAt(g, "", math.Hypot(sd, spreadOfSearches(searched)), basis))
	}
	return out
}

func (p *Plan) powerAt(g Gate, id string, sd float64, basis string) Power {
	atMin, atMax := finds(p.prospect(g), sd, g.Margin)
	return Power{Metric: id, SD: sd, Basis: basis, AtMin: atMin, AtMax: atMax}
}

// powerKnown returns the power if the known spread is right.
func (p *Plan) powerKnown(g Gate, id string, k *gates.Known) Power {
	in := p.prospect(g)
	in.Known = k
	atMin, atMax := finds(in, k.SD, g.Margin)
	return Power{Metric: id, SD: k.SD, Basis: fmt.Sprintf("calibrated %s, known", p.Variance.Time.Format(time.DateOnly)),
		AtMin: atMin, AtMax: atMax}
}

// finds returns the smallest changes that a gate calls a regression with gates.Power, at its first look and
// over all of them, if its pairs spread by sd; 0 for none.
func finds(in gates.Prospect, sd float64, margin metric.Margin) (atMin, atMax float64) {
	at := func(in gates.Prospect) float64 {
		if change := metric.Log.Change(in.Detectable(sd, margin.On(metric.Log), gates.Power)); !math.IsInf(change, 0) {
			return change
		}
		return 0
	}
	if len(in.Looks) == 1 {
		atMin = at(in)
		return atMin, atMin
	}
	return at(in.First()), at(in)
}

// prospect returns how the strictest comparison of a gate is judged.
func (p *Plan) prospect(g Gate) gates.Prospect {
	in := p.familyProspect(g)
	in.Between = p.amongMachines()
	if in.Expect = g.Expect; g.Expect == gates.ExpectImprovement {
		for k := range in.Levels {
			in.Levels[k] *= p.PassAlpha() / p.Alpha
		}
	}
	return in
}

// familyProspect returns the prospect of a gate with the levels of its family.
func (p *Plan) familyProspect(g Gate) gates.Prospect {
	if !g.CanFail() {
		return gates.NewProspect(p.looksOf(g), cmp.Or(g.Alpha, p.Alpha), p.PassAlpha(), 1, g.Rule)
	}
	in := gates.NewProspect(p.looksOf(g), p.share(g), p.PassAlpha(), max(1, p.families()[g.group()]), g.Rule)
	for k := range in.Levels {
		in.Levels[k] *= 1 - gates.LaunchShare
		if p.Test(g).Joint() {
			in.Levels[k] *= float64(p.joint(g.group()))
		}
	}
	return in
}

// looksOf returns the looks of the session that a gate's repeats reach, or all its repeats if they reach none.
func (p *Plan) looksOf(g Gate) gates.Looks {
	repeats := max(1, p.repeatsOf(g.Benchmark))
	n := 0
	for n < len(p.Looks) && p.Looks[n] <= repeats {
		n++
	}
	if n == 0 {
		return gates.Looks{repeats}
	}
	return p.Looks[:n]
}

// least returns the number of repeats at the first look.
func (p *Plan) least() int {
	if len(p.Looks) == 0 {
		return 0
	}
	return p.Looks[0]
}

// worstNoise returns the largest known noise of a metric over the cells of a gate.
func (b *builder) worstNoise(g Gate, id string, passes int) (worst Noise, known bool) {
	if b.opt.Noise == nil {
		return worst, false
	}
	for _, c := range g.Comparisons {
		for _, cell := range []string{c.Base, c.Head} {
			if n, ok := b.opt.Noise(cell, id); ok && (!known || n.SD(passes) > worst.SD(passes)) {
				worst, known = n, true
			}
		}
	}
	return worst, known
}

// refuseNoise refuses a gate whose noise is above its margin even after all repeats.
func (b *builder) refuseNoise(p *Plan, g Gate, w Power, level float64, src *config.Gate) {
	if err := p.checkNoise(g, w.Metric, w.SD, level); err != nil && !b.opt.IgnoreNoise {
		at := src.MarginRange
		if at == (hcl.Range{}) {
			at = src.Range
		}
		b.fail(at, "noise is above the margin", fmt.Sprintf("%s. The spread of %s is %s. Measure longer runs, or go on with --ignore-noise.",
			err, humanize.Spread(w.SD), w.Basis))
	}
}

// checkNoise applies gates.CheckNoise to a gate's metric. If the spread of its pairs or between machines is
// known, it checks the smallest change found instead.
func (p *Plan) checkNoise(g Gate, id string, sd, level float64) error {
	m, ok := p.Metric(id)
	if !ok {
		return nil
	}
	n, k := p.repeatsOf(g.Benchmark), p.worstKnown(g, id)
	in := p.prospect(g)
	switch {
	case k != nil:
		in.Known, sd = k, k.SD
	case in.Between == 0:
		return gates.CheckNoise(m, n, sd, g.Margin, level)
	}
	found := m.Scale.Change(in.Detectable(sd, 0, gates.Power))
	if found <= float64(g.Margin) {
		return nil
	}
	return fmt.Errorf("%s: with %s and what else is known of the spread the smallest change found with 80 %% power is %.3g, above the "+
		"margin of %.3g; plan more repeats, or set a margin of at least that",
		m.ID, humanize.Count(n, "repeat"), found, g.Margin)
}

// text returns "7.8 % after 4 repeats and 6.1 % after 12", or "6.1 %" for a single look.
func (w Power) text(least, most int) string {
	unit := "%"
	if w.Points {
		unit = "pp"
	}
	switch {
	case w.AtMax == 0:
		return ""
	case least >= most || w.AtMin == 0 || w.AtMin > 1 && !w.Points: // two pairs find doublings at best
		return fmt.Sprintf("%.1f %s", 100*w.AtMax, unit)
	}
	return fmt.Sprintf("%.1f %s after %s and %.1f %s after %d", 100*w.AtMin, unit, humanize.Count(least, "repeat"), 100*w.AtMax, unit, most)
}
