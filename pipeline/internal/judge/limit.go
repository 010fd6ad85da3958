package judge

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// limit judges an assert on one cell by the geometric means over the valid runs. It lists the single runs beyond the
// limit. Each comparison of the condition becomes a decision with its own value and limit.
func (c *collector) limit(gate int, g plan.Gate, on plan.Comparison) error {
	cell, err := c.head(g, on)
	if err != nil {
		return err
	}
	_, planned, _ := c.plan.Cell(on.Head)
	runs := cell.Current()
	d := c.newDecision(g, on, "")
	d.Kind, d.Label, d.N, d.Margin = result.KindAssert, "limit", valid(cell), 0
	in := assertInput(cell)
	if reason, infrastructure := unanswered(runs, in); reason != "" {
		d.Verdict, d.Reason, d.Infrastructure = result.Missing, reason, infrastructure && !c.othersWork(cell.Target)
		c.add(gate, d)
		return nil
	}
	limits, message, err := c.opt.Assert(g.Addr, planned.Values, in)
	if err != nil {
		return err
	}
	beyond, err := c.runsBeyond(g, planned, cell, len(limits))
	if err != nil {
		return err
	}
	invalid := transportExclusion(g.OnUnprovenTransport, cell).reason
	for i, l := range limits {
		part := c.limitDecision(d, l, i)
		m, _ := c.doc.Metric(l.Metric)
		switch invalid := cmp.Or(invalid, untimed(m, &result.Cell{}, cell).reason); {
		case invalid != "":
			part.Verdict, part.Reason = result.Invalid, invalid
		case l.Holds:
			part.Verdict = result.Pass
		case d.N == 0 && part.Limit != nil && part.HeadValue == nil: // no run has a value, so none is beyond the limit
			part.Verdict, part.Reason = result.Missing, message
		default:
			part.Verdict, part.Reason = result.Regression, message
		}
		if len(beyond[i]) > 0 {
			part.Warnings = append(part.Warnings, "beyond the limit in repeat "+strings.Join(beyond[i], ", "))
		}
		c.add(gate, part)
	}
	return nil
}

// limitDecision returns the decision on the i-th comparison of a condition.
func (c *collector) limitDecision(d result.Decision, l config.Limit, i int) result.Decision {
	if i > 0 {
		d.ID += "/" + strconv.Itoa(i+1)
	}
	if m, ok := c.doc.Metric(l.Metric); ok {
		d.Metric, d.Label, d.Unit, d.Direction, d.Scale = m.ID, m.Label, string(m.Unit), m.Direction, m.Scale
	} else if l.Text != "" {
		d.Label = strings.ReplaceAll(l.Text, "self.", "")
	}
	if l.Op != "" {
		d.Limit, d.LimitOp = &l.Limit, result.Operator(l.Op)
		if l.Known {
			d.HeadValue = &l.Value
		}
	}
	return d
}

// unanswered returns why a limit has no value to be compared with, "" if it has one. A server that answered no request
// was not measured, so this is not a regression. The infrastructure failed, unless other targets work.
func unanswered(runs []result.Run, in config.AssertInput) (reason string, infrastructure bool) {
	if in.Requests == 0 {
		return "the cell has no valid run", false
	}
	why := ""
	for _, r := range runs {
		if r.Status != result.RunOK && r.Status != result.RunFailed {
			continue
		}
		if r.Sent > r.Failures[failedConnect] {
			return "", false
		}
		why = cmp.Or(why, r.Reason)
	}
	if why == "" {
		return "the server answered no request", true
	}
	return "the server answered no request: " + why, true
}

// othersWork reports whether another target of the session has valid runs, so that this target is the one that fails.
// It returns false for a target that others are compared with.
func (c *collector) othersWork(target string) bool {
	works := false
	for _, cell := range c.cells {
		works = works || cell.Target != target && valid(cell) > 0
	}
	for _, g := range c.plan.Gates {
		for _, of := range g.Comparisons {
			if base := c.cells[key(g.Benchmark, of.Base)]; base != nil && base.Target == target {
				return false
			}
		}
	}
	return works
}

// failedConnect is the class of requests that could not connect.
const failedConnect = "connect"

// runsBeyond lists, for each comparison of a condition, the repeats whose own values violate it.
func (c *collector) runsBeyond(g plan.Gate, planned plan.Cell, cell *result.Cell, limits int) ([][]string, error) {
	out := make([][]string, limits)
	for r := range sound(cell) {
		found, _, err := c.opt.Assert(g.Addr, planned.Values, assertInput(&result.Cell{Runs: []result.Run{r}}))
		if err != nil {
			return nil, err
		}
		for i, l := range found[:min(limits, len(found))] {
			if !l.Holds {
				out[i] = append(out[i], strconv.Itoa(r.Pair()))
			}
		}
	}
	return out, nil
}

// assertInput summarizes runs for a condition. Failed runs count with their failed requests, at least one, so that
// errors == 0 does not hold for a dead server.
func assertInput(cell *result.Cell) config.AssertInput {
	in := config.AssertInput{Metrics: GeoMeans(cell)}
	for _, r := range cell.Current() {
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
