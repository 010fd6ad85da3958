package probe

import (
	"slices"
	"strings"
)

// decisive states how a fact affects comparisons between machines.
type decisive struct {
	name string
	// gpu and cpu mean that machines must agree on the fact, for comparable figures, if GPUs or CPUs do the
	// work.
	gpu, cpu bool
	// role means that hosts with the same task in one run must agree on the fact, too. Between runs it may be
	// the object of the comparison.
	role bool
}

// decisiveFacts lists the facts that affect how fast a server can be, or that cause a warning if hosts of one
// run differ. All other facts are only displayed.
var decisiveFacts = []decisive{
	{name: "gpu_count", gpu: true},
	{name: "gpu_name", gpu: true},
	{name: "gpu_memory_mib", gpu: true},
	{name: "gpu_driver", role: true},
	{name: "gpu_mig", gpu: true},
	{name: "gpu_topology", gpu: true},
	{name: "arch", gpu: true, cpu: true},
	{name: "cpu_model", cpu: true},
	{name: "cpus", cpu: true},
	{name: "cpu_sockets", cpu: true},
	{name: "numa_nodes", cpu: true},
	{name: "nics", gpu: true, cpu: true},
	{name: "cpu_governor"}, {name: "smt"}, {name: "memory_gib"}, {name: "kernel"}, {name: "os"},
	{name: "gpu_power_limit_w"}, {name: "gpu_max_clock_mhz"},
}

// Hard lists the facts on which two machines must agree for comparable figures. All others are soft: a
// difference is displayed without effect. The driver, the power limit and the governor are soft, because they
// may be the object of the comparison.
func Hard(facts map[string]string) []string {
	gpus := withGPUs(facts)
	return names(func(d decisive) bool { return gpus && d.gpu || !gpus && d.cpu })
}

func withGPUs(facts map[string]string) bool {
	v := facts["gpu_count"]
	return v != "" && v != Unavailable
}

func names(fits func(decisive) bool) []string {
	var out []string
	for _, d := range decisiveFacts {
		if fits(d) {
			out = append(out, d.name)
		}
	}
	return out
}

// Unlike compares two hosts with the same task in one run. hard is the first fact on which they must agree but
// differ; soft is the first other difference worth a warning; "" for none. gpus means that GPUs do the work,
// even if the facts do not show it.
func Unlike(a, b map[string]string, gpus bool) (hard, soft string) {
	gpus = gpus || withGPUs(a) || withGPUs(b)
	for _, d := range decisiveFacts {
		switch {
		case a[d.name] == b[d.name]:
		case d.role || gpus && d.gpu || !gpus && d.cpu:
			if hard == "" {
				hard = d.name
			}
		case soft == "":
			soft = d.name
		}
	}
	return hard, soft
}

// HardKey returns the hard facts of a machine as text. It is equal for machines with comparable figures.
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

// Differences lists the facts in which two machines differ, hard and soft ones separately, each in alphabetical
// order.
func Differences(a, b map[string]string) (hardFacts, softFacts []string) {
	keys := map[string]struct{}{}
	for key := range a {
		keys[key] = struct{}{}
	}
	for key := range b {
		keys[key] = struct{}{}
	}
	must := append(Hard(a), Hard(b)...)
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
		if slices.Contains(must, key) {
			hardFacts = append(hardFacts, key)
		} else {
			softFacts = append(softFacts, key)
		}
	}
	slices.Sort(hardFacts)
	slices.Sort(softFacts)
	return hardFacts, softFacts
}
