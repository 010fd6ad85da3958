// Package judge judges the measured runs of a result document by the gates: it pairs the runs of two sides by repeat,
// hands the pairs to package gates and writes the decisions back into the document.
//
// The same code judges a run that has just ended, a run directory ([Rejudge]) and results of other tools ([Imported]).
// It measures nothing, and all arithmetic is in package gates.
package judge

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Options holds the options of a judgement.
type Options struct {
	// Assert evaluates the condition of a gate with a limit, as EvalAssert of [config.Late] does. It may be nil if no
	// gate has one.
	Assert func(gate string, cell []result.AxisValue, in config.AssertInput) (limits []config.Limit, message string, err error)
	// Baseline reads the document of a baseline "file". It may be nil if no gate has one.
	Baseline func(path string) (*result.Document, error)
	// Descriptive, if not empty, is the reason why the session's comparisons are described and not decided.
	Descriptive string
	// History provides stored baselines; nil means an empty history.
	History *history.History
}

// OptionsOf returns the options for judging a plan. past provides stored baselines, nil for none.
func OptionsOf(p *plan.Plan, past *history.History) Options {
	out := Options{Baseline: baselines(p), History: past}
	if p.Config != nil && p.Config.Late != nil {
		out.Assert = p.Config.Late.EvalAssert
	}
	return out
}

// Judge sets the gates of the document, its verdict and its exit code. It returns an error if judging itself failed,
// not if a gate failed.
func Judge(p *plan.Plan, doc *result.Document, opt Options) error {
	c := newCollector(p, doc, opt)
	if err := c.collect(); err != nil {
		return err
	}
	if err := c.decide(); err != nil {
		return err
	}
	c.boundAll()
	c.suspendAll()
	withholdAll(doc.Gates)
	c.warnOfTransport()
	c.warnOfCycle()
	c.warnOfOrder()
	c.warnOfSpread()
	c.nameUnwatched()
	for i := range doc.Gates {
		doc.Gates[i].Verdict = worst(&doc.Gates[i])
	}
	doc.Verdict = result.Overall(doc.Gates)
	doc.ExitCode = result.Exit(doc)
	doc.Bill = result.NewBill(doc)
	return nil
}

// collect adds every gate to the document and its comparisons to the family.
func (c *collector) collect() error {
	for _, g := range c.plan.Gates {
		c.doc.Gates = append(c.doc.Gates, c.newGate(g))
		gate := len(c.doc.Gates) - 1
		for _, cmp := range g.Comparisons {
			if err := c.addComparison(gate, g, cmp); err != nil {
				return fmt.Errorf("judging %s: %w", g.Addr, err)
			}
		}
		if err := c.suites(gate, g); err != nil {
			return fmt.Errorf("judging %s: %w", g.Addr, err)
		}
	}
	return nil
}

// collector collects the family and records which decision of the document each comparison belongs to.
type collector struct {
	plan           *plan.Plan
	doc            *result.Document
	opt            Options
	cells          map[string]*result.Cell // by benchmark and hash
	baselines      map[string]*result.Document
	compared       map[cellPair]likeness
	invalidSuccess map[position]string // why comparisons of success rates are invalid
	shortages      map[position]string // why too few pairs allow no pass

	family      gates.Family
	comparisons []position
	success     []position
}

// position identifies a decision in the document: the index of its gate and its index in the gate.
type position struct{ gate, decision int }

func newCollector(p *plan.Plan, doc *result.Document, opt Options) *collector {
	doc.Alpha, doc.FamilySize, doc.Gates = p.Alpha, p.FamilySize, nil
	doc.Evaluations, doc.Measures = nil, p.Described()
	doc.Looks, doc.LooksTaken, doc.LooksBefore, doc.Attempt = nil, nil, nil, p.Attempt
	doc.Variance = nil
	if v := p.Variance; v != nil {
		doc.Variance = &result.Variance{Calibration: v.Calibration, Time: v.Time, Machine: v.Machine, Within: v.Within}
	}
	return &collector{
		plan: p, doc: doc, opt: opt, cells: index(doc), baselines: map[string]*result.Document{}, compared: map[cellPair]likeness{},
		invalidSuccess: map[position]string{}, shortages: map[position]string{},
		family: gates.Family{Alpha: p.Alpha, PassAlpha: p.PassAlpha(), Moderate: true, Seed: seed(p)},
	}
}

// seed returns the seed of the random sign flips. It comes from the plan, so that judging again draws the same.
func seed(p *plan.Plan) uint64 {
	if len(p.Benchmarks) == 0 {
		return 0
	}
	return p.Benchmarks[0].Seed
}

func key(benchmark, hash string) string { return benchmark + " " + hash }

func index(doc *result.Document) map[string]*result.Cell {
	cells := map[string]*result.Cell{}
	for i := range doc.Benchmarks {
		b := &doc.Benchmarks[i]
		for j := range b.Cells {
			cells[key(b.Addr, b.Cells[j].Hash)] = &b.Cells[j]
		}
	}
	return cells
}

func (c *collector) newGate(g plan.Gate) result.Gate {
	g.OnInconclusive = c.plan.OnInconclusive(g)
	return result.Gate{
		Addr: g.Addr, Description: g.Description, Benchmark: g.Benchmark, Baseline: g.Baseline, BaselineKind: g.BaselineKind,
		Terms: g.Terms, Actions: g.Actions, Differ: g.Differ, OnUnprovenTransport: stated(g.OnUnprovenTransport), Range: g.Range,
		Decisions: []result.Decision{},
	}
}

// stated returns an action on unproven transport, "" for the default.
func stated(a result.Action) result.Action {
	if a == result.Warn {
		return ""
	}
	return a
}

// addComparison adds one comparison of a gate to the family, or decides it where no test is needed.
func (c *collector) addComparison(gate int, g plan.Gate, cmp plan.Comparison) error {
	switch {
	case g.Assert:
		return c.limit(gate, g, cmp)
	case g.BaselineKind == result.BaselinePaired:
		return c.paired(gate, g, cmp)
	case g.BaselineKind == result.BaselineFile:
		return c.described(gate, g, cmp)
	default:
		return c.stored(gate, g, cmp)
	}
}

// head returns the head cell of a comparison.
func (c *collector) head(g plan.Gate, cmp plan.Comparison) (*result.Cell, error) {
	cell := c.cells[key(g.Benchmark, cmp.Head)]
	if cell == nil {
		return nil, fmt.Errorf("cell %s is in the plan but not in the document", cmp.Head)
	}
	return cell, nil
}

// add appends a decision to a gate and returns its position.
func (c *collector) add(gate int, d result.Decision) position {
	g := &c.doc.Gates[gate]
	g.Decisions = append(g.Decisions, d)
	return position{gate, len(g.Decisions) - 1}
}

func (c *collector) at(p position) *result.Decision {
	return &c.doc.Gates[p.gate].Decisions[p.decision]
}

// decide judges the whole family at once and writes the decisions back.
func (c *collector) decide() error {
	if len(c.family.Comparisons)+len(c.family.Success) == 0 {
		return nil
	}
	j, err := c.judgement()
	if err != nil {
		return fmt.Errorf("judging the family: %w", err)
	}
	c.doc.FamilySize = 0
	for _, group := range j.Groups {
		c.doc.FamilySize += len(group.IDs)
	}
	for i, d := range j.Comparisons {
		at := c.at(c.comparisons[i])
		fill(at, d, c.plan.Alpha, c.doc.Gates[c.comparisons[i].gate].Expect)
		if d.Outcome != nil && c.plan.HasSuites() { // suites take part of the gates' shares
			at.HolmLevel = d.Level
		}
		applyShortage(at, c.shortages[c.comparisons[i]])
	}
	for i, d := range j.Success {
		at := c.at(c.success[i])
		fill(at, d, c.plan.Alpha, "")
		if why, invalidSuccess := c.invalidSuccess[c.success[i]]; invalidSuccess {
			at.Verdict, at.Reason = result.Invalid, why
		}
		applyShortage(at, c.shortages[c.success[i]])
	}
	return nil
}

// worst returns the verdict of a gate: missing without a comparison, else the worst of its decisions. A gate that
// expects an improvement reports one if a decision improved and the rest, such as success rates, pass.
func worst(g *result.Gate) result.Verdict {
	verdict, improved := result.Missing, false
	for i, d := range g.Decisions {
		if i == 0 {
			verdict = d.Verdict
		}
		verdict = result.Worst(verdict, d.Verdict)
		improved = improved || d.Verdict == result.Improvement
	}
	if g.Expect == gates.ExpectImprovement && improved && verdict == result.Pass {
		return result.Improvement
	}
	return verdict
}
