package judge

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
)

// Verify judges a document again from its own evidence, and returns what contradicts that evidence. It finds decisions
// with a verdict or figures that do not follow from their pairs. It finds gates and an exit code that do not follow
// from the decisions. A document from elsewhere can be published only if nothing is returned.
//
// Verify cannot detect fabricated runs. It believes that something is missing, invalid or undecidable, since such a
// comparison does not pass. It also accepts the verdict of a limit, since the condition of the limit is not in the
// document.
func Verify(doc *result.Document, tests gates.Tests) error {
	v := &verifier{doc: doc, tests: tests, cells: index(doc), alike: map[cellPair]likeness{}, family: gates.Family{
		Alpha: doc.Alpha, PassAlpha: gates.AttemptAlpha(doc.Alpha, doc.Attempt), Moderate: true, Seed: doc.Seed,
	}}
	v.answered = slices.ContainsFunc(doc.Gates, func(g result.Gate) bool {
		return slices.ContainsFunc(g.Decisions, func(d result.Decision) bool { return ofQuality(&d) })
	})
	v.totals()
	v.spending()
	v.summaries()
	v.evidence()
	v.evaluations()
	for i := range doc.Gates {
		v.gate(&doc.Gates[i])
	}
	if len(v.problems) == 0 && len(v.family.Comparisons)+len(v.family.Success) > 0 {
		v.decisions()
	}
	return errors.Join(v.problems...)
}

// mostProblems is the number of problems that are listed.
const mostProblems = 10

// verifier rebuilds the family of a document.
type verifier struct {
	doc      *result.Document
	tests    gates.Tests
	cells    map[string]*result.Cell
	family   gates.Family
	compared []judged // by index in family.Comparisons
	success  []judged
	suites   bool
	answered bool // a gate compares what is answered
	alike    map[cellPair]likeness
	problems []error
}

// judged is a decision of the document with its gate.
type judged struct {
	gate *result.Gate
	*result.Decision
}

func (v *verifier) addf(format string, args ...any) {
	if len(v.problems) < mostProblems {
		v.problems = append(v.problems, fmt.Errorf(format, args...))
	}
}

// totals checks the verdicts of the gates and of the document, and the exit code.
func (v *verifier) totals() {
	for i := range v.doc.Gates {
		if g := &v.doc.Gates[i]; g.Verdict != worst(g) {
			v.addf("%s is %s, and the worst of its decisions is %s", g.Addr, g.Verdict, worst(g))
		}
	}
	if want := result.Overall(v.doc.Gates); v.doc.Verdict != want {
		v.addf("the verdict is %q, and its gates give %q", v.doc.Verdict, want)
	}
	interrupted := v.doc.Status == result.StatusInterrupted && (v.doc.ExitCode == 130 || v.doc.ExitCode == 143)
	if want := result.Exit(v.doc); v.doc.ExitCode != want && !interrupted {
		v.addf("the exit code is %d, and its gates give %d", v.doc.ExitCode, want)
	}
}

// spending checks the bill, and whether the session could have been stopped for the stated reason.
func (v *verifier) spending() {
	if want := result.NewBill(v.doc); !sameBill(v.doc.Bill, want) {
		v.addf("the bill is not the sum of its launches")
	}
	is := func(verdict result.Verdict) bool {
		return slices.ContainsFunc(v.doc.Gates, func(g result.Gate) bool { return g.Verdict == verdict })
	}
	switch by := v.doc.StoppedBy; {
	case by == "":
	case v.doc.Status != result.StatusComplete:
		v.addf("the session %s, and stopped_by is %q", unfinished(v.doc), by)
	case v.doc.RepeatsDone >= v.doc.RepeatsPlanned:
		v.addf("stopped_by is %q, and the session has all of its %d repeats", by, v.doc.RepeatsPlanned)
	case by == result.StoppedSettled && !is(result.Regression):
		v.addf("stopped_by is settled, and no gate has a regression")
	case by != result.StoppedBudget && len(v.doc.LooksTaken) == 0:
		v.addf("stopped_by is %q, and no look was taken", by)
	}
}

// sameBill reports whether two bills are equal within rounding.
func sameBill(a, b *result.Bill) bool {
	if a == nil || b == nil {
		return a == b
	}
	spent := func(x, y result.Spent) bool {
		return near(x.MachineHours, y.MachineHours) && near(x.GPUHours, y.GPUHours) && near(figure(x.Amount), figure(y.Amount))
	}
	return spent(a.Spent, b.Spent) && near(a.StartShare, b.StartShare) && near(a.MeasuredShare, b.MeasuredShare) &&
		near(a.ImagesSeconds, b.ImagesSeconds) &&
		slices.EqualFunc(a.Gates, b.Gates, func(x, y result.GateBill) bool {
			return x.Gate == y.Gate && x.Repeats == y.Repeats && spent(x.Spent, y.Spent)
		})
}

// summaries checks the figures of cells against their runs.
func (v *verifier) summaries() {
	for i := range v.doc.Benchmarks {
		b := &v.doc.Benchmarks[i]
		for j := range b.Cells {
			cell := &b.Cells[j]
			means := GeoMeans(cell)
			for id, value := range cell.Summary {
				if mean, ok := means[id]; !ok || !near(value, mean) {
					v.addf("%s of a cell of %s is %g in the summary, and its runs have %g", id, b.Addr, value, mean)
				}
			}
		}
	}
}

// evidence checks that valid runs have the evidence that a session records of each: the requests that our load generator
// sent, and the transport of KV cache that the file declares. A rehearsal, which its document names as simulated, may lack
// the former, and one in virtual time, in which nothing is transported, both.
func (v *verifier) evidence() {
	for i := range v.doc.Benchmarks {
		b := &v.doc.Benchmarks[i]
		for j := range b.Cells {
			cell := &b.Cells[j]
			connector := v.doc.Target(cell.Target).Connector
			for r := range sound(cell) {
				if v.doc.Simulated == "" && cell.Work[comparability.Tool] == comparability.OwnTool && r.Answers == nil && r.Requests == nil {
					v.addf("repeat %d of a cell of %s does not say what its requests were", r.Pair(), b.Addr)
				}
				if connector != "" && r.Transport == nil && !v.doc.Virtual() {
					v.addf("repeat %d of a cell of %s has no evidence of the transport of %s", r.Pair(), b.Addr, connector)
				}
			}
		}
	}
	for i := range v.doc.Requests {
		v.comparedRequests(&v.doc.Requests[i])
	}
}

// comparedRequests checks a comparison of requests against itself and the sums of its runs.
func (v *verifier) comparedRequests(c *result.ComparedRequests) {
	base, head := v.cells[key(c.Benchmark, c.Base)], v.cells[key(c.Benchmark, c.Head)]
	if base == nil || head == nil {
		v.addf("requests of %s are compared of cells that are not there", c.Benchmark)
		return
	}
	others := map[int]int{} // prompts of other lengths by repeat
	for _, p := range c.Pairs {
		others[p.Repeat] += p.OtherPrompts
	}
	for _, repeat := range slices.Sorted(maps.Keys(others)) {
		listed := slices.ContainsFunc(c.Differences, func(d result.RequestDifference) bool {
			return d.What == result.OtherPrompts && d.Repeat == repeat && !d.Shown
		})
		if others[repeat] > 0 != listed {
			v.addf("%d prompts of %s have another length in repeat %d, and its differences contradict that", others[repeat], c.Benchmark, repeat)
		}
		if others[repeat] == 0 && unequalPrompts(base, head, repeat) {
			v.addf("the sides of %s had other prompt tokens in repeat %d, and no prompt is said to be of another length", c.Benchmark, repeat)
		}
	}
}

// unequalPrompts reports whether the sums of prompt tokens of two sides differ in a repeat in which both answered all of
// the same requests. It allows a tenth for requests of which a server does not report the tokens, and prompts that
// repeat the server's own answers.
func unequalPrompts(base, head *result.Cell, repeat int) bool {
	sum := func(cell *result.Cell) (tokens, sent int, whole bool) {
		whole = !strings.Contains(cell.Work["dataset_options"], "real_answers")
		for r := range sound(cell) {
			if r.Pair() == repeat && r.Requests != nil {
				tokens, sent, whole = tokens+r.Requests.PromptTokens, sent+r.Sent, whole && r.Failed == 0
			}
		}
		return tokens, sent, whole && tokens > 0
	}
	b, sentB, wholeB := sum(base)
	h, sentH, wholeH := sum(head)
	return wholeB && wholeH && sentB == sentH && math.Abs(float64(b-h)) > 0.1*float64(max(b, h))
}

// evaluations checks the listed lost questions.
func (v *verifier) evaluations() {
	for i := range v.doc.Evaluations {
		e := &v.doc.Evaluations[i]
		base, head := v.cells[key(e.Benchmark, e.Base)], v.cells[key(e.Benchmark, e.Head)]
		if base == nil || head == nil {
			v.addf("an evaluation of %s is of cells that are not there", e.Benchmark)
			continue
		}
		want, _ := lost(base, head)
		same := slices.EqualFunc(e.Lost, want.Lost, func(a, b result.LostQuestion) bool {
			return a.ID == b.ID && near(a.BaseScore, b.BaseScore) && near(a.HeadScore, b.HeadScore)
		})
		if !same || e.Questions != want.Questions || e.Families != want.Families ||
			e.Repeats != want.Repeats || e.Worse != want.Worse || e.Better != want.Better {
			v.addf("%s lists other questions as lost than its runs give", e.Benchmark)
		}
	}
}

// gate adds a gate's decisions to the family.
func (v *verifier) gate(g *result.Gate) {
	for i := range g.Decisions {
		d := judged{g, &g.Decisions[i]}
		v.checkMetric(d)
		switch {
		case d.Kind == result.KindAssert:
			if g.BaselineKind != "" || len(d.Pairs) > 0 {
				v.addf("%s is a limit and a comparison", d.name())
			}
			if unfinished(v.doc) != "" {
				v.checkNotPassed(d)
			}
			if _, head := v.sides(d); transportExclusion(d.gate.OnUnprovenTransport, head).reason != "" {
				v.checkNotGreen(d)
			}
		case g.BaselineKind == result.BaselinePaired:
			v.paired(d)
		case g.BaselineKind == result.BaselineStored:
			v.stored(d)
		default: // of a file: described, not decided
			v.checkNotGreen(d)
		}
	}
	for i := range g.Decisions {
		if d := (judged{g, &g.Decisions[i]}); d.SuiteCells > 0 {
			v.suite(d)
		}
	}
	if g.SuiteMargin > 0 {
		v.checkSuites(g)
	}
}

// name returns the name of a decision for a message.
func (d judged) name() string {
	var at []string
	for _, value := range d.Values {
		at = append(at, value.Name+"="+value.Value)
	}
	return strings.Join(append([]string{d.gate.Addr, d.Metric}, at...), " ")
}

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

// sides returns the cells of a decision. An absent one is an empty cell.
func (v *verifier) sides(d judged) (base, head *result.Cell) {
	base, head = v.cells[key(d.gate.Benchmark, d.BaseCell)], v.cells[key(d.gate.Benchmark, d.Cell)]
	if base == nil || d.BaseCell == "" {
		base = &result.Cell{}
	}
	if head == nil {
		head = &result.Cell{}
	}
	return base, head
}

// paired adds a comparison of two cells.
func (v *verifier) paired(d judged) {
	base, head := v.sides(d)
	switch {
	case d.SuiteCells > 0:
		return // built from the other comparisons
	case d.Kind == result.KindSuccess:
		v.addSuccess(d, gates.Success{Base: outcomes(base.Current()), Head: outcomes(head.Current()), Sides: base.Target + " and " + head.Target})
		return
	}
	m, _ := v.doc.Metric(d.Metric)
	c := v.comparison(d, m)
	c.Test = v.tests.Named(d.gate.TestName)
	c.Known = v.known(d)
	c.Blocks = blocks(head.Current())
	if m := v.doc.Machines; m != nil {
		c.Between = gates.BetweenOf(c.Metric, m.Between)
	}
	if c.Between > 0 && c.Known != nil {
		v.addf("%s has a known spread of pairs, and an error between machines: a file has one of them", d.name())
	}
	measured(&c, v.doc, d.gate.Benchmark, base, head)
	otherQuestions := relate(&c, base, head)
	if d.Descriptive {
		c.Descriptive = d.Reason
	}
	if c.InvalidFrom = d.InvalidFrom; c.InvalidFrom > 0 {
		c.Missing = "" // the runs show what an earlier look lacked
		c.Invalid = cmp.Or(c.Invalid, "seen after the decision")
	}
	if d.BaseCell != "" {
		excluded := earliest(exclusion{c.Invalid, c.InvalidFrom}, v.likeness(d, base, head),
			unpairable(v.doc, d.gate.Benchmark, d.Head, base, head), transportExclusion(d.gate.OnUnprovenTransport, base, head),
			exclusion{reason: otherQuestions}, nothingToLose(v.doc.Simulated, c), calibratedElsewhere(v.doc, c),
			unsound(v.doc, d.gate.Benchmark, d.gate.Terms, m, base, head, len(c.Pairs)))
		c.Invalid, c.InvalidFrom = excluded.reason, excluded.from
	}
	v.checkPairs(d, shown(c))
	v.family.Comparisons, v.compared = append(v.family.Comparisons, c), append(v.compared, d)
}

// likeness excludes a comparison whose sides did not do the same work, and finds requests that were not compared.
func (v *verifier) likeness(d judged, base, head *result.Cell) exclusion {
	at := cellPair{d.gate.Addr, base, head}
	l, known := v.alike[at]
	if !known {
		l = likenessOf(v.doc, d.gate.Benchmark, d.gate.Differ, v.answered, base, head)
		v.alike[at] = l
	}
	if d.Verdict != result.Invalid && comparedRequests(v.doc, d.gate.Benchmark, base, head) < 0 && comparability.HaveRequests(base, head) {
		v.addf("%s compares sides whose requests were recorded and not compared", d.name())
	}
	return l.exclusion
}

// known returns the known spread that a decision used.
func (v *verifier) known(d judged) *gates.Known {
	if d.Known == nil {
		return nil
	}
	if v.doc.Variance == nil {
		v.addf("%s has a known spread, and the document no calibration", d.name())
		return nil
	}
	return &gates.Known{SD: d.Known.SD, DF: d.Known.DF, Within: v.doc.Variance.Within}
}

// comparison returns the common part of all comparisons of metrics.
func (v *verifier) comparison(d judged, m metric.Metric) gates.Comparison {
	c := gates.Comparison{
		ID: d.ID, Gate: d.gate.Addr, Metric: m, Claim: d.gate.Claim, Rule: d.gate.Rule, CanFail: d.gate.CanFail(),
	}
	switch d.Verdict {
	case result.Missing:
		c.Missing = d.Reason
	case result.Invalid:
		c.Invalid = d.Reason
	}
	return c
}

// stored adds a comparison with sessions of the history.
func (v *verifier) stored(d judged) {
	_, head := v.sides(d)
	switch {
	case d.Kind == result.KindSuccess:
		s := gates.Success{Head: outcomes(head.Current()), Unpaired: true, Sides: d.gate.Baseline + " and " + head.Target}
		for i, r := range d.Earlier {
			s.Base = append(s.Base, gates.Run{Repeat: i + 1, Sent: r.Sent, Failed: r.Failed})
		}
		v.addSuccess(d, s)
		return
	case len(d.Sessions) == 0:
		v.checkNotGreen(d)
		return
	}
	m, _ := v.doc.Metric(d.Metric)
	c := v.comparison(d, m)
	c.Test, c.Unpaired, c.Step = gates.Prediction, &gates.Samples{Base: d.Sessions}, printedStep(m, head)
	value, measured := GeoMeans(head)[m.ID]
	c.Invalid = cmp.Or(c.Invalid, unsoundHead(d.gate.Terms, m, head, measured))
	if measured {
		c.Invalid = cmp.Or(c.Invalid, transportExclusion(d.gate.OnUnprovenTransport, head).reason)
		c.Unpaired.Head, c.Unpaired.Launches = []float64{value}, launchValues(m, head)
	}
	v.family.Comparisons, v.compared = append(v.family.Comparisons, c), append(v.compared, d)
}

// addSuccess adds a comparison of success rates, which guards the metrics of its cells.
func (v *verifier) addSuccess(d judged, s gates.Success) {
	s.ID, s.Gate, s.Alpha, s.CanFail = d.ID, d.gate.Addr, d.gate.Alpha, d.gate.CanFail()
	for _, of := range v.compared {
		if of.gate == d.gate && of.Cell == d.Cell && of.BaseCell == d.BaseCell {
			s.Metrics = append(s.Metrics, of.ID)
		}
	}
	v.family.Success, v.success = append(v.family.Success, s), append(v.success, d)
}

// suite adds a comparison over several cells.
func (v *verifier) suite(d judged) {
	var cells []gates.Comparison
	var ids []string
	for i, of := range v.compared {
		if of.gate == d.gate && of.Metric == d.Metric && of.Head == d.Head && of.SuiteCells == 0 {
			cells, ids = append(cells, v.family.Comparisons[i]), append(ids, of.ID)
		}
	}
	c, err := gates.Suite(d.ID, v.doc.Alpha, d.gate.SuiteMargin, cells)
	if err != nil || len(cells) != d.SuiteCells {
		v.addf("%s is over %d cells, and the gate has %d of them", d.name(), d.SuiteCells, len(cells))
		return
	}
	v.suites = v.suites || d.gate.CanFail()
	v.checkPairs(d, shown(gates.Comparison{Pairs: c.Pairs}))
	v.family.Comparisons, v.compared = append(v.family.Comparisons, c), append(v.compared, d)
	for i := range v.family.Success {
		s := &v.family.Success[i]
		if slices.ContainsFunc(s.Metrics, func(id string) bool { return slices.Contains(ids, id) }) {
			s.Metrics = append(s.Metrics, d.ID)
		}
	}
}

// checkSuites reports a gate that states a margin over all cells and has no decision over them.
func (v *verifier) checkSuites(g *result.Gate) {
	type of struct{ metric, head string }
	cells, suites := map[of]int{}, map[of]bool{}
	for i := range g.Decisions {
		switch d := &g.Decisions[i]; {
		case d.SuiteCells > 0:
			suites[of{d.Metric, d.Head}] = true
		case d.Kind == result.KindMetric:
			cells[of{d.Metric, d.Head}]++
		}
	}
	for at, n := range cells {
		if n > 1 && !suites[at] {
			v.addf("%s states a suite_margin, and no decision is over its %d cells by %s", g.Addr, n, at.metric)
		}
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

// decisions judges the family and compares the decisions.
func (v *verifier) decisions() {
	j, taken, err := v.judge()
	if err != nil {
		v.addf("the gates cannot be judged again: %w", err)
		return
	}
	if !slices.Equal(taken, v.doc.LooksTaken) {
		v.addf("looks were taken after %v repeats, and the runs allow %v", v.doc.LooksTaken, taken)
	}
	for i, d := range j.Comparisons {
		v.checkDecision(v.compared[i], d)
	}
	for i, d := range j.Success {
		v.checkDecision(v.success[i], d)
	}
}

func (v *verifier) judge() (gates.Judgement, []int, error) {
	if len(v.doc.Looks) < 2 {
		j, err := gates.Judge(v.family)
		return j, nil, err
	}
	s := gates.Sequence{Family: v.family, Looks: v.doc.Looks, Ended: true, Resumable: resumable(v.doc)}
	for _, b := range v.doc.LooksBefore {
		s.Before = append(s.Before, b)
	}
	p, err := s.Judge()
	return p.Judgement, p.Taken, err
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
	withhold(&want, d.gate.Expect, withholders(v.doc.Gates))
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
	known, wantKnown := result.KnownSpread{}, result.KnownSpread{}
	if d.Known != nil {
		known = *d.Known
	}
	if want.Known != nil {
		wantKnown = *want.Known
	}
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
