package gates

import (
	"errors"
	"fmt"

	"github.com/servegate/pipeline/gates/metric"
)

// SuiteShare is the part of a family's alpha that its suite-level comparisons share. The cells are
// tested with the rest.
const SuiteShare = 0.2

// suiteGate is the gate of suite-level comparisons and the name of their group. No gate of a file
// has this name, because those have addresses.
const suiteGate = "suite"

// Suite makes one comparison of the same metric in several cells: the ratio of the cells' geometric
// means, repeat by repeat (arithmetic means off the log scale). Its d is the mean of the cells' d
// in each repeat, so that the test accounts for what the cells of a repeat share. It finds a small
// change of all cells that no cell could show alone.
//
// Only repeats that all cells have are used, because the mean of fewer cells is another quantity.
// All suites of the family share SuiteShare·alpha. The comparison has the largest number of planned
// repeats and the rule of the first cell. Its margin is given, because a change of the whole suite
// matters sooner than one of a cell. The cells' [Success] comparisons should list the suite among
// their Metrics, so that failures withdraw its pass too.
func Suite(id string, alpha float64, margin metric.Margin, cells []Comparison) (Comparison, error) {
	if len(cells) < 2 {
		return Comparison{}, fmt.Errorf("suite %s has %d cells; a suite compares at least 2", id, len(cells))
	}
	first := cells[0]
	s := Comparison{ID: id, Gate: suiteGate, Metric: first.Metric, Claim: first.Claim, Rule: first.Rule, Test: first.Test, CanFail: true}
	s.Margin, s.Alpha = margin, SuiteShare*alpha
	var problems []error
	for _, c := range cells {
		if c.Metric.ID != s.Metric.ID {
			problems = append(problems, fmt.Errorf("suite %s: %s has the metric %s, the others %s; make a suite for each metric", id, c.ID,
				c.Metric.ID, s.Metric.ID))
		}
		if c.test().Design != Paired {
			problems = append(problems, fmt.Errorf("suite %s: %s is not paired; a suite needs the cells' values by repeat", id, c.ID))
		}
		if c.Expect != NoRegression {
			problems = append(problems, fmt.Errorf("suite %s: %s expects an improvement; compare its cells one by one", id, c.ID))
		}
		s.Planned = max(s.Planned, c.Planned)
		s.CanFail = s.CanFail && c.CanFail
	}
	if err := errors.Join(problems...); err != nil {
		return Comparison{}, err
	}
	s.inherit(cells)
	s.Pairs, s.Blocks, s.Between = suitePairs(cells), cells[0].Blocks, cells[0].Between
	return s, nil
}

// inherit copies the reasons that keep a cell from being judged: a suite without one of its cells
// is another suite.
func (c *Comparison) inherit(cells []Comparison) {
	for _, cell := range cells {
		if cell.Invalid != "" && (c.Invalid == "" || cell.InvalidFrom < c.InvalidFrom) {
			c.Invalid, c.InvalidFrom = cell.ID+": "+cell.Invalid, cell.InvalidFrom
		}
		if c.Missing == "" && cell.Missing != "" {
			c.Missing = cell.ID + ": " + cell.Missing
		}
		if c.Descriptive == "" {
			c.Descriptive = cell.Descriptive
		}
	}
}

// suitePairs returns the means of both sides over the cells, for the repeats that all cells have.
func suitePairs(cells []Comparison) []Pair {
	byRepeat := map[int][]Pair{}
	for _, c := range cells {
		for _, p := range c.Pairs {
			byRepeat[p.Repeat] = append(byRepeat[p.Repeat], p)
		}
	}
	var pairs []Pair
	for _, first := range cells[0].Pairs {
		of := byRepeat[first.Repeat]
		if len(of) != len(cells) {
			continue
		}
		var base, head []float64
		for _, p := range of {
			base, head = append(base, p.Base), append(head, p.Head)
		}
		m := cells[0].Metric
		pairs = append(pairs, Pair{Repeat: first.Repeat, Base: m.Mean(base), Head: m.Mean(head)})
	}
	return pairs
}
