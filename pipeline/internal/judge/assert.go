package judge

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// asserter evaluates the conditions of limits with the configuration's own expressions.
type asserter struct{ cfg *lang.Config }

func (a asserter) eval(gate string, cell plan.Cell, in AssertInput) (AssertResult, error) {
	for _, g := range a.cfg.Gates {
		for _, b := range a.cfg.Benchmarks {
			i := slices.IndexFunc(b.Cells, func(c lang.Cell) bool { return sameCell(c, cell) })
			if g.Addr == gate && b.Addr == g.Benchmark && i >= 0 {
				return a.evalCell(g, b.Cells[i], in)
			}
		}
	}
	return AssertResult{}, fmt.Errorf("no cell %s for %s in the file", cell.Hash, gate)
}

func (a asserter) evalCell(g *lang.Gate, c lang.Cell, in AssertInput) (AssertResult, error) {
	ok, message, diags := a.cfg.EvalAssert(g, c, in.Metrics, in.Errors, in.Requests)
	if diags.HasErrors() {
		return AssertResult{}, diags
	}
	return AssertResult{Holds: ok, Message: message, Limits: a.cfg.AssertLimits(g, c, in.Metrics, in.Errors, in.Requests)}, nil
}

func sameCell(c lang.Cell, planned plan.Cell) bool {
	return slices.Equal(c.Values, planned.Values)
}
