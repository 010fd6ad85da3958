package metric

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// canonical replaces the alias "median" by its statistic.
func canonical(id string) string {
	if group, ok := strings.CutSuffix(id, ".median"); ok {
		return group + ".p50"
	}
	return id
}

// Suggest returns the ID that a misspelt id most likely means, or "" if none is near. It also
// accepts a bare group ("ttft") and vLLM's spelling ("p99_ttft_ms").
//
//	metric.Suggest("tftt.p99") // "ttft.p99"
func Suggest(id string) string {
	id = strings.ToLower(strings.TrimPrefix(id, "metric."))
	if m, ok := byID()[fromTool(id)]; ok {
		return m.ID
	}
	for _, g := range slices.Concat(registry(), foreignAll()) {
		if g.Name == id {
			return preferred(g).ID
		}
	}
	// Allow a third of the letters to be wrong; beyond that a guess would mislead.
	best, bestDistance := "", len(id)/3+1
	for _, m := range ungrouped(slices.Concat(registry(), foreignAll())) {
		if d := levenshtein.Distance(canonical(id), m.ID, nil); d < bestDistance {
			best, bestDistance = m.ID, d
		}
	}
	return best
}

// fromTool converts the result keys of vLLM and SGLang ("p99_ttft_ms", "mean_e2e_latency_ms") to
// our IDs. In other strings it only replaces an alias.
func fromTool(id string) string {
	stat, quantity, ok := strings.Cut(strings.TrimSuffix(id, "_ms"), "_")
	if !ok || strings.Contains(id, ".") {
		return canonical(id)
	}
	switch quantity {
	case "e2e_latency":
		quantity = "e2el"
	case "client_queue_time":
		quantity = "queue"
	case "e2el_including_client_queue":
		quantity = "e2el_from_schedule"
	}
	return canonical(quantity + "." + stat)
}

// preferred returns the metric of a group that is gated most often: the tail if it has one.
func preferred(g Group) Metric {
	for _, m := range g.Metrics {
		if m.Stat == "p99" {
			return m
		}
	}
	return g.Metrics[0]
}
