package probe

import (
	"slices"
	"strings"
)

// decisive is what a fact of a machine decides.
type decisive struct {
	name string
	// gpu and cpu say that machines with GPUs, and those whose processors do the work, must
	// have it alike for their figures to be compared.
	gpu, cpu bool
	// role says that hosts which do the same in one run must have it alike, too. Between runs
	// such a fact may be what is compared.
	role bool
}

// decisiveFacts is the one list of facts that decide how fast a server can be, or that are worth a
// warning where hosts of one run differ in them. All others are shown and decide nothing.
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

// Hard lists the facts of a machine that another must have alike for their figures to be
// compared. All others are soft: a difference is shown and decides nothing. The driver,
// the power limit and the governor are soft, since one of them may be what is compared.
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

// Unlike compares two hosts that do the same in one run: hard is the first fact that they
// must have alike and have not, soft the first other one that is worth a warning; "" for
// none. gpus says that GPUs do the work, though the facts may not tell.
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
