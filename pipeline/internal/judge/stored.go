package judge

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// stored compares a cell of this session with earlier sessions of the history. The unit is the session: its repeats
// make its value more precise, but do not reduce the spread between sessions.
func (c *collector) stored(gate int, g plan.Gate, cmp plan.Comparison) error {
	head, err := c.head(g, cmp)
	if err != nil {
		return err
	}
	var success *gates.Success
	for _, id := range g.Of(cmp) {
		m, _ := c.doc.Metric(id)
		window := c.window(g, head, id)
		d := c.newDecision(g, cmp, id)
		d.BaseCell, d.Head, d.Base = cmp.Head, "this session", sessions(len(window.Points), g)
		if window.Note != "" {
			d.Warnings = append(d.Warnings, "sessions of the history that were "+window.Note)
		}
		if n := window.Unknown; n > 0 {
			d.Warnings = append(d.Warnings, fmt.Sprintf(
				"%d of the sessions were recorded by an earlier version and do not state their work beyond the workload and the model", n))
		}
		if window.OtherWork != "" {
			d.Verdict = result.Invalid
			d.Reason = "the sessions of the history did other work: " + window.OtherWork
			c.add(gate, d)
			continue
		}
		if len(window.Points) == 0 {
			d.Verdict = result.Inconclusive
			d.Reason = fmt.Sprintf("the history has none of the %d sessions that a prediction interval needs", gates.MinSessions)
			c.add(gate, d)
			continue
		}
		comparison := c.prediction(g, cmp, m, head, window)
		d.Sessions = comparison.Unpaired.Base
		c.family.Comparisons = append(c.family.Comparisons, comparison)
		c.comparisons = append(c.comparisons, c.add(gate, d))
		if success == nil {
			success = c.failures(g, cmp, head, window)
		}
		success.Metrics = append(success.Metrics, comparison.ID)
	}
	if success == nil || len(success.Head) == 0 {
		return nil
	}
	c.family.Success = append(c.family.Success, *success)
	d := c.newDecision(g, cmp, "success.rate")
	d.ID = success.ID
	d.Kind, d.BaseCell = result.KindSuccess, cmp.Head
	for _, r := range success.Base {
		d.Earlier = append(d.Earlier, result.Requests{Sent: r.Sent, Failed: r.Failed})
	}
	c.success = append(c.success, c.add(gate, d))
	return nil
}

// window returns the sessions of a cell in the history.
func (c *collector) window(g plan.Gate, head *result.Cell, id string) history.Window {
	if c.opt.History == nil || g.Stored == nil {
		return history.Window{}
	}
	model := ""
	for _, t := range c.doc.Targets {
		if t.Addr == head.Target {
			model = t.Model
		}
	}
	return c.opt.History.Window(history.Query{
		Measures: c.doc.Measures,
		Cell:     head.Hash, Metric: id, Branch: g.Stored.Branch, Machine: c.doc.Machine, Match: g.Stored.Match, Model: model,
		Simulated: history.SimulatedAs(c.doc), Sessions: g.Stored.Sessions, Before: c.doc.Started, Exclude: c.doc.RunID, Now: c.doc.Started,
		Margin: float64(g.Margin), Work: comparability.WorkOf(c.doc, head),
	})
}

func sessions(n int, g plan.Gate) string {
	noun := "sessions"
	if n == 1 {
		noun = "session"
	}
	if g.Stored == nil {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %s of %s", n, noun, g.Stored.Branch)
}

// prediction returns the comparison of this session's value with the values of the history.
func (c *collector) prediction(g plan.Gate, cmp plan.Comparison, m metric.Metric, head *result.Cell, w history.Window) gates.Comparison {
	out := c.plan.Comparison(g, cmp.Head, m)
	out.Test, out.Unpaired = gates.Prediction, &gates.Samples{}
	for _, p := range w.Points {
		out.Unpaired.Base = append(out.Unpaired.Base, p.Value)
	}
	setDigits(&out, head)
	value, measured := GeoMeans(head)[m.ID]
	out.Invalid = unsoundHead(g.Terms, m, head, measured)
	switch {
	case !measured && out.Invalid == "":
		out.Missing = "the head has no valid run"
		return out
	case !measured:
		return out
	case out.Invalid == "":
		out.Invalid = transportExclusion(g.OnUnprovenTransport, head).reason
	}
	out.Unpaired.Head, out.Unpaired.Launches = []float64{value}, launchValues(m, head)
	return out
}

// launchValues returns the mean of a metric over the sound runs of each launch of a cell. It returns nil if one of them
// has no logarithm on the scale of the test.
func launchValues(m metric.Metric, cell *result.Cell) []float64 {
	var order []int
	values := map[int][]float64{}
	for r := range sound(cell) {
		v, ok := r.Metrics[m.ID]
		switch {
		case !ok:
			continue
		case m.Scale == metric.Log && v <= 0:
			return nil
		case values[r.Pair()] == nil:
			order = append(order, r.Pair())
		}
		values[r.Pair()] = append(values[r.Pair()], v)
	}
	out := make([]float64, 0, len(order))
	for _, repeat := range order {
		out = append(out, m.Mean(values[repeat]))
	}
	return out
}

// unsoundHead returns why the runs of a session must not be compared with a history, "" if they may. It uses only the
// terms of the gate, so that [Verify] gets the same result.
func unsoundHead(t gates.Terms, m metric.Metric, head *result.Cell, measured bool) string {
	if measured && m.Quantile > 0 && !t.AllowOverload { // the tokens of a measured metric are timed
		return overloaded(&result.Cell{}, head).reason
	}
	return untimed(m, &result.Cell{}, head).reason
}

// failures compares the failure rate of this session with those of the sessions in the history. Each of those is one
// run, since the history does not store the runs of a session separately, and none of their repeats can be paired.
// Launches are not compared: a session whose server failed is not a baseline.
func (c *collector) failures(g plan.Gate, cmp plan.Comparison, head *result.Cell, w history.Window) *gates.Success {
	out := g.Success(cmp.Head)
	out.Head, out.Unpaired, out.Sides = outcomes(head.Current()), true, g.Baseline+" and "+head.Target
	for i, p := range w.Points {
		out.Base = append(out.Base, gates.Run{Repeat: i + 1, Sent: p.Cell.Sent, Failed: p.Cell.Failed})
	}
	return &out
}
