package plan

import (
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/result"
)

// gates lists every gate's comparisons: pairs of cells of this session, or a cell and
// whatever the baseline outside of the session holds for it.
func (b *builder) gates(p *Plan) []Gate {
	var out []Gate
	for _, src := range b.cfg.Gates {
		g := Gate{
			Addr: src.Addr, Description: src.Description, Benchmark: src.Benchmark, Baseline: src.Baseline,
			Margin: src.Margin, Alpha: src.Alpha, Test: src.Test, Strict: src.Strict, AllowOverload: src.AllowOverload,
			OnRegression: string(src.OnRegression), OnInconclusive: string(src.OnInconclusive),
			OnMissing: string(src.OnMissing), OnInvalid: string(src.OnInvalid),
			Assert: src.Assert != nil, Range: Range(src.Range),
		}
		for _, m := range src.Metrics {
			g.Metrics = append(g.Metrics, m.ID)
		}
		if i := slices.IndexFunc(b.cfg.Baselines, func(x *lang.Baseline) bool { return x.Addr == src.Baseline }); i >= 0 {
			base := b.cfg.Baselines[i]
			g.BaselineKind, g.BaselinePath, g.Axis, g.BaseValue = base.Kind, base.Path, base.Axis, base.Value
		}
		g.Comparisons = b.comparisons(src, g, p)
		out = append(out, g)
	}
	return out
}

func (b *builder) comparisons(src *lang.Gate, g Gate, p *Plan) []Comparison {
	source := slices.IndexFunc(b.cfg.Benchmarks, func(x *lang.Benchmark) bool { return x.Addr == src.Benchmark })
	planned := slices.IndexFunc(p.Benchmarks, func(x Benchmark) bool { return x.Addr == src.Benchmark })
	if source < 0 || planned < 0 {
		return nil
	}
	kept := map[string]Cell{}
	for _, c := range p.Benchmarks[planned].Cells {
		kept[c.Hash] = c
	}
	var out []Comparison
	for _, i := range src.Cells {
		head := b.cell(b.cfg.Benchmarks[source], b.cfg.Benchmarks[source].Cells[i])
		if _, ok := kept[head.Hash]; !ok {
			continue // left out by --only
		}
		c := Comparison{Head: head.Hash, Values: head.Values}
		if g.BaselineKind == "paired" {
			headValue, rest := without(head.Values, g.Axis)
			if headValue == g.BaseValue {
				continue // the base itself
			}
			c.HeadValue, c.BaseValue, c.Values = headValue, g.BaseValue, rest
			c.Base = partner(p.Benchmarks[planned].Cells, g.Axis, g.BaseValue, rest)
		}
		out = append(out, c)
	}
	return out
}

// without splits coordinates into the value on one axis and all the others.
func without(values []result.AxisValue, axis string) (string, []result.AxisValue) {
	rest := make([]result.AxisValue, 0, len(values))
	var value string
	for _, v := range values {
		if v.Name == axis {
			value = v.Value
			continue
		}
		rest = append(rest, v)
	}
	return value, rest
}

// partner finds the cell with the base's value on the axis and the same other
// coordinates; "" if the matrix excludes it.
func partner(cells []Cell, axis, base string, rest []result.AxisValue) string {
	for _, c := range cells {
		value, others := without(c.Values, axis)
		if value == base && slices.Equal(others, rest) {
			return c.Hash
		}
	}
	return ""
}

// familySize counts the tests that can fail the file: every metric of every comparison
// of a gate whose regression fails, and the comparison of success rates that each
// carries. Comparisons with a baseline outside of the session are described, not
// tested, and asserts are limits, not tests.
func familySize(gates []Gate) int {
	n := 0
	for _, g := range gates {
		if g.BaselineKind == "paired" && g.OnRegression == string(lang.Fail) {
			n += len(g.Comparisons) * (len(g.Metrics) + 1)
		}
	}
	return n
}
