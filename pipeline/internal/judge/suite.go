package judge

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// suites adds the ratios of geometric means over all cells of a gate to the family. If the head of one of the cells
// fails more often, the suite cannot pass either.
func (c *collector) suites(gate int, g plan.Gate) error {
	for _, s := range g.Suites() {
		comparison, err := s.Compare(g, c.plan.Alpha, c.family.Comparisons)
		if err != nil {
			return err
		}
		d := c.newDecision(g, plan.Comparison{HeadValue: s.HeadValue, BaseValue: s.BaseValue, Values: []result.AxisValue{}}, s.Metric)
		d.ID, d.Margin, d.SuiteCells = comparison.ID, g.SuiteMargin, len(s.Heads)
		d.Label = fmt.Sprintf("%s over %d cells", d.Label, d.SuiteCells)
		d.Pairs = shown(gates.Comparison{Pairs: comparison.Pairs})
		c.family.Comparisons = append(c.family.Comparisons, comparison)
		c.comparisons = append(c.comparisons, c.add(gate, d))
		c.guard(g, s, comparison.ID)
	}
	return nil
}

// guard adds a suite to the comparisons of success rates of its cells.
func (c *collector) guard(g plan.Gate, s plan.Suite, id string) {
	for i := range c.family.Success {
		success := &c.family.Success[i]
		if slices.ContainsFunc(s.Heads, func(head string) bool { return slices.Contains(success.Metrics, g.ID(head, s.Metric)) }) {
			success.Metrics = append(success.Metrics, id)
		}
	}
}
