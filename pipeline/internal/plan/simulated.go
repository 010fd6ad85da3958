package plan

import "github.com/servegate/pipeline/reports/result"

// The values of Plan.Simulated; "" means that the servers are real.
const (
	// SimulateProcess starts doubles of the servers as processes.
	SimulateProcess = "process"
	// SimulateContainer starts them in containers.
	SimulateContainer = "container"
	// SimulateVirtual carries the plan out in virtual time, without processes.
	SimulateVirtual = result.SimulatedVirtual
)
