package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// findMetric returns the problem of a reference to a metric that does not exist.
func (p *program) findMetric(r reference) *hcl.Diagnostic {
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
	if group == metric.DeclaredGroup {
		if name, ok := lastName(rest); ok {
			if _, there := p.lookup(group + "." + name); !there {
				return p.undeclared(r.full, name)
			}
		}
		return nil
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
	if near := suggestMetric(id); near != "" {
		detail = fmt.Sprintf("Did you mean metric.%s?", near)
	} else {
		detail = listNames(metricGroups(), "groups of metrics")
	}
	return problem(codeReference, t.SourceRange(), fmt.Sprintf("unknown metric %s", id), detail)
}

func restText(rest hcl.Traversal) string {
	if len(rest) == 0 {
		return ""
	}
	name, _ := stepName(rest[0])
	return "." + name
}

func metricGroup(name string) bool {
	return slices.ContainsFunc(slices.Concat(metric.Groups(), metric.Foreign()), func(g metric.Group) bool { return g.Name == name })
}

func metricGroups() []string {
	var names []string
	for _, g := range metric.Groups() {
		names = append(names, g.Name)
	}
	return names
}

// lastName returns the first name after a group, if it is a constant.
func lastName(rest hcl.Traversal) (string, bool) {
	if len(rest) == 0 {
		return "", false
	}
	return stepName(rest[0])
}

// metricValue returns the value of a group of metrics: an object of its statistics. For a tool it returns an
// object of its groups.
func (e *evaluator) metricValue(group string) cty.Value {
	if tool, ok := metric.ForeignTool(group); ok {
		groups := map[string]cty.Value{}
		for _, g := range metric.Foreign() {
			if g.Tool == tool {
				groups[g.Quantity] = e.metricValue(g.Name)
			}
		}
		return cty.ObjectVal(groups)
	}
	stats := map[string]cty.Value{}
	for _, g := range e.prog.groups() {
		if g.Name != group {
			continue
		}
		for _, m := range g.Metrics {
			known, ok := e.declared().Lookup(m.ID)
			if !ok { // a faulty measure, which is reported at its block
				stats[m.Stat] = cty.DynamicVal
				continue
			}
			m = known
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

// metricOf returns the metric that a value stands for.
func (e *evaluator) metricOf(v cty.Value) (metric.Metric, bool) {
	id, _ := idOf(v)
	text, ok := strings.CutPrefix(id, "metric.")
	if !ok {
		return metric.Metric{}, false
	}
	return e.declared().Lookup(text)
}

// metricAt returns the metric that a traversal names: self.GROUP.STAT, metric.GROUP.STAT.
func (p *program) metricAt(t hcl.Traversal, root string) (metric.Metric, bool) {
	if t.IsRelative() || len(t) < 3 || t.RootName() != root {
		return metric.Metric{}, false
	}
	group, _ := stepName(t[1])
	stat, _ := stepName(t[2])
	return p.lookup(group + "." + stat)
}

// notMetric returns the problem of an element of metrics that does not refer to a metric.
func (e *evaluator) notMetric(v cty.Value, at hcl.Range) *hcl.Diagnostic {
	if group, stats, ok := e.groupOf(v); ok {
		return problem(codeType, at, fmt.Sprintf("metric.%s is a group of metrics", group),
			fmt.Sprintf("Write one of them: metric.%s.%s. %s", group, usualStat(stats), listNames(stats, "statistics of "+group)))
	}
	if v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
		if near := suggestMetric(v.AsString()); near != "" {
			return problem(codeType, at, "metrics must hold references to metrics", fmt.Sprintf("Write metric.%s, without quotes.", near))
		}
	}
	return problem(codeType, at, "metrics must hold references to metrics", "Refer to them, such as metric.ttft.p99, without quotes.")
}

// groupOf returns the group of metrics that a value stands for, and its statistics.
func (e *evaluator) groupOf(v cty.Value) (group string, stats []string, ok bool) {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() {
		return "", nil, false
	}
	for _, elem := range v.AsValueMap() {
		m, is := e.metricOf(elem)
		if !is {
			return "", nil, false
		}
		group, stats = m.Group, append(stats, m.Stat)
	}
	slices.Sort(stats)
	return group, slices.Compact(stats), len(stats) > 0
}

// usualStat returns the statistic of a group that is gated most often.
func usualStat(stats []string) string {
	for _, name := range []string{"p99", "mean", "rate", "share"} {
		if slices.Contains(stats, name) {
			return name
		}
	}
	return stats[0]
}

// suggestMetric returns the metric that a wrong id most likely meant, by its letters or by a word in a group's
// name.
func suggestMetric(id string) string {
	if near := metric.Suggest(id); near != "" {
		return near
	}
	group, stat, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(id, "metric.")), ".")
	names := metricGroups()
	if g := groupWord(group); g != "" {
		group = g
	} else if g := enum.Nearest(group, names); g != "" {
		group = g
	}
	for _, g := range metric.Groups() {
		if g.Name != group {
			continue
		}
		stats := statsOf(group)
		if near := enum.Nearest(stat, stats); stat != "" && near != "" {
			return group + "." + near
		}
		return group + "." + usualStat(stats)
	}
	return ""
}

// statsOf lists the statistics of a group.
func statsOf(group string) []string {
	var stats []string
	for _, g := range metric.Groups() {
		if g.Name != group {
			continue
		}
		for _, m := range g.Metrics {
			stats = append(stats, m.Stat)
		}
	}
	return stats
}

// otherNames maps other tools' names to groups of metrics.
var otherNames = map[string]string{
	"throughput": "output_throughput", "tps": "output_throughput", "tokens_per_second": "output_throughput", "tokens": "output_throughput",
	"rps": "request_throughput", "qps": "request_throughput", "latency": "e2el", "e2e": "e2el", "e2e_latency": "e2el", "duration": "e2el",
	"time_to_first_token": "ttft", "first_token": "ttft", "inter_token_latency": "itl", "time_per_output_token": "tpot",
	"success": "success", "errors": "success", "error_rate": "success", "failures": "success",
}

// groupWord returns the group that a word stands for, "" if none.
func groupWord(word string) string {
	if name := otherNames[word]; name != "" && metricGroup(name) {
		return name
	}
	for _, name := range metricGroups() {
		if word != "" && slices.Contains(strings.Split(name, "_"), word) {
			return name
		}
	}
	return ""
}
