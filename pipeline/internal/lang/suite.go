package lang

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates"
)

// pairedTests are those that a ratio over all cells can be tested by: the cells' values of
// a repeat make one pair.
var pairedTests = []string{string(gates.PairedTTest), string(gates.SignFlip), string(gates.MaxT)}

// suite refuses a comparison over all cells where their values have no partners.
func (e *evaluator) suite(g *Gate, b *block, base *Baseline) {
	switch {
	case g.SuiteMargin == 0:
	case base.Kind != pairedBaseline:
		e.report(problem(codeGate, b.at("suite_margin"), "suite_margin needs a paired baseline",
			fmt.Sprintf("%s is of kind %s: the cells of a repeat make one value of a suite, and only a paired baseline has repeats on both sides.", base.Addr, base.Kind)))
	case !slices.Contains(pairedTests, g.Test):
		e.report(problem(codeGate, b.at("suite_margin"), "suite_margin needs a paired test",
			fmt.Sprintf("%s pairs nothing by repeat. Use one of %s.", g.Test, enumerate(pairedTests))))
	}
}
