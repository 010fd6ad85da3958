package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// cellPair identifies two cells that a gate compares.
type cellPair struct {
	gate       string
	base, head *result.Cell
}

// likeness holds how two cells differ in what they measured.
type likeness struct {
	exclusion          // why they must not be compared
	unknown   string   // properties known of one side only
	notes     []string // differences that still allow a comparison
}

// likeness compares the runs of two cells once for each gate.
func (c *collector) likeness(g plan.Gate, base, head *result.Cell) likeness {
	at := cellPair{g.Addr, base, head}
	l, known := c.compared[at]
	if !known {
		l = likenessOf(c.doc, g.Benchmark, g.Differ, slices.ContainsFunc(c.plan.Gates, plan.Gate.OfQuality), base, head)
		c.compared[at] = l
	}
	return l
}

// likenessOf compares the runs of two cells. It excludes them if the sides of a repeat, or the repeats of a side, did
// different work, used different load generators or ran elsewhere, unless the file declares that difference. answered
// reports whether a gate compares what is answered. It uses only the document, so that [Verify] gets the same result.
func likenessOf(doc *result.Document, benchmark string, differ []string, answered bool, base, head *result.Cell) likeness {
	declared := declaredOf(doc, differ, base, head)
	sides, unknown := compareSides(base, head, declared)
	settings, unreported := compareSettings(base, head, declared)
	requests, notes := otherRequests(doc, benchmark, base, head, declared, answered)
	return likeness{
		earliest(sides, settings, compareRepeats("base", base), compareRepeats("head", head), requests),
		strings.Join(append(unknown, unreported...), ", "), notes,
	}
}

// warnings returns warnings about properties known of one side only, and about differences.
func (l likeness) warnings() []string {
	if l.unknown == "" {
		return slices.Clone(l.notes)
	}
	return append([]string{"only one side has a known " + l.unknown + ": whether the other's is the same is unknown"}, l.notes...)
}

// declaredOf returns the properties in which the file lets the sides of a comparison differ. They are the axis, the list
// of the baseline, the differences between the workloads, and the model if the sides are servers of two models.
func declaredOf(doc *result.Document, differ []string, base, head *result.Cell) comparability.Declared {
	out := comparability.Declare(differ...).And(axesOf(base, head)...)
	for _, d := range comparability.Compare(base.Work, head.Work, nil) {
		out = out.And(d.Field)
	}
	if base.Target != head.Target {
		out = out.And(comparability.Engine, comparability.Transport)
		if doc.Target(base.Target).Model != doc.Target(head.Target).Model {
			out = out.And(comparability.Model, comparability.Tokenizer)
		}
	}
	return out
}

// axesOf returns the names of the coordinates in which two cells differ.
func axesOf(base, head *result.Cell) []string {
	var out []string
	for _, v := range head.Values {
		if !slices.Contains(base.Values, v) {
			out = append(out, v.Name)
		}
	}
	return out
}

// compareSides compares the two runs of each repeat. It returns the first exclusion and the properties known of one
// side only.
func compareSides(base, head *result.Cell, declared comparability.Declared) (first exclusion, unknown []string) {
	of := map[pass]result.Run{}
	for r := range sound(base) {
		of[passOf(r)] = r
	}
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
			if !slices.Contains(unknown, label) {
				unknown = append(unknown, label)
			}
		}
	}
	return first, unknown
}

// compareSettings excludes sides that differ in a setting whose meaning is not known. It also returns those that only one
// side has.
func compareSettings(base, head *result.Cell, declared comparability.Declared) (first exclusion, unknown []string) {
	found := comparability.Settings(base, head, declared)
	if invalid := found.Invalid(); len(invalid) > 0 {
		first = exclusion{fmt.Sprintf("an unknown setting differs, so that the work may differ: %s; declare it by differ = [%q]",
			invalid.Text("base", "head"), invalid[0].Field), 1}
	}
	return first, found.Unreported().Labels()
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

// differsFromFile returns why a cell and the same cell of a baseline file must not be compared, "" if they may. The
// file may come from another load generator and another seed, and may not state what its session was asked to do: it is
// described and not decided.
func (c *collector) differsFromFile(g plan.Gate, doc *result.Document, base, head *result.Cell) string {
	declared := comparability.Declare(comparability.Tool, comparability.Seed).And(g.Differ...)
	found := comparability.CompareCells(doc, c.doc, base, head, declared).Invalid().Known()
	if len(found) == 0 {
		return ""
	}
	return "the baseline file is of other work: " + found.Text("file", "head")
}
