package judge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// limit judges an assert on one cell: on the geometric means over the valid runs, with
// the single runs beyond the limit listed.
func (c *court) limit(gate int, g plan.Gate, cmp plan.Comparison) error {
	cell := c.cells[key(g.Benchmark, cmp.Head)]
	_, planned, ok := c.plan.Cell(cmp.Head)
	if cell == nil || !ok {
		return fmt.Errorf("cell %s is in the plan but not in the document", cmp.Head)
	}
	runs := cell.Current()
	d := c.blank(g, cmp, "")
	d.Kind, d.Label, d.N, d.Margin = "assert", "limit", valid(runs), 0
	in := assertInput(runs)
	if d.N == 0 && in.Requests == 0 {
		d.Verdict, d.Reason = result.Missing, "the cell has no valid run"
		c.add(gate, d)
		return nil
	}
	holds, message, err := c.opt.Assert(g.Addr, planned, in)
	if err != nil {
		return err
	}
	beyond, err := c.runsBeyond(g, planned, runs)
	if err != nil {
		return err
	}
	d.Verdict, d.Reason = result.Pass, ""
	if !holds {
		d.Verdict, d.Reason = result.Regression, message
	}
	if invalid := transportDoubt(g, cell).reason; invalid != "" {
		d.Verdict, d.Reason = result.Invalid, invalid
	}
	if len(beyond) > 0 {
		d.Warnings = append(d.Warnings, "beyond the limit in repeat "+strings.Join(beyond, ", "))
	}
	c.add(gate, d)
	return nil
}

// runsBeyond lists the repeats whose own values break the limit.
func (c *court) runsBeyond(g plan.Gate, cell plan.Cell, runs []result.Run) ([]string, error) {
	var out []string
	for _, r := range runs {
		if r.Status != result.RunOK {
			continue
		}
		holds, _, err := c.opt.Assert(g.Addr, cell, assertInput([]result.Run{r}))
		if err != nil {
			return nil, err
		}
		if !holds {
			out = append(out, strconv.Itoa(r.Repeat))
		}
	}
	return out, nil
}

// assertInput sums up runs for a condition. Failed runs count with their failed
// requests, and with at least one, so that errors == 0 cannot hold for a dead server.
func assertInput(runs []result.Run) AssertInput {
	in := AssertInput{Metrics: GeoMeans(runs)}
	for _, r := range runs {
		switch r.Status {
		case result.RunOK:
			in.Requests += r.Sent
			in.Errors += r.Failed
		case result.RunFailed:
			in.Requests += max(r.Sent, 1)
			in.Errors += max(r.Failed, 1)
		}
	}
	return in
}
