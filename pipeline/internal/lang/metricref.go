package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/zclconf/go-cty/cty"
)

// findMetric returns the problem of a reference to a metric that does not exist.
func findMetric(r reference) *hcl.Diagnostic {
	group := r.path[1]
	if !metricGroup(group) {
		return noMetric(r.full, group+restText(r.rest))
	}
	if len(r.rest) == 0 {
		return nil // the whole group, for metric.ttft[var.stat]
	}
	stat, ok := stepName(r.rest[0])
	if !ok {
		return nil
	}
	if _, ok := metric.Lookup(group + "." + stat); !ok {
		return noMetric(r.full[:3], group+"."+stat)
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
	for _, g := range metric.Groups() {
		if g.Name == name {
			return true
		}
	}
	return false
}

func metricGroups() []string {
	var names []string
	for _, g := range metric.Groups() {
		names = append(names, g.Name)
	}
	return names
}

// metricValue is the value of a group of metrics: an object of its statistics.
func metricValue(group string) cty.Value {
	stats := map[string]cty.Value{}
	for _, g := range metric.Groups() {
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
