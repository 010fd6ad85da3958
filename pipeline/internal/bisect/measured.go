package bisect

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Ends is the comparison of the bad end with the good one.
type Ends struct {
	// Verdict of the gates with paired baselines, and the reason if it is inconclusive.
	Verdict result.Verdict `json:"verdict"`
	Reason  string         `json:"reason,omitempty"`
	// Improved means that some metric of the bad end is better.
	Improved bool `json:"improved,omitempty"`
	// Followed is the clearest regression, nil without one. D holds the differences of its pairs.
	Followed *Followed `json:"followed,omitempty"`
	D        []float64 `json:"d,omitempty"`
	Launches int       `json:"launches"`
	Run      string    `json:"run"`
}

// Followed is the comparison that a search follows.
type Followed struct {
	Gate   string             `json:"gate"`
	Metric string             `json:"metric"`
	Values []result.AxisValue `json:"values"`
	// Measure describes a metric declared in the file; nil for a registered one.
	Measure *result.Measure `json:"measure,omitempty"`
}

// metric returns the followed metric.
func (f *Followed) metric() metric.Metric {
	var described result.Measures
	if f.Measure != nil {
		described = result.Measures{*f.Measure}
	}
	m, _ := described.Declared().Lookup(f.Metric)
	return m
}

// endsOf reads the result of a session of both ends.
func endsOf(doc *result.Document) (*Ends, error) {
	e := &Ends{Launches: len(doc.Launches)}
	var best *result.Decision
	for i := range doc.Gates {
		g := &doc.Gates[i]
		if g.BaselineKind != result.BaselinePaired {
			continue // it compares with another session, not with the good end
		}
		for k := range g.Decisions {
			d := &g.Decisions[k]
			e.Verdict = result.Worst(cmp.Or(e.Verdict, d.Verdict), d.Verdict)
			e.Improved = e.Improved || d.Verdict == result.Improvement
			if d.Verdict != result.Regression {
				continue
			}
			e.Reason = d.Reason
			if d.Kind != result.KindMetric || d.SuiteCells > 0 || d.P == nil {
				continue
			}
			if best == nil || *d.P < *best.P {
				best, e.Followed = d, &Followed{Gate: g.Addr, Metric: d.Metric, Values: d.Values}
			}
		}
	}
	if best == nil {
		return e, nil
	}
	e.Reason = best.Reason
	var err error
	if i := slices.IndexFunc(doc.Measures, func(m result.Measure) bool { return m.Metric == best.Metric }); i >= 0 {
		e.Followed.Measure = &doc.Measures[i]
	}
	e.D, err = differences(doc, best)
	return e, err
}

func differences(doc *result.Document, d *result.Decision) ([]float64, error) {
	m, ok := doc.Metric(d.Metric)
	if !ok {
		return nil, fmt.Errorf("unknown metric %q", d.Metric)
	}
	pairs := make([]gates.Pair, len(d.Pairs))
	for i, p := range d.Pairs {
		pairs[i] = gates.Pair{Repeat: p.Repeat, Base: p.Base, Head: p.Head}
	}
	return gates.Differences(m, pairs)
}

// rounding is the smallest standard deviation of a difference. It allows for the rounding of values.
const rounding = 1e-9

// errCandidate means that the candidate does not serve, although the good end does.
var errCandidate = errors.New("the candidate does not serve")

// pairOf returns the difference of the single pair in a probe's session.
func pairOf(doc *result.Document, f Followed) (float64, error) {
	for _, g := range doc.Gates {
		for i := range g.Decisions {
			d := &g.Decisions[i]
			if d.Metric != f.Metric || d.SuiteCells > 0 {
				continue
			}
			all, err := differences(doc, d)
			if err != nil {
				return 0, err
			}
			if len(all) > 0 {
				return all[0], nil
			}
			with := func(s result.RunStatus) func(result.Run) bool {
				return func(r result.Run) bool { return r.Status == s }
			}
			head := runsOf(doc, d.Cell)
			if slices.ContainsFunc(runsOf(doc, d.BaseCell), with(result.RunOK)) && slices.ContainsFunc(head, with(result.RunFailed)) {
				return 0, fmt.Errorf("%w: %s", errCandidate, failure(head, d.Reason))
			}
			return 0, fmt.Errorf("the pair could not be measured: %s", d.Reason)
		}
	}
	return 0, fmt.Errorf("the session is %s: %s", doc.Status, doc.StatusReason)
}

// runsOf returns the runs of a cell.
func runsOf(doc *result.Document, cell string) []result.Run {
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			if c.Hash == cell {
				return c.Runs
			}
		}
	}
	return nil
}

// failure returns why none of several runs is valid.
func failure(runs []result.Run, unless string) string {
	for _, r := range runs {
		if r.Reason != "" {
			return r.Reason
		}
	}
	return unless
}

// CheckPlan returns an error for a file whose gates do not compare the two sides.
func CheckPlan(p *plan.Plan) error {
	if !slices.ContainsFunc(p.Gates, func(g plan.Gate) bool { return g.BaselineKind == result.BaselinePaired }) {
		return fmt.Errorf("%s has no gate with a paired baseline, so nothing compares the two sides", p.File)
	}
	return nil
}

// ProbePlan reduces a plan to the k-th pair of the followed comparison: its two cells in one repeat. Pairs
// alternate their order, and each has its own content.
func ProbePlan(p *plan.Plan, f Followed, k int) (*plan.Plan, error) {
	out := *p
	out.Gates, out.Benchmarks, out.Warnings = nil, nil, nil
	for _, g := range p.Gates {
		i := slices.IndexFunc(g.Comparisons, func(c plan.Comparison) bool { return slices.Equal(c.Values, f.Values) })
		if g.Addr != f.Gate || i < 0 {
			continue
		}
		pair := g.Comparisons[i]
		g.Metrics, g.Comparisons, g.SuiteMargin, g.Power = []string{f.Metric}, []plan.Comparison{pair}, 0, nil
		out.Gates = []plan.Gate{g}
		for _, b := range p.Benchmarks {
			b.Cells = slices.DeleteFunc(slices.Clone(b.Cells), func(c plan.Cell) bool { return c.Hash != pair.Base && c.Hash != pair.Head })
			b.RepeatMin, b.RepeatMax = 1, k
			if b.Addr == g.Benchmark {
				out.Benchmarks = []plan.Benchmark{b}
			}
		}
	}
	if len(out.Gates) == 0 || len(out.Benchmarks) == 0 {
		return nil, fmt.Errorf("the file has no %s of %s any more with this candidate", f.Metric, f.Gate)
	}
	out.Reschedule()
	only := out.Repeats[k-1]
	only.Index, only.Lane = 1, 0
	for i, l := range only.Launches {
		only.Launches[i].ID = fmt.Sprintf("r1-pair%d-%s", k, l.Target)
	}
	out.Benchmarks[0].RepeatMax = 1
	out.Repeats, out.Looks = []plan.Repeat{only}, nil
	out.FamilySize = 1
	out.Seal()
	return &out, nil
}

// unitOf returns the unit of a change: percent for metrics compared by ratio.
func unitOf(m metric.Metric) string {
	if m.Scale == metric.Log {
		return "%"
	}
	return string(m.Unit)
}

// change converts a difference, positive if worse, to a change of the value in unitOf the metric.
func change(m metric.Metric, d float64) float64 {
	if m.Direction == metric.HigherIsBetter {
		d = -d
	}
	if m.Scale == metric.Log {
		return 100 * math.Expm1(d)
	}
	return d
}
