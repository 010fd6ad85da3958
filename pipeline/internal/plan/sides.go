package plan

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/term"
)

// sides lists, for every pair of targets that a gate compares, how they differ. Identical sides are an error if
// the options refuse them, because nothing would be compared. If one of several values repeats the base's, it
// is a control, and the plan only warns of it.
func (b *builder) sides(p *Plan) []result.Sides {
	var out []result.Sides
	refused := map[string]bool{}
	for _, g := range p.Gates {
		found := b.sidesOf(p, g)
		for _, s := range found {
			out = withSides(out, s)
			if key := g.Baseline + " " + g.Benchmark; s.Identical && b.opt.RefuseIdentical && !refused[key] && !control(found, s) {
				refused[key] = true
				b.identical(g, s)
			}
		}
	}
	return out
}

// sidesOf lists how the sides of a gate differ, each pair of sides once.
func (b *builder) sidesOf(p *Plan, g Gate) (found []result.Sides) {
	if !g.paired() {
		return nil
	}
	for _, c := range g.Comparisons {
		_, base, okBase := p.Cell(c.Base)
		_, head, okHead := p.Cell(c.Head)
		if okBase && okHead && !base.handedOver() {
			found = withSides(found, b.pairOfSides(g, c, base, head))
		}
	}
	return found
}

// withSides appends s to a list that lacks it.
func withSides(list []result.Sides, s result.Sides) []result.Sides {
	if slices.ContainsFunc(list, func(o result.Sides) bool { return reflect.DeepEqual(o, s) }) {
		return list
	}
	return append(list, s)
}

// control reports whether sides are identical for one whole value of the axis, beside another value that
// differs.
func control(all []result.Sides, s result.Sides) bool {
	others := false
	for _, o := range all {
		if o.Head == s.Head && !o.Identical {
			return false
		}
		others = others || o.Head != s.Head && !o.Identical
	}
	return others
}

// pairOfSides returns how one pair of cells differs.
func (b *builder) pairOfSides(g Gate, c Comparison, base, head Cell) result.Sides {
	s := result.Sides{Baseline: g.Baseline, Axis: g.Axis, Base: c.BaseValue, Head: c.HeadValue, BaseTarget: base.Target,
		HeadTarget: head.Target}
	was, lateBase := b.traits(base.Target)
	is, lateHead := b.traits(head.Target)
	if x, y := b.madeOf(base.Target), b.madeOf(head.Target); x != y { // their values have no counterparts
		was, is = was.summary(x), is.summary(y)
	}
	for _, name := range traitNames(was, is) {
		if x, y := was[name], is[name]; x != y {
			s.Differences = append(s.Differences, result.SideDifference{What: name, Base: x.text, Head: y.text})
		}
	}
	for _, d := range comparability.Compare(comparability.OfWorkload(base.Workload), comparability.OfWorkload(head.Workload), nil) {
		s.Differences = append(s.Differences, result.SideDifference{What: "work: " + d.Label, Base: cmp.Or(d.Base, "none"),
			Head: cmp.Or(d.Head, "none")})
	}
	s.KnownAfterSteps = (lateBase || lateHead) && base.Target != head.Target
	s.Identical = len(s.Differences) == 0 && !s.KnownAfterSteps && reflect.DeepEqual(base.Workload, head.Workload)
	return s
}

// identical reports the error of identical sides.
func (b *builder) identical(g Gate, s result.Sides) {
	where := fmt.Sprintf("both are %s", s.BaseTarget)
	if s.BaseTarget != s.HeadTarget {
		where = fmt.Sprintf("%s and %s are launched alike", s.BaseTarget, s.HeadTarget)
	}
	simulated := ""
	if b.opt.Simulated == "" && b.differInSimulation(s) {
		simulated = " Their simulate blocks differ, which counts with --simulate alone."
	}
	at := b.cfg.Benchmarks[0].Range
	if base := b.cfg.BaselineAt(g.Baseline); base != nil {
		at = base.Range
	}
	place := ""
	if bm := b.cfg.BenchmarkAt(g.Benchmark); bm != nil {
		r := bm.TargetRange
		place = fmt.Sprintf(" (target of %s at %s:%d)", g.Benchmark, r.Filename, r.Start.Line)
	}
	b.fail(at, "the sides of a comparison are the same",
		fmt.Sprintf("%s=%s and %s=%s do the same work on the same server: %s%s. So nothing is compared, and every run of it is green.%s Have "+
			"the target depend on matrix.%s, or the servers differ in it; for a deliberate A/A run say --allow-identical.",
			s.Axis, s.Base, s.Axis, s.Head, where, place, simulated, s.Axis))
}

// differInSimulation reports whether two targets differ in how they are simulated.
func (b *builder) differInSimulation(s result.Sides) bool {
	with := *b
	with.opt.AnySimulation = true
	was, _ := with.traits(s.BaseTarget)
	is, _ := with.traits(s.HeadTarget)
	return !reflect.DeepEqual(was, is)
}

// writeSides writes how the compared sides differ.
func (p *Plan) writeSides(w io.Writer) {
	for _, s := range p.Sides {
		fmt.Fprintf(w, "%s\t%s\n", term.Escape(s.Axis), term.Escape(s.Title()))
		for _, line := range s.Lines() {
			fmt.Fprintf(w, "  \t%s\n", term.Escape(line))
		}
	}
	if len(p.Sides) > 0 {
		fmt.Fprintln(w)
	}
}
