package slurmjob

import (
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// Machines of two nodes each, which repeats take in turn, are parts of the job as lanes are.
func TestNodesAsMachines(t *testing.T) {
	j, _ := jobOf(t, 4, func(_ *steps.SlurmSpec, p *plan.Plan) {
		p.Cluster.Lanes, p.Machines = 0, &plan.Machines{Count: 2, Width: 2}
	})
	for machine, first := range []int{0, 2} {
		part, ok := j.Lane(machine).Place.(*job)
		if !ok || part.first != first || part.count != 2 {
			t.Errorf("machine %d has %+v, want two nodes from %d on", machine, part, first)
		}
	}
}
