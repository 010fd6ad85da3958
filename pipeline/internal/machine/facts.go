// Package machine handles the machine that this program runs on: its facts, the locks that reserve its GPUs for
// a run, and watching them during a run.
package machine

import (
	"context"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// Facts describes the machine, including the keys for a report's heading.
func Facts(ctx context.Context, spawner steps.Spawner) map[string]string {
	facts := probe.Machine(ctx, spawner)
	AddHeadings(facts)
	for key, value := range facts {
		if value == probe.Unavailable {
			delete(facts, key) // reports omit facts that this machine does not have
		}
	}
	return facts
}

// AddHeadings adds the keys for a report's heading.
func AddHeadings(facts map[string]string) {
	for key, fact := range map[string]string{
		result.MachineGPU: "gpu_name", result.MachineGPUs: "gpu_count", result.MachineCPU: "cpu_model",
	} {
		if value := facts[fact]; value != "" && value != probe.Unavailable && value != "0" {
			facts[key] = value
		}
	}
}
