// Package machine is about the machine that this program runs on: its facts, the locks by
// which runs keep its GPUs for themselves, and what happens to them while a run lasts.
package machine

import (
	"context"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// Facts describes the machine, with the few keys that a report's heading shows.
func Facts(ctx context.Context, spawner steps.Spawner) map[string]string {
	facts := probe.Machine(ctx, spawner)
	AddHeadings(facts)
	for key, value := range facts {
		if value == probe.Unavailable {
			delete(facts, key) // a fact that this machine does not have is no row of a report
		}
	}
	return facts
}

// AddHeadings adds the few keys that a report's heading shows.
func AddHeadings(facts map[string]string) {
	for key, fact := range map[string]string{
		result.MachineGPU: "gpu_name", result.MachineGPUs: "gpu_count", result.MachineCPU: "cpu_model",
	} {
		if value := facts[fact]; value != "" && value != probe.Unavailable && value != "0" {
			facts[key] = value
		}
	}
}
