package slurmjob

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

func TestLoadNodes(t *testing.T) {
	node := 0
	withNode := func(s *steps.SlurmSpec, _ *plan.Plan) { s.LoadNode = &node }
	if j, _ := jobOf(t, 4, withNode); !slices.Equal(j.loadNodes(), []int{0, 1, 2, 3}) {
		t.Errorf("with four lanes the load comes from nodes %v", j.loadNodes())
	}
	j, _ := jobOf(t, 4, func(s *steps.SlurmSpec, p *plan.Plan) { s.LoadNode, p.Cluster.Lanes = &node, 0 })
	if !slices.Equal(j.loadNodes(), []int{0}) {
		t.Errorf("without lanes the load comes from nodes %v", j.loadNodes())
	}
	if j, _ := jobOf(t, 4, nil); j.loadNodes() != nil {
		t.Error("the load comes from a node that the file does not name")
	}
}

// TestLoadOfANodeIsNotDelayedOnPurpose: what delays it listens beside the command.
func TestLoadOfANodeIsNotDelayedOnPurpose(t *testing.T) {
	node := 0
	j, _ := jobOf(t, 4, func(s *steps.SlurmSpec, _ *plan.Plan) { s.LoadNode = &node })
	if err := j.CheckLoad(steps.Workload{}, true); err == nil ||
		!strings.Contains(err.Error(), "load of a node cannot be delayed on purpose") {
		t.Errorf("%v", err)
	}
	if err := j.CheckLoad(steps.Workload{}, false); err != nil {
		t.Errorf("not delayed: %v", err)
	}
}
