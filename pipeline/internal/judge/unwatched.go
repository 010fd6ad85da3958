package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// A gate on a median passes a head that makes a third of the requests wait, and a gate on latencies one that takes a
// minute longer to start. The report then says what no gate compares. It decides nothing: only metrics that a person
// chose share the error rate of the file.
const (
	// unwatchedLevel is the p value from which a metric without a gate counts as worse. Without a correction for their
	// number, it must be small.
	unwatchedLevel = 0.001
	// leastUnwatched is the least change where the gate has no margin for ratios.
	leastUnwatched = 0.05
	// leastStartup is the least difference of a start-up in seconds: below it a start is noise.
	leastStartup = 1
	// mostUnwatched is the number of metrics that are named.
	mostUnwatched = 4
)

// nameUnwatched names the metrics without a gate in which a head that passes is worse, in one decision of each pair of
// cells.
func (c *collector) nameUnwatched() {
	type pair struct{ benchmark, base, head string }
	watched, red := map[pair][]string{}, map[pair]bool{}
	first, against := make([]map[string]*result.Decision, len(c.doc.Gates)), make([]map[string]bool, len(c.doc.Gates))
	for i := range c.doc.Gates {
		first[i], against[i] = indexDecisions(&c.doc.Gates[i])
	}
	each := func(do func(cells pair, gate int, g plan.Gate, cmp plan.Comparison)) {
		for i, g := range c.plan.Gates {
			if g.BaselineKind != result.BaselinePaired || g.Assert {
				continue
			}
			for _, cmp := range g.Comparisons {
				do(pair{g.Benchmark, cmp.Base, cmp.Head}, i, g, cmp)
			}
		}
	}
	each(func(cells pair, gate int, g plan.Gate, cmp plan.Comparison) {
		watched[cells], red[cells] = append(watched[cells], g.Metrics...), red[cells] || against[gate][cmp.Head]
	})
	each(func(cells pair, gate int, g plan.Gate, cmp plan.Comparison) {
		base, head := c.cells[key(cells.benchmark, cells.base)], c.cells[key(cells.benchmark, cells.head)]
		d := first[gate][cmp.Head]
		if red[cells] || base == nil || head == nil || d == nil ||
			comparability.Compare(base.Work, head.Work, declaredOf(c.doc, g.Differ, base, head)).Meant() {
			return
		}
		red[cells] = true // once
		d.MovedCost = unwatched(watched[cells], g.Margin, base, head)
	})
}

// indexDecisions returns the first decision of a gate on a metric of each head, and the heads that a decision is against.
func indexDecisions(g *result.Gate) (first map[string]*result.Decision, against map[string]bool) {
	first, against = map[string]*result.Decision{}, map[string]bool{}
	for i := range g.Decisions {
		d := &g.Decisions[i]
		if d.Kind == result.KindMetric && first[d.Cell] == nil {
			first[d.Cell] = d
		}
		if d.Verdict != result.Pass && d.Verdict != result.Improvement && d.Verdict != result.Inconclusive {
			against[d.Cell] = true
		}
	}
	return first, against
}

// worse is a metric in which the head is worse.
type worse struct {
	metric.Metric
	base, head, by float64 // by is on the scale of the metric
}

// unwatched lists the metrics outside of watched in which the head is worse by the margin at least, "" for none. It names
// one statistic of a quantity.
func unwatched(watched []string, margin metric.Margin, base, head *result.Cell) string {
	all := map[string]worse{}
	for _, m := range metric.All() {
		if m.Scale != metric.Log || m.Informational || m.Mutual || m.Work || slices.Contains(watched, m.ID) ||
			untimed(m, base, head).reason != "" {
			continue
		}
		w, ok := worseIn(m, margin, base, head)
		if before, named := all[quantityOf(m)]; ok && (!named || w.by > before.by) {
			all[quantityOf(m)] = w
		}
	}
	var found []worse
	for _, w := range all {
		found = append(found, w)
	}
	slices.SortFunc(found, func(a, b worse) int { return cmp.Or(cmp.Compare(b.by, a.by), cmp.Compare(a.ID, b.ID)) })
	var texts []string
	for _, w := range found[:min(len(found), mostUnwatched)] {
		unit := humanize.ScaleFor(string(w.Unit), w.base, w.head)
		text := fmt.Sprintf("%s %s → %s", w.Label, unit.Value(w.base), unit.Value(w.head))
		if !isStart(w.Metric) {
			text += fmt.Sprintf(" (%s)", humanize.Percent(w.head/w.base-1))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// quantityOf returns the name that the statistics of one quantity share, also if it is counted in several ways.
func quantityOf(m metric.Metric) string {
	for _, name := range []string{"throughput", "itl"} {
		if strings.Contains(m.Group, name) {
			return name
		}
	}
	return strings.TrimSuffix(m.Group, "_from_schedule")
}

// isStart reports whether a metric is a time of a start. Its differences are in seconds, since ratios of short starts are
// noise.
func isStart(m metric.Metric) bool { return m.Level == metric.LaunchLevel && m.Unit == metric.Seconds }

// worseIn reports whether the head is worse in a metric by the margin, beyond chance and in each repeat.
func worseIn(m metric.Metric, margin metric.Margin, base, head *result.Cell) (w worse, is bool) {
	if margin <= 0 || margin >= 1 {
		margin = leastUnwatched
	}
	sign := 1.0
	if m.Direction == metric.HigherIsBetter {
		sign = -1
	}
	var differences, bases, heads []float64
	for _, p := range pairs(m, base, head) {
		if !(p.Base > 0) || !(p.Head > 0) {
			return w, false
		}
		d := sign * math.Log(p.Head/p.Base)
		if isStart(m) {
			d = p.Head - p.Base
		}
		differences, bases, heads = append(differences, d), append(bases, p.Base), append(heads, p.Head)
	}
	if len(differences) == 0 || slices.Min(differences) <= 0 { // most
		return w, false
	}
	s, err := gates.PairedT(differences)
	if err != nil || s.Greater > unwatchedLevel {
		return w, false
	}
	w = worse{m, geoMean(bases), geoMean(heads), s.Shift}
	if isStart(m) {
		w.base, w.head = metric.Mean(bases), metric.Mean(heads)
		w.by = math.Log(w.head / w.base)
		return w, s.Shift >= leastStartup && w.by >= margin.On(m.Scale)
	}
	return w, w.by >= margin.On(m.Scale)
}
