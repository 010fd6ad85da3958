package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/result"
)

// gates lists every gate's comparisons: pairs of cells of this session, or a cell and its baseline outside of
// the session.
func (b *builder) gates(p *Plan) []Gate {
	var out []Gate
	for _, src := range b.cfg.Gates {
		g := Gate{
			Addr: src.Addr, Description: src.Description, Benchmark: src.Benchmark, Baseline: src.Baseline,
			Terms: src.Terms, Actions: src.Actions, OnUnprovenTransport: src.OnUnprovenTransport,
			Assert: src.Condition != "", Range: Range(src.Range),
		}
		for _, m := range src.Metrics {
			g.Metrics = append(g.Metrics, m.ID)
		}
		if base := b.cfg.BaselineAt(src.Baseline); base != nil {
			g.BaselineKind, g.BaselinePath, g.Axis, g.BaseValue = base.Kind, base.Path, base.Axis, base.Value
			g.Differ = base.Differ
			if base.Kind == result.BaselineStored {
				g.Stored = &Stored{Branch: base.Branch, Sessions: base.Sessions, Match: base.Match}
			}
		}
		var left int
		g.Comparisons, left = b.comparisons(src, g, p)
		if left > 0 {
			p.NotSelected = append(p.NotSelected, result.NotSelected{Gate: g.Addr, Comparisons: left, Of: left + len(g.Comparisons)})
		}
		if left == 0 || len(g.Comparisons) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// comparisons returns the comparisons of a gate, and the number of those that --only leaves out. These are
// neither measured nor judged.
func (b *builder) comparisons(src *config.Gate, g Gate, p *Plan) (out []Comparison, left int) {
	source := b.cfg.BenchmarkAt(src.Benchmark)
	planned := slices.IndexFunc(p.Benchmarks, func(x Benchmark) bool { return x.Addr == src.Benchmark })
	if source == nil || planned < 0 {
		return nil, 0
	}
	kept := map[string]Cell{}
	for _, c := range p.Benchmarks[planned].Cells {
		kept[c.Hash] = c
	}
	bases := basesOf(p.Benchmarks[planned].Cells, g.Axis, g.BaseValue)
	launches := map[[2]string]bool{} // of the comparisons so far
	for _, i := range src.Cells {
		head := b.cell(source, source.Cells[i])
		if _, ok := kept[head.Hash]; !ok {
			value, _ := result.SplitAxis(head.Values, g.Axis)
			if isBase := g.paired() && value == g.BaseValue; !isBase && !b.selected(src.Benchmark, head) {
				left++
			}
			continue
		}
		c := Comparison{Head: head.Hash, Values: head.Values}
		if g.paired() {
			headValue, rest := result.SplitAxis(head.Values, g.Axis)
			if headValue == g.BaseValue {
				continue // the base itself
			}
			c.HeadValue, c.BaseValue, c.Values = headValue, g.BaseValue, rest
			c.Base = bases[result.CoordinatesKey(rest)]
		}
		targets := [2]string{kept[c.Base].Target, kept[c.Head].Target}
		c.SameLaunches = launches[targets]
		launches[targets] = true
		out = append(out, c)
	}
	return out, left
}

// notSelectedText lists what --only leaves out of the gates, "" for nothing.
func notSelectedText(list []result.NotSelected) string {
	var parts []string
	for _, n := range list {
		part := n.Gate
		if n.Comparisons < n.Of {
			part += fmt.Sprintf(" (%d of %d comparisons)", n.Comparisons, n.Of)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "not selected by --only, so neither measured nor judged: " + strings.Join(parts, ", ")
}

// Of lists the metrics by which a comparison of the gate is judged. It leaves out metrics of the launch if an
// earlier comparison is of the same launches.
func (g Gate) Of(c Comparison) []string {
	if !c.SameLaunches {
		return g.Metrics
	}
	return slices.DeleteFunc(slices.Clone(g.Metrics), func(id string) bool {
		m, ok := metric.Lookup(id)
		return ok && m.Level == metric.LaunchLevel
	})
}

// Comparison returns the comparison of a cell by a metric on the terms of a gate, without data.
func (p *Plan) Comparison(g Gate, head string, m metric.Metric) gates.Comparison {
	return gates.Comparison{
		ID: g.ID(head, m.ID), Gate: g.Addr, Metric: m, Claim: g.Claim, Rule: g.Rule, Test: p.Test(g),
		CanFail: g.CanFail(), Known: p.Known(g, head, m), Between: p.between(m),
	}
}

// Success returns the comparison of success rates that a gate adds for a cell, without runs. It has an ID of
// its own if the gate compares the metric success.rate, too.
func (g Gate) Success(head string) gates.Success {
	id := g.ID(head, "success.rate")
	if slices.Contains(g.Metrics, "success.rate") {
		id += "/guard"
	}
	return gates.Success{ID: id, Gate: g.Addr, Alpha: g.Alpha, CanFail: g.CanFail()}
}

// Test returns the significance test of a gate.
func (p *Plan) Test(g Gate) *gates.Test {
	var tests gates.Tests // nil for the standard ones
	if p.Config != nil {
		tests = p.Config.Tests
	}
	return tests.Named(g.TestName)
}

// basesOf returns the hashes of the cells with the base's value on the axis, by the key of their other coordinates.
func basesOf(cells []Cell, axis, base string) map[string]string {
	out := map[string]string{}
	for _, c := range cells {
		if value, rest := result.SplitAxis(c.Values, axis); value == base {
			out[result.CoordinatesKey(rest)] = c.Hash
		}
	}
	return out
}

// families counts the tests that can fail the file, by the group over which Holm's procedure corrects. Gates
// with their own alpha are counted by address, the ratios of geometric means of all gates under suiteGroup, all
// others under "". A gate whose regression fails has a test for every metric of every comparison, and one of
// success rates for each comparison. Comparisons with a result file are described, not tested, as are metrics
// of a paired comparison with a server that is not launched. Asserts are limits, not tests.
func (p *Plan) families() map[string]int {
	attached := map[string]bool{} // by cell
	for _, b := range p.Benchmarks {
		for i := range b.Cells {
			attached[b.Cells[i].Hash] = p.Attached(b.Cells[i].Target)
		}
	}
	sizes := map[string]int{}
	for _, g := range p.Gates {
		if !g.tests() || !g.CanFail() {
			continue
		}
		for _, c := range g.Comparisons {
			sizes[g.group()]++ // of its success rates
			if g.BaselineKind == result.BaselineStored || !attached[c.Base] && !attached[c.Head] {
				sizes[g.group()] += len(g.Of(c))
			}
		}
	}
	if n := p.suites(); n > 0 {
		sizes[suiteGroup] = n
	}
	return sizes
}

// tests reports whether a gate tests cells of the session against other cells or against sessions of the
// history.
func (g Gate) tests() bool { return g.paired() || g.BaselineKind == result.BaselineStored }

// paired reports whether a gate compares cells of the session.
func (g Gate) paired() bool { return g.BaselineKind == result.BaselinePaired }

// described reports whether all that a gate compares are servers that run already: their success rates are tested, and
// nothing else is.
func (p *Plan) described(g Gate) bool {
	return g.paired() && len(g.Comparisons) > 0 && !slices.ContainsFunc(g.Comparisons, func(c Comparison) bool {
		_, base, _ := p.Cell(c.Base)
		_, head, _ := p.Cell(c.Head)
		return !p.Attached(base.Target) && !p.Attached(head.Target)
	})
}

// group returns the key of a gate in families.
func (g Gate) group() string {
	if g.Alpha > 0 {
		return g.Addr
	}
	return ""
}

// familySize counts the tests of all groups.
func (p *Plan) familySize() int {
	n := 0
	for _, size := range p.families() {
		n += size
	}
	return n
}

// share returns the error rate of a gate's group: its own, or what the others leave.
func (p *Plan) share(g Gate) float64 {
	if g.Alpha > 0 {
		return g.Alpha
	}
	rest := p.Alpha - p.suiteAlpha()
	for _, other := range p.Gates {
		if other.tests() && other.CanFail() {
			rest -= other.Alpha
		}
	}
	return rest
}

// Target returns a planned target, or the zero Target if there is none at the address.
func (p *Plan) Target(addr string) Target {
	for _, t := range p.Targets {
		if t.Addr == addr {
			return t
		}
	}
	return Target{}
}

// Attached reports whether the pipeline does not launch a target, because it runs already.
func (p *Plan) Attached(addr string) bool { return p.Target(addr).Attached }

// ModelOf returns the model of a target, "" if it is unknown.
func (p *Plan) ModelOf(addr string) string { return p.Target(addr).Model }
