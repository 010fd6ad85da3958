package plan

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/term"
)

// sides lists, for every pair of targets that a gate compares, in what they differ. Sides that
// do not differ are an error where the options refuse them: whatever is measured of such,
// nothing was compared. One value of several that repeats the base's is a control, of which
// the plan warns.
func (b *builder) sides(p *Plan) []result.Sides {
	var out []result.Sides
	refused := map[string]bool{}
	for _, g := range p.Gates {
		var found []result.Sides
		for _, c := range g.Comparisons {
			_, base, okBase := p.Cell(c.Base)
			_, head, okHead := p.Cell(c.Head)
			if !g.paired() || !okBase || !okHead || base.handedOver() {
				continue
			}
			s := b.pairOfSides(g, c, base, head)
			if !slices.ContainsFunc(found, func(o result.Sides) bool { return reflect.DeepEqual(o, s) }) {
				found = append(found, s)
			}
		}
		for _, s := range found {
			if !slices.ContainsFunc(out, func(o result.Sides) bool { return reflect.DeepEqual(o, s) }) {
				out = append(out, s)
			}
			if key := g.Baseline + " " + g.Benchmark; s.Identical && b.opt.RefuseIdentical && !refused[key] && !control(found, s) {
				refused[key] = true
				b.identical(g, s)
			}
		}
	}
	return out
}

// control reports whether sides are identical for one value of the axis as a whole, beside
// another value that differs.
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

// pairOfSides is in what one pair of cells differs.
func (b *builder) pairOfSides(g Gate, c Comparison, base, head Cell) result.Sides {
	s := result.Sides{Baseline: g.Baseline, Axis: g.Axis, Base: c.BaseValue, Head: c.HeadValue, BaseTarget: base.Target, HeadTarget: head.Target}
	was, lateBase := b.traits(base.Target)
	is, lateHead := b.traits(head.Target)
	if x, y := b.madeOf(base.Target), b.madeOf(head.Target); x != y { // no value of one is one of the other
		was, is = was.summary(x), is.summary(y)
	}
	for _, name := range traitNames(was, is) {
		if x, y := was[name], is[name]; x != y {
			s.Differences = append(s.Differences, result.SideDifference{What: name, Base: x.text, Head: y.text})
		}
	}
	for _, d := range comparability.Compare(comparability.OfWorkload(base.Workload), comparability.OfWorkload(head.Workload), nil) {
		s.Differences = append(s.Differences, result.SideDifference{What: "work: " + d.Label, Base: orNone(d.Base), Head: orNone(d.Head)})
	}
	s.KnownAfterSteps = (lateBase || lateHead) && base.Target != head.Target
	s.Identical = len(s.Differences) == 0 && !s.KnownAfterSteps && reflect.DeepEqual(base.Workload, head.Workload)
	return s
}

func orNone(v string) string {
	if v == "" {
		return "none"
	}
	return v
}

// identical is the error for sides that are one thing.
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
		fmt.Sprintf("%s=%s and %s=%s do the same work on the same server: %s%s. So nothing is compared, and every run of it is green.%s Have the target depend on matrix.%s, or the servers differ in it; for a deliberate A/A run say --allow-identical.",
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

// traits are what a target is launched from, by name, and whether some of it is known only
// after steps.
func (b *builder) traits(addr string) (out traits, late bool) {
	out = traits{}
	if s := b.cfg.ServerAt(addr); s != nil {
		out.add("", reflect.ValueOf(s.Spec))
		late = s.Late
	} else if d := b.cfg.DeploymentAt(addr); d != nil {
		out.add("", reflect.ValueOf(d.Spec))
		late = d.Late
	} else {
		out["target"] = trait{text: addr}
	}
	b.leaveOut(out)
	return out, late
}

// madeOf names the parts of a target.
func (b *builder) madeOf(addr string) string {
	if d := b.cfg.DeploymentAt(addr); d != nil {
		return deploymentSource(d.Spec)
	}
	return "one server"
}

// leaveOut drops what has no part in this run.
func (b *builder) leaveOut(t traits) {
	for name, trait := range t { // the container's image is the server's
		if image, inContainer := strings.CutSuffix(name, "container.image"); inContainer && t[image+"image"] == trait {
			delete(t, name)
		}
	}
	if b.opt.Simulated != "" || b.opt.AnySimulation {
		return
	}
	for name := range t {
		if strings.HasPrefix(name, "simulate.") || strings.Contains(name, ".simulate.") {
			delete(t, name)
		}
	}
}

// writeSides says in what the compared sides differ.
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
