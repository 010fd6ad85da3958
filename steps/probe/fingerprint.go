package probe

import (
	"slices"
	"strings"
)

// hard are the facts that decide how fast a server can be: figures of machines that
// differ in one of them are not compared.
var hard = []string{"arch", "gpu_count", "gpu_name", "gpu_memory_mib", "gpu_mig", "gpu_topology", "nics"}

// hardWithoutGPU are such facts of a machine whose processors do the work.
var hardWithoutGPU = []string{"arch", "cpu_model", "cpus", "cpu_sockets", "numa_nodes", "nics"}

// Hard lists the facts of a machine that another must have alike for their figures to be
// compared. All others are soft: a difference is shown and decides nothing. The driver,
// the power limit and the governor are soft, since one of them may be what is compared.
func Hard(facts map[string]string) []string {
	if v := facts["gpu_count"]; v == "" || v == Unavailable {
		return slices.Clone(hardWithoutGPU)
	}
	return slices.Clone(hard)
}

// HardKey is the hard facts of a machine in one line, equal for machines whose figures
// may be compared.
func HardKey(facts map[string]string) string {
	var parts []string
	for _, key := range Hard(facts) {
		value := facts[key]
		if value == "" {
			value = Unavailable
		}
		parts = append(parts, key+"="+value)
	}
	return strings.Join(parts, "\n")
}

// Differences lists the facts in which two machines differ, hard ones apart from soft
// ones, each in alphabetical order.
func Differences(a, b map[string]string) (hardFacts, softFacts []string) {
	keys := map[string]struct{}{}
	for key := range a {
		keys[key] = struct{}{}
	}
	for key := range b {
		keys[key] = struct{}{}
	}
	decisive := append(Hard(a), Hard(b)...)
	value := func(m map[string]string, key string) string {
		if v := m[key]; v != "" {
			return v
		}
		return Unavailable
	}
	for key := range keys {
		if value(a, key) == value(b, key) {
			continue
		}
		if slices.Contains(decisive, key) {
			hardFacts = append(hardFacts, key)
		} else {
			softFacts = append(softFacts, key)
		}
	}
	slices.Sort(hardFacts)
	slices.Sort(softFacts)
	return hardFacts, softFacts
}
