package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/humanize"
)

// suiteGroup is the key of all suites in families. They share a part of the file's alpha, whatever alpha their
// gates have.
const suiteGroup = "suite"

// Suite is one metric over several cells of a gate, for one value of the compared axis.
type Suite struct {
	HeadValue, BaseValue string
	Metric               string
	Heads                []string // hashes of the heads' cells
}

// Suites returns the suites of a gate that has a margin for them: one for each metric by which several cells
// are compared.
func (g Gate) Suites() []Suite {
	if g.SuiteMargin == 0 {
		return nil
	}
	var all []Suite
	for _, c := range g.Comparisons {
		for _, id := range g.Of(c) {
			i := slices.IndexFunc(all, func(s Suite) bool { return s.HeadValue == c.HeadValue && s.Metric == id })
			if i < 0 {
				i = len(all)
				all = append(all, Suite{HeadValue: c.HeadValue, BaseValue: c.BaseValue, Metric: id})
			}
			all[i].Heads = append(all[i].Heads, c.Head)
		}
	}
	return slices.DeleteFunc(all, func(s Suite) bool { return len(s.Heads) < 2 })
}

// ID returns the ID of the comparison of a cell by a metric, unique in the plan.
func (g Gate) ID(head, metric string) string { return g.Addr + "/" + head + "/" + metric }

// Compare makes the comparison of a suite from the comparisons of its cells in family.
func (s Suite) Compare(g Gate, alpha float64, family []gates.Comparison) (gates.Comparison, error) {
	var cells []gates.Comparison
	for _, head := range s.Heads {
		id := g.ID(head, s.Metric)
		i := slices.IndexFunc(family, func(c gates.Comparison) bool { return c.ID == id })
		if i < 0 {
			return gates.Comparison{}, fmt.Errorf("%s is part of a suite but not of the family", id)
		}
		cells = append(cells, family[i])
	}
	return gates.Suite(g.ID("suite "+s.HeadValue, s.Metric), alpha, g.SuiteMargin, cells)
}

// suites counts the suites that can fail the file.
func (p *Plan) suites() int {
	n := 0
	for _, g := range p.Gates {
		if g.CanFail() {
			n += len(g.Suites())
		}
	}
	return n
}

// HasSuites reports whether suites have a share of the file's alpha.
func (p *Plan) HasSuites() bool { return p.suites() > 0 }

// suiteAlpha returns the suites' part of the file's alpha.
func (p *Plan) suiteAlpha() float64 {
	if !p.HasSuites() {
		return 0
	}
	return gates.SuiteShare * p.Alpha
}

// suiteText describes the suites of a gate, "" for none.
func (p *Plan) suiteText(g Gate) string {
	suites := g.Suites()
	if len(suites) == 0 {
		return ""
	}
	cells := 0
	for _, s := range suites {
		cells = max(cells, len(s.Heads))
	}
	level := fmt.Sprintf("%.3g one-sided", gates.SuiteShare*p.Alpha)
	if g.CanFail() {
		level = fmt.Sprintf("Holm over a family of %d at %s of their own", p.suites(), level)
	}
	return fmt.Sprintf("%s of geometric means over up to %s each, margin %.3g %%, %s", humanize.Count(len(suites), "ratio"),
		humanize.Count(cells, "cell"), 100*g.SuiteMargin, level)
}

// suiteSize returns the size of the family of a gate's suites.
func (p *Plan) suiteSize(g Gate) int {
	if g.CanFail() {
		return max(1, p.suites())
	}
	return 1
}

// suitePowers describes how small a change of all cells the suites of a gate find, one line for each known or
// assumed spread of a cell. How much of the spread the cells of a repeat share is unknown before they are
// measured. Each line states the result for none and for all of it.
func (p *Plan) suitePowers(g Gate) []string {
	suites := g.Suites()
	if len(suites) == 0 {
		return nil
	}
	var lines []string
	for _, w := range g.Power {
		cells := fewestCells(suites, w.Metric)
		if cells == 0 {
			continue // a metric of launches, which cells share
		}
		apart := p.suitePower(g, w, w.SD/math.Sqrt(float64(cells)))
		together := p.suitePower(g, w, w.SD)
		if apart == "" || together == "" {
			continue
		}
		lines = append(lines,
			fmt.Sprintf(
				"ratio of %d cells, %s: a change of all by %s is found with %.0f %% power if their noise is independent, by %s if it is common",
				cells, w.what(), apart, 100*gates.Power, together))
	}
	return lines
}

// suitePower describes what a suite finds after the least and the most repeats, if its pairs spread by sd.
func (p *Plan) suitePower(g Gate, w Power, sd float64) string {
	in := gates.NewProspect(p.looksOf(g), gates.SuiteShare*p.Alpha, p.PassAlpha(), p.suiteSize(g), g.Rule)
	w.AtMin, w.AtMax = finds(in, sd, g.SuiteMargin)
	return w.text(p.least(), p.repeatsOf(g.Benchmark))
}

// fewestCells returns the fewest cells of a suite of a metric, or of any suite for "".
func fewestCells(suites []Suite, metric string) int {
	fewest := 0
	for _, s := range suites {
		if (metric == "" || s.Metric == metric) && (fewest == 0 || len(s.Heads) < fewest) {
			fewest = len(s.Heads)
		}
	}
	return fewest
}
