package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// cellPair are two cells under the declarations of a gate.
type cellPair struct {
	gate       string
	base, head *result.Cell
}

// likeness is how alike two cells are.
type likeness struct {
	exclusion          // where they must not be compared
	unknown   string   // what is known of one side only
	notes     []string // differences that do not keep them from being compared
}

// likeness compares the runs of two cells. They must not be set against each other where the
// sides of a repeat, or the repeats of a side, did other work, were measured by another load
// generator or ran elsewhere, and the file does not declare that they differ in it.
func (c *collector) likeness(g plan.Gate, cmp plan.Comparison, base, head *result.Cell) likeness {
	at := cellPair{g.Addr, base, head}
	l, known := c.compared[at]
	if !known {
		declared := c.declared(g, cmp)
		sides, unknown := compareSides(base, head, declared)
		requests, notes := c.otherRequests(g.Benchmark, base, head, declared)
		l = likeness{earliest(sides, compareRepeats("base", base), compareRepeats("head", head), requests), unknown, notes}
		c.compared[at] = l
	}
	return l
}

// warnings of a comparison for what is not known of how alike the sides are, and for what differs.
func (l likeness) warnings() []string {
	if l.unknown == "" {
		return slices.Clone(l.notes)
	}
	return append([]string{"only one side has a known " + l.unknown + ": whether the other's is the same is unknown"}, l.notes...)
}

// declared is what the file lets the sides of a comparison differ in: the axis, what the
// baseline lists, what their workloads differ in by the file, and the model where they are
// servers of two.
func (c *collector) declared(g plan.Gate, cmp plan.Comparison) comparability.Declared {
	out := comparability.Declare(g.Axis).And(g.Differ...)
	_, base, okBase := c.plan.Cell(cmp.Base)
	_, head, okHead := c.plan.Cell(cmp.Head)
	if !okBase || !okHead {
		return out
	}
	for _, d := range comparability.Compare(comparability.OfWorkload(base.Workload), comparability.OfWorkload(head.Workload), nil) {
		out = out.And(d.Field)
	}
	if base.WorkKey != head.WorkKey { // prompts and arrivals are drawn by it
		out = out.And("schedule_hash")
	}
	if base.Target != head.Target {
		out = out.And(comparability.Engine, comparability.Transport)
		if c.plan.ModelOf(base.Target) != c.plan.ModelOf(head.Target) {
			out = out.And(comparability.Model, comparability.Tokenizer)
		}
	}
	return out
}

// compareSides compares the two runs of each repeat, and lists what is known of only one of them.
func compareSides(base, head *result.Cell, declared comparability.Declared) (first exclusion, unknown string) {
	of := map[pass]result.Run{}
	for r := range sound(base) {
		of[passOf(r)] = r
	}
	var labels []string
	for r := range sound(head) {
		b, both := of[passOf(r)]
		if !both {
			continue
		}
		found := comparability.Compare(comparability.OfRun(base, b), comparability.OfRun(head, r), declared)
		if invalid := found.Invalid(); len(invalid) > 0 {
			first = earliest(first, exclusion{fmt.Sprintf("the sides did not do the same work in repeat %d: %s", r.Pair(),
				invalid.Text("base", "head")), r.Pair()})
		}
		for _, label := range found.Unreported().Labels() {
			if !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	return first, strings.Join(labels, ", ")
}

// compareRepeats compares the repeats of a side with its first one, pass by pass.
func compareRepeats(side string, cell *result.Cell) (first exclusion) {
	type one struct {
		facts  comparability.Facts
		repeat int
	}
	of := map[int]one{} // by pass
	for r := range sound(cell) {
		facts := comparability.OfRun(cell, r)
		before, seen := of[r.Pass]
		if !seen {
			of[r.Pass] = one{facts, r.Pair()}
			continue
		}
		found := comparability.Compare(before.facts, facts, nil).Invalid().Within()
		if len(found) > 0 {
			names := [2]string{fmt.Sprintf("repeat %d", before.repeat), fmt.Sprintf("repeat %d", r.Pair())}
			first = earliest(first, exclusion{fmt.Sprintf("the repeats of the %s did not do the same work: %s", side,
				found.Text(names[0], names[1])), r.Pair()})
		}
	}
	return first
}

// differsFromFile is set when a cell and that of a baseline file are not alike. The file may be
// another load generator's, and of other draws.
func (c *collector) differsFromFile(g plan.Gate, doc *result.Document, base, head *result.Cell) string {
	declared := comparability.Declare(comparability.Tool, comparability.Seed).And(g.Differ...)
	found := comparability.Compare(comparability.OfCell(doc, base), comparability.OfCell(c.doc, head), declared).Invalid()
	if len(found) == 0 {
		return ""
	}
	return "the baseline file is of other work: " + found.Text("file", "head")
}
