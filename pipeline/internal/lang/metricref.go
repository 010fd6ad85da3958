package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/zclconf/go-cty/cty"
)

// findMetric returns the problem of a reference to a metric that does not exist.
func findMetric(r reference) *hcl.Diagnostic {
	group, rest := r.path[1], r.rest
	if _, ok := metric.ForeignTool(group); ok { // metric.guidellm.ttft.p99
		if len(rest) == 0 {
			return nil
		}
		quantity, ok := stepName(rest[0])
		if !ok {
			return nil
		}
		group, rest = group+"_"+quantity, rest[1:]
	}
	if !metricGroup(group) {
		return noMetric(r.full, group+restText(rest))
	}
	if len(rest) == 0 {
		return nil // the whole group, for metric.ttft[var.stat]
	}
	stat, ok := stepName(rest[0])
	if !ok {
		return nil
	}
	if _, ok := metric.Lookup(group + "." + stat); !ok {
		return noMetric(r.full[:len(r.full)-len(rest)+1], group+"."+stat)
	}
	return nil
}

func noMetric(t hcl.Traversal, id string) *hcl.Diagnostic {
	var detail string
	if near := metric.Suggest(id); near != "" {
		detail = fmt.Sprintf("Did you mean metric.%s?", near)
	} else {
		detail = offer(metricGroups(), "groups of metrics")
	}
	return problem(codeReference, t.SourceRange(), fmt.Sprintf("there is no metric %s", id), detail)
}

func restText(rest hcl.Traversal) string {
	if len(rest) == 0 {
		return ""
	}
	name, _ := stepName(rest[0])
	return "." + name
}

func metricGroup(name string) bool {
	return slices.ContainsFunc(allGroups(), func(g metric.Group) bool { return g.Name == name })
}

// allGroups are those of the registry and of other load generators.
func allGroups() []metric.Group { return slices.Concat(metric.Groups(), metric.Foreign()) }

func metricGroups() []string {
	var names []string
	for _, g := range metric.Groups() {
		names = append(names, g.Name)
	}
	return names
}

// metricValue is the value of a group of metrics: an object of its statistics; of a tool, one
// of its groups.
func metricValue(group string) cty.Value {
	if tool, ok := metric.ForeignTool(group); ok {
		groups := map[string]cty.Value{}
		for _, g := range metric.Foreign() {
			if g.Tool == tool {
				groups[g.Quantity] = metricValue(g.Name)
			}
		}
		return cty.ObjectVal(groups)
	}
	stats := map[string]cty.Value{}
	for _, g := range allGroups() {
		if g.Name != group {
			continue
		}
		for _, m := range g.Metrics {
			stats[m.Stat] = cty.ObjectVal(map[string]cty.Value{
				"id":    cty.StringVal("metric." + m.ID),
				"label": cty.StringVal(m.Label),
				"unit":  cty.StringVal(string(m.Unit)),
			})
		}
	}
	if median, ok := stats["p50"]; ok {
		stats["median"] = median
	}
	return cty.ObjectVal(stats)
}
