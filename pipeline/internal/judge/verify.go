package judge

import (
	"cmp"
	"errors"
	"fmt"
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
	v.withholders = withholders(doc.Gates)
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
	// withholders are the gates of the document that withhold improvements, for each of thousands of decisions.
	withholders []string
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
	if m := v.doc.Machines; m != nil {
		c.Between = gates.BetweenOf(c.Metric, m.Between)
	}
	if c.Between > 0 && c.Known != nil {
		v.addf("%s has a known spread of pairs, and an error between machines: a file has one of them", d.name())
	}
	other := exclusion{}
	if d.BaseCell != "" {
		other = v.likeness(d, base, head)
	}
	byRuns, byValues := twoCells{v.doc, d.gate, d.Head, base, head}.evidence(&c, other)
	if d.Descriptive {
		c.Descriptive = d.Reason
	}
	if c.InvalidFrom = d.InvalidFrom; c.InvalidFrom > 0 {
		c.Missing = "" // the runs show what an earlier look lacked
		c.Invalid = cmp.Or(c.Invalid, "seen after the decision")
	}
	if d.BaseCell != "" {
		excluded := earliest(exclusion{c.Invalid, c.InvalidFrom}, byRuns, byValues)
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
	c.Test, c.Unpaired = gates.Prediction, &gates.Samples{Base: d.Sessions}
	setDigits(&c, head)
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
