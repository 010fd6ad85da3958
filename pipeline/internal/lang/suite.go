package lang

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// suite refuses a comparison over all cells where their values have no partners.
func (e *evaluator) suite(g *Gate, b *block, base *Baseline) {
	switch {
	case g.SuiteMargin == 0:
	case base.Kind != result.BaselinePaired:
		e.report(problem(codeGate, b.at("suite_margin"), "suite_margin needs a paired baseline",
			fmt.Sprintf("%s is of kind %s: the cells of a repeat make one value of a suite, and only a paired baseline has repeats on both sides.", base.Addr, base.Kind)))
	case e.prog.tests.Named(g.Test).Design != gates.Paired:
		e.report(problem(codeGate, b.at("suite_margin"), "suite_margin needs a paired test",
			fmt.Sprintf("%s pairs nothing by repeat. Use one of %s.", g.Test, humanize.List(e.prog.tests.Paired().Names()))))
	}
}
