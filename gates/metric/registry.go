package metric

import (
	"slices"
	"sync"
)

// Sources of the definitions.
const (
	vllm   = "vLLM 0.33, vllm bench serve"
	sglang = "SGLang 0.5.23, sglang.benchmark.serving"
	ours   = "pipeline"
)

// Group is a quantity with its statistics: "ttft" with "ttft.mean", "ttft.p50", ….
type Group struct {
	// Name is the part of the IDs before the dot.
	Name string
	// Definition of one value before a statistic is taken.
	Definition string
	Source     string
	// Tool is the load generator of these figures, and Quantity the registry's name of the
	// quantity; both are "" for the registry. See Foreign.
	Tool, Quantity string
	// Metrics in the order of All.
	Metrics []Metric
}

// All returns every metric in a stable order: that of a result table, with groups together. The
// caller may modify the slice.
func All() []Metric { return ungrouped(registry()) }

func ungrouped(groups []Group) []Metric {
	var all []Metric
	for _, g := range groups {
		all = append(all, g.Metrics...)
	}
	return all
}

// Groups returns the metrics by group, in the order of All. The caller may modify the slices.
func Groups() []Group { return cloned(registry()) }

func cloned(groups []Group) []Group {
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].Metrics = slices.Clone(groups[i].Metrics)
	}
	return groups
}

// Lookup finds a metric by its ID: one of the registry, or a figure of another load generator
// ("guidellm_ttft.p99"), which has a Tool. The statistic "median" is an alias of "p50".
func Lookup(id string) (Metric, bool) {
	if m, ok := byID()[canonical(id)]; ok {
		return m, true
	}
	return foreignOf(canonical(id))
}

// The registry is built from the tables in latency.go, single.go and counted.go when it is first used, and never
// modified afterwards.
var (
	registry = sync.OnceValue(func() []Group { return slices.Concat(latencies(), singles(), counted()) })
	byID     = sync.OnceValue(func() map[string]Metric { return index(registry()) })
)

func index(groups []Group) map[string]Metric {
	ids := map[string]Metric{}
	for _, m := range ungrouped(groups) {
		ids[m.ID] = m
	}
	return ids
}
