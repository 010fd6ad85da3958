package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/foreign"
	"github.com/servegate/pipeline/gates/metric"
)

// foreignGroup returns the group of a name, nil if it is no tool's own.
func foreignGroup(name string) *metric.Group {
	return foreignWhere(func(g metric.Group) bool { return g.Name == name })
}

// foreignWhere returns a group of figures that a tool defines differently from the registry. These groups have their own
// names; all others are defined alike.
func foreignWhere(is func(metric.Group) bool) *metric.Group {
	groups := metric.Foreign()
	if i := slices.IndexFunc(groups, is); i >= 0 {
		return &groups[i]
	}
	return nil
}

// differs returns the tool's own group for a quantity, nil if it defines the quantity like the
// registry.
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

// tool returns the tool that measured a result, nil if it is not in the table.
func (r *Run) tool() *foreign.Tool { return r.table().named(r.Tool) }

func (r *Run) table() Tools {
	if r.tools == nil {
		return standard
	}
	return r.tools
}

// group returns the group for a tool's figures of a quantity.
func (r *Run) group(quantity string) string {
	if of := groups[r.Tool]; of != nil {
		return of(r, quantity)
	}
	return quantity
}

// metricID returns the id for a figure, and its definition if the id is not in the registry. The
// definitions of a tool outside the table are unknown, so its figures are compared only with its
// own.
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

// describeForeign defines an id that is not in the registry.
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

// definitionOf returns the definition of a group, whatever the statistic, "" for an unknown group.
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

// meaning returns the definition of a group for a note.
func meaning(group string) string {
	return cmp.Or(definitionOf(group), "as the tool prints it")
}

// quantityOf returns the common name of a group's figures, whatever their definition.
func quantityOf(group string) string {
	if g := foreignGroup(group); g != nil {
		return g.Quantity
	}
	if group == "itl_token" {
		return "itl"
	}
	return group
}

// assumeTool sets the tool of a run that does not report it. Without a tool the figures count as
// vLLM's, with a note.
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
