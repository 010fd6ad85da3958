package judge

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// asserter evaluates the conditions of gates with the configuration's expressions.
type asserter struct{ cfg *lang.Config }

func (a asserter) eval(gate string, cell plan.Cell, in lang.AssertInput) ([]lang.Limit, string, error) {
	for _, g := range a.cfg.Gates {
		for _, b := range a.cfg.Benchmarks {
			i := slices.IndexFunc(b.Cells, func(c lang.Cell) bool { return slices.Equal(c.Values, cell.Values) })
			if g.Addr != gate || b.Addr != g.Benchmark || i < 0 {
				continue
			}
			limits, message, diags := a.cfg.EvalAssert(g, b.Cells[i], in)
			if diags.HasErrors() {
				return nil, "", diags
			}
			return limits, message, nil
		}
	}
	return nil, "", fmt.Errorf("no cell %s for %s in the file", cell.Hash, gate)
}
