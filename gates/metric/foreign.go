package metric

import (
	"math"
	"strings"
	"sync"

	"github.com/servegate/pipeline/gates/foreign"
)

// foreignStats are the statistics of times that any load generator reports.
var foreignStats = []struct {
	stat     string
	quantile float64
}{
	{"mean", 0}, {"std", 0}, {"min", 0}, {"max", 0}, {"p1", 0.01}, {"p5", 0.05}, {"p10", 0.1}, {"p25", 0.25}, {"p50", 0.5},
	{"p60", 0.6}, {"p70", 0.7},
	{"p75", 0.75}, {"p80", 0.8}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999},
}

// foreignAll returns the groups of all tools, built once like the registry.
var (
	foreignAll  = sync.OnceValue(foreignGroups)
	foreignByID = sync.OnceValue(func() map[string]Metric { return index(foreignAll()) })
)

// Foreign returns, by group, the figures of other load generators whose definitions differ from the
// registry. They are not measured here, but may be compared and gated in the results of these
// tools. They are asked for with each cell of a table, and shared: the caller must not modify them.
func Foreign() []Group { return foreignAll() }

// ForeignTool returns the tool whose figures have a prefix, as in metric.guidellm.ttft.p99:
// guidellm. It reports whether there is one.
func ForeignTool(prefix string) (tool string, ok bool) {
	for _, t := range foreign.Tools() {
		if t.Prefix == prefix && prefix != "" {
			return t.Name, true
		}
	}
	return "", false
}

// Tools returns the load generators whose results can be read, by their names in results and in
// files of gates. Those whose definitions all equal the registry's come first.
func Tools() []string {
	var alike, others []string
	for _, t := range foreign.Tools() {
		if len(t.Differences) == 0 {
			alike = append(alike, t.Name)
		} else {
			others = append(others, t.Name)
		}
	}
	return append(alike, others...)
}

func foreignGroups() []Group {
	var groups []Group
	for _, t := range foreign.Tools() {
		for _, d := range t.Differences {
			g := Group{Name: t.Prefix + "_" + d.Quantity, Definition: d.Definition, Source: t.Name, Tool: t.Name, Quantity: d.Quantity}
			g.Metrics = foreignMetrics(d, g)
			if t.Offline { // a figure is of one batch or one start
				for i := range g.Metrics {
					g.Metrics[i].MinRequests = 1
				}
			}
			groups = append(groups, g)
		}
	}
	return groups
}

// foreignMetrics returns the statistics of a quantity: one number if the registry has it as one number,
// and all usual statistics if it is a time.
func foreignMetrics(d foreign.Difference, g Group) []Metric {
	if own, ok := byID()[d.Quantity+".mean"]; ok && own.Unit != Seconds {
		own.ID, own.Group, own.Tool, own.Source, own.Definition = g.Name+".mean", g.Name, g.Tool, g.Source, g.Definition
		own.Label = d.Label + " (" + g.Tool + ")"
		return []Metric{own}
	}
	var out []Metric
	for _, s := range foreignStats {
		out = append(out, Metric{
			ID: g.Name + "." + s.stat, Group: g.Name, Stat: s.stat, Tool: g.Tool, Source: g.Source,
			Label: d.Label + " " + s.stat + " (" + g.Tool + ")", Definition: s.stat + " of the " + d.Definition,
			Unit: Seconds, Direction: LowerIsBetter, Scale: Log, Level: RunLevel,
			Quantile: s.quantile, MinRequests: leastRequests(s.stat, s.quantile), Informational: s.stat == "std",
		})
	}
	return out
}

// leastRequests returns the least number of requests with which a statistic may be gated: ten
// beyond a percentile on its nearer side.
func leastRequests(stat string, quantile float64) int {
	switch stat {
	case "mean", "std":
		return 10
	case "min", "max":
		return 1
	}
	return int(math.Round(10 / min(quantile, 1-quantile)))
}

// foreignOf finds the metric that a foreign or misspelt id means.
func foreignOf(id string) (Metric, bool) {
	if m, ok := foreignByID()[id]; ok {
		return m, true
	}
	for _, t := range foreign.Tools() { // guidellm.ttft.p99
		if rest, ok := strings.CutPrefix(id, t.Prefix+"."); ok {
			m, ok := foreignByID()[t.Prefix+"_"+rest]
			return m, ok
		}
	}
	return Metric{}, false
}
