package judge

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// described compares a cell with the same cell of a stored document. The two were measured in different sessions, so
// the numbers are shown and the decision stays open.
func (c *collector) described(gate int, g plan.Gate, cmp plan.Comparison) error {
	doc, err := c.baseline(g.BaselinePath)
	if err != nil {
		return err
	}
	head, err := c.head(g, cmp)
	if err != nil {
		return err
	}
	base := index(doc)[key(g.Benchmark, cmp.Head)]
	for _, id := range g.Of(cmp) {
		d := c.newDecision(g, cmp, id)
		d.BaseCell = cmp.Head
		c.describe(&d, doc.Measures.Definition(id), base, head, id)
		if base != nil {
			if other := c.differsFromFile(g, doc, base, head); other != "" {
				d.Verdict, d.Reason = result.Invalid, other
			}
		}
		if invalid := transportExclusion(g.OnUnprovenTransport, base, head).reason; invalid != "" {
			d.Verdict, d.Reason = result.Invalid, invalid
		}
		c.add(gate, d)
	}
	return nil
}

func (c *collector) baseline(path string) (*result.Document, error) {
	if doc, ok := c.baselines[path]; ok {
		return doc, nil
	}
	if c.opt.Baseline == nil {
		return nil, fmt.Errorf("no way to read the baseline file %s was given", path)
	}
	doc, err := c.opt.Baseline(path)
	if err != nil {
		return nil, fmt.Errorf("reading the baseline: %w", err)
	}
	c.baselines[path] = doc
	for _, w := range doc.Warnings {
		if w = fmt.Sprintf("baseline %s: %s", filepath.Base(path), w); !slices.Contains(c.doc.Warnings, w) {
			c.doc.Warnings = append(c.doc.Warnings, w)
		}
	}
	return doc, nil
}

// describe sets the values of both cells in a decision, if the file and the session define the metric alike.
func (c *collector) describe(d *result.Decision, definition string, base, head *result.Cell, id string) {
	if base == nil {
		d.Verdict, d.Reason = result.Missing, "the baseline file has no such cell"
		return
	}
	b, inBase := GeoMeans(base)[id]
	h, inHead := GeoMeans(head)[id]
	switch {
	case !inBase:
		d.Verdict, d.Reason = result.Missing, "the baseline file has no value of this metric"
		return
	case !inHead:
		d.Verdict, d.Reason = result.Missing, "the head has no valid run"
		return
	case definition != c.doc.Measures.Definition(id):
		d.Verdict, d.Reason = result.Invalid, "the baseline file has another definition of this metric"
		return
	}
	d.BaseValue, d.HeadValue, d.N = &b, &h, valid(head)
	change := h - b
	if m, ok := c.doc.Metric(id); ok && m.Scale == metric.Log && b > 0 {
		change = h/b - 1
	}
	d.Change = &change
	d.Verdict = result.Inconclusive
	d.Reason = "a baseline from a file is another session: described, not decided"
}
