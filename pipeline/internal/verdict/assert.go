package verdict

import (
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// asserter evaluates the conditions of limits with the configuration's own expressions.
type asserter struct{ cfg *lang.Config }

func (a asserter) eval(gate string, cell plan.Cell, in judge.AssertInput) (judge.AssertResult, error) {
	for _, g := range a.cfg.Gates {
		if g.Addr != gate {
			continue
		}
		for _, b := range a.cfg.Benchmarks {
			if b.Addr != g.Benchmark {
				continue
			}
			for _, c := range b.Cells {
				if sameCell(c, cell) {
					return a.evalCell(g, c, in)
				}
			}
		}
	}
	return judge.AssertResult{}, fmt.Errorf("no cell %s for %s in the file", cell.Hash, gate)
}

func (a asserter) evalCell(g *lang.Gate, c lang.Cell, in judge.AssertInput) (judge.AssertResult, error) {
	ok, message, diags := a.cfg.EvalAssert(g, c, in.Metrics, in.Errors, in.Requests)
	if diags.HasErrors() {
		return judge.AssertResult{}, diags
	}
	return judge.AssertResult{Holds: ok, Message: message, Limits: a.cfg.AssertLimits(g, c, in.Metrics, in.Errors, in.Requests)}, nil
}

func sameCell(c lang.Cell, planned plan.Cell) bool {
	if len(c.Values) != len(planned.Values) {
		return false
	}
	for i, v := range c.Values {
		if v.Axis != planned.Values[i].Name || v.Text != planned.Values[i].Value {
			return false
		}
	}
	return true
}
