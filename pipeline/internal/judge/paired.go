package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/probe"
)

// paired adds the metrics of one pair of cells, and the comparison of their success rates, to the family.
func (c *collector) paired(gate int, g plan.Gate, cmp plan.Comparison) error {
	head, err := c.head(g, cmp)
	if err != nil {
		return err
	}
	base := c.cells[key(g.Benchmark, cmp.Base)]
	if base == nil {
		base = &result.Cell{}
	}
	success := g.Success(cmp.Head)
	success.Base, success.Head, success.Sides = outcomes(base.Current()), outcomes(head.Current()), base.Target+" and "+head.Target
	for _, id := range g.Of(cmp) {
		m, _ := c.doc.Metric(id)
		comparison := c.plan.Comparison(g, cmp.Head, m)
		comparison.Planned, comparison.Descriptive = c.repeats(g.Benchmark), c.descriptive(base.Target, head.Target)
		cells := twoCells{c.doc, &c.doc.Gates[gate], cmp.HeadValue, base, head}
		byRuns, byValues := cells.evidence(&comparison, c.likeness(g, base, head).exclusion)
		c.loseQuestions(comparison, g.Benchmark, base, head)
		switch {
		case cmp.Base == "":
			byRuns = exclusion{}
			comparison.Missing = fmt.Sprintf("the matrix has no cell with %s = %s to compare with", g.Axis, g.BaseValue)
		case byRuns.reason == "" && len(comparison.Pairs) == 0:
			comparison.Missing = noPairs(base, head)
		}
		out := earliest(byRuns, byValues)
		comparison.Invalid, comparison.InvalidFrom = out.reason, out.from
		c.family.Comparisons = append(c.family.Comparisons, comparison)
		d := c.newDecision(g, cmp, id)
		d.Pairs, d.Descriptive, d.InvalidFrom = shown(comparison), comparison.Descriptive != "", out.from
		d.Warnings = append(c.likeness(g, base, head).warnings(), otherWork(id, base, head)...)
		d.Warnings = append(d.Warnings, leftOut(m, base, head)...)
		d.Warnings = append(d.Warnings, filled(c.doc, m, base, head)...)
		if comparison.Known != nil {
			d.Warnings = append(d.Warnings, c.otherVersion(base, id)...)
		}
		at := c.add(gate, d)
		c.comparisons = append(c.comparisons, at)
		c.shortages[at] = shortage(c.doc, g.Benchmark, m, base, head)
		success.Metrics = append(success.Metrics, comparison.ID)
	}
	if cmp.Base == "" || len(success.Base)+len(success.Head) == 0 {
		return nil // nothing ran, and the metrics are missing; or only metrics are compared
	}
	c.family.Success = append(c.family.Success, success)
	d := c.newDecision(g, cmp, "success.rate")
	d.ID = success.ID
	d.Kind = result.KindSuccess
	d.Warnings = sentAgain(base, head)
	at := c.add(gate, d)
	c.success = append(c.success, at)
	if why := c.likeness(g, base, head).reason; why != "" {
		c.invalidSuccess[at] = why
	}
	c.shortages[at] = withoutPartner(c.doc, g.Benchmark, base, head)
	return nil
}

// calibratedElsewhere excludes a comparison whose known spread was calibrated on another machine than its pairs.
func calibratedElsewhere(doc *result.Document, comparison gates.Comparison) exclusion {
	if comparison.Known == nil || len(doc.Machine) == 0 {
		return exclusion{}
	}
	hard, _ := probe.Differences(doc.Variance.Machine, doc.Machine)
	if len(hard) == 0 {
		return exclusion{}
	}
	return exclusion{reason: fmt.Sprintf(
		"the calibration %s is of another machine (%s differs), so that its spread says nothing of these pairs; run `pipeline calibrate` here",
		doc.Variance.Calibration, strings.Join(hard, ", "))}
}

// otherVersion warns that the spread was calibrated with another version of the engine than the base has. The spread
// stays in use, since the spread that it allows for today's pairs bounds its influence.
func (c *collector) otherVersion(base *result.Cell, id string) []string {
	then, now := c.plan.CalibratedVersion(base.Hash, id), c.doc.Target(base.Target).Version()
	if then == "" || now == "" || then == now {
		return nil
	}
	return []string{fmt.Sprintf(
		"the spread was calibrated with version %s of the engine, and the base has %s: run `pipeline calibrate` again", then, now)}
}

// shown returns the pairs of a comparison in the form of the document.
func shown(c gates.Comparison) (out []result.Pair) {
	for _, p := range c.Pairs {
		out = append(out, result.Pair{Repeat: p.Repeat, Base: p.Base, Head: p.Head, Nodes: c.Blocks[p.Repeat]})
	}
	return out
}

// twoCells is a pair of cells that a gate compares. It holds only what a document does, so that a judgement and [Verify]
// have the same evidence.
type twoCells struct {
	doc        *result.Document
	gate       *result.Gate
	headValue  string
	base, head *result.Cell
}

// evidence sets the values of a comparison. It returns why the runs, and why the values, must not decide it; other is
// why the cells are not alike.
func (t twoCells) evidence(c *gates.Comparison, other exclusion) (byRuns, byValues exclusion) {
	c.Blocks = blocks(t.head.Current())
	measured(c, t.doc, t.gate.Benchmark, t.base, t.head)
	otherQuestions := relate(c, t.base, t.head)
	byRuns = earliest(other, t.otherLength(c.Metric), unpairable(t.doc, t.gate.Benchmark, t.headValue, t.base, t.head),
		transportExclusion(t.gate.OnUnprovenTransport, t.base, t.head),
		unsound(t.doc, t.gate.Benchmark, t.gate.Terms, c.Metric, t.base, t.head, len(c.Pairs)))
	byValues = earliest(exclusion{reason: otherQuestions}, nothingToLose(t.doc.Simulated, *c), calibratedElsewhere(t.doc, *c))
	return byRuns, byValues
}

// unsound excludes a comparison whose runs must not decide it. pairs is the number of its pairs.
func unsound(doc *result.Document, benchmark string, t gates.Terms, m metric.Metric, base, head *result.Cell, pairs int) exclusion {
	d := earliest(exclusion{reason: tooFewRequests(m, base, head)}, withoutAnswers(doc, benchmark, t.Margin, m, base, head),
		untimed(m, base, head))
	if pairs > 0 && m.Quantile > 0 && !t.AllowOverload {
		d = earliest(d, overloaded(base, head))
	}
	return earliest(d, excludeVoids(base, head, pairs))
}

// excludeVoids excludes a comparison that lost pairs to causes outside the system under test, if measuring again did
// not restore them.
func excludeVoids(base, head *result.Cell, pairs int) exclusion {
	measured := map[int]bool{}
	var first result.Run
	from := 0
	for _, cell := range []*result.Cell{base, head} {
		for _, r := range cell.Current() {
			measured[r.Pair()] = true
			if r.Status == result.RunVoid && (from == 0 || r.Pair() < from) {
				first, from = r, r.Pair()
			}
		}
	}
	if from == 0 {
		return exclusion{}
	}
	return exclusion{fmt.Sprintf("%d of %d pairs are left after void runs (repeat %d: %s)", pairs, len(measured), first.Pair(),
		first.Reason), from}
}

func noPairs(base, head *result.Cell) string {
	switch b, h := valid(base), valid(head); {
	case b == 0 && h == 0:
		return "neither side has a valid run"
	case h == 0:
		return "the head has no valid run"
	case b == 0:
		return "the base has no valid run"
	default:
		return "no repeat has a value of both sides"
	}
}

func overloaded(base, head *result.Cell) exclusion {
	b, bFrom := overloads(base)
	h, hFrom := overloads(head)
	if b+h == 0 {
		return exclusion{}
	}
	from := max(bFrom, hFrom)
	if b > 0 && h > 0 {
		from = min(bFrom, hFrom)
	}
	return exclusion{fmt.Sprintf("the backlog grew in %d of %d runs of the base and %d of %d of the head: percentiles then measure the "+
		"length of the run; lower the rate or set allow_overload",
		b, valid(base), h, valid(head)), from}
}

// overloads counts the runs whose backlog grew; from is the first repeat with one.
func overloads(cell *result.Cell) (n, from int) {
	for r := range sound(cell) {
		if r.Overloaded {
			if n++; n == 1 || r.Pair() < from {
				from = r.Pair()
			}
		}
	}
	return n, from
}

// descriptive returns the reason why a comparison is described and not decided, "" if it is decided. Either there are
// no repeated launches, or the pipeline did not launch the servers.
func (c *collector) descriptive(targets ...string) string {
	if c.opt.Descriptive != "" {
		return c.opt.Descriptive
	}
	if slices.ContainsFunc(targets, c.plan.Attached) {
		return "a server given by its url is not launched anew for each repeat, so the spread between launches is unknown"
	}
	return ""
}

func (c *collector) repeats(benchmark string) int {
	for _, b := range c.plan.Benchmarks {
		if b.Addr == benchmark {
			return b.RepeatMax
		}
	}
	return 0
}
