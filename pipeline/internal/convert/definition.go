package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// foreign are the groups of figures that tools define otherwise than the registry does. They
// have names of their own; what is not listed is defined alike.
var foreign = metric.Foreign()

// foreignGroup is the group of a name, nil for one that is no tool's own.
func foreignGroup(name string) *metric.Group {
	return foreignWhere(func(g metric.Group) bool { return g.Name == name })
}

func foreignWhere(is func(metric.Group) bool) *metric.Group {
	if i := slices.IndexFunc(foreign, is); i >= 0 {
		return &foreign[i]
	}
	return nil
}

// differs is what a tool's figures of a quantity are where it defines them otherwise than the
// registry does, nil where it does not.
func differs(tool, quantity string) *metric.Group {
	return foreignWhere(func(g metric.Group) bool { return g.Tool == tool && g.Quantity == quantity })
}

// toolGroups are groups that only other tools have.
var toolGroups = map[string]string{
	"token_latency":             "end-to-end latency / output tokens, so the first token is in it",
	"probe_e2el":                "end-to-end latency of vLLM's independent probe requests",
	"goodput":                   "requests per second that met the latency limits which the tool was given",
	"spec_decode":               "speculative decoding, as the tool counts it over the run",
	"rtfx":                      "seconds of audio per second (inverse real-time factor)",
	"input_sequence_throughput": "sequences per second (pooling)",
	"token_throughput":          "tokens per second; whether of answers or of all tokens the result does not say",
}

// tool is the row of the tool that measured a result, nil for one that has none.
func (r *Run) tool() *Tool { return r.table().named(r.Tool) }

func (r *Run) table() Tools {
	if r.tools == nil {
		return standard
	}
	return r.tools
}

// group is the group under which the tool's figures of a quantity are known.
func (r *Run) group(quantity string) string {
	if t := r.tool(); t != nil && t.group != nil {
		return t.group(r, quantity)
	}
	return quantity
}

// metricID is the id under which a figure is stored, and its definition if it is not one
// of the registry. Of a tool without a row the definitions are not known, so its figures are
// compared with none of another.
func (r *Run) metricID(quantity, stat string) (id, definition string) {
	group := r.group(quantity)
	if g := differs(r.Tool, group); g != nil {
		return g.Name + "." + stat, fmt.Sprintf("%s of %s: %s", stat, r.Tool, g.Definition)
	}
	if r.Tool != "" && r.tool() == nil {
		return idSlug(r.Tool) + "_" + group + "." + stat, describeForeign(r.Tool, group, stat)
	}
	id = group + "." + stat
	if _, ok := metric.Lookup(id); ok {
		return id, ""
	}
	return id, describeForeign(r.Tool, group, stat)
}

// describeForeign defines an id that the registry lacks.
func describeForeign(tool, group, stat string) string {
	if g := foreignGroup(group); g != nil {
		return fmt.Sprintf("%s of %s: %s", stat, g.Tool, g.Definition)
	}
	if stat == "peak_second" {
		return "the largest count in one whole second; not the exact peak"
	}
	if stat == unstated && group != "token_throughput" {
		return group + " whose statistic the result does not name"
	}
	if d := definitionOf(group); d != "" {
		return stat + " of the " + d
	}
	return fmt.Sprintf("%s of %s as %s prints it", stat, group, cmp.Or(tool, "the tool"))
}

// definitionOf returns the definition of a group, whatever the statistic. It returns "" for an unknown group.
func definitionOf(group string) string {
	if g := foreignGroup(group); g != nil {
		return g.Definition
	}
	if d, ok := toolGroups[group]; ok {
		return d
	}
	groups := metric.Groups()
	if i := slices.IndexFunc(groups, func(g metric.Group) bool { return g.Name == group }); i >= 0 {
		return groups[i].Definition
	}
	return ""
}

// meaning returns what a note says of a group: its definition, if that is known.
func meaning(group string) string {
	return cmp.Or(definitionOf(group), "as the tool prints it")
}

// quantityOf is what people call the figures of a group, whatever their definition.
func quantityOf(group string) string {
	if g := foreignGroup(group); g != nil {
		return g.Quantity
	}
	if group == "itl_token" {
		return "itl"
	}
	return group
}

// assumeTool gives a run that does not report its tool the definitions of one. Without a tool
// the figures are taken as vLLM's, and the run says so.
func (r *Run) assumeTool(tool string) {
	if tool == "" {
		r.seriousf("the result does not say which tool measured it: figures are taken as vLLM defines them")
		return
	}
	r.Tool = tool
	metrics, steps := r.Metrics, r.steps
	r.Metrics, r.Definitions, r.steps = nil, nil, nil
	for id, v := range metrics {
		group, stat, _ := strings.Cut(id, ".")
		r.set(group, stat, v)
		if step, ok := steps[id]; ok {
			own, _ := r.metricID(group, stat)
			put(&r.steps, own, step)
		}
	}
}

// set stores a figure under the definition of its tool.
func (r *Run) set(quantity, stat string, v float64) {
	id, definition := r.metricID(quantity, stat)
	put(&r.Metrics, id, v)
	if definition != "" {
		put(&r.Definitions, id, definition)
	}
}
