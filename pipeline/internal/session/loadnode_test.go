package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

func TestLoadNodes(t *testing.T) {
	cfg, p := planSideBySide(t, 4, "5%")
	node := 0
	cfg.Settings.Slurm.LoadNode = &node
	opt := Options{Config: cfg, Plan: p}
	c := shownCluster(opt)
	if got := c.loadNodes(opt); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("with four lanes the load comes from nodes %v", got)
	}
	p.Cluster.Lanes = 0
	if got := c.loadNodes(opt); !slices.Equal(got, []int{0}) {
		t.Errorf("without lanes the load comes from nodes %v", got)
	}
	cfg.Settings.Slurm.LoadNode = nil
	if c := shownCluster(opt); c.loadNodes(opt) != nil {
		t.Error("the load comes from a node that nobody asked for")
	}
	if (*cluster)(nil).loadNode() != nil {
		t.Error("without a cluster there is a node")
	}
}

// TestAboutLoad: without a node the load generator is the machine of the command, whose facts
// stand for it.
func TestAboutLoad(t *testing.T) {
	cfg, p := planSideBySide(t, 4, "5%")
	opt := Options{Config: cfg, Plan: p}
	all := map[string]string{}
	shownCluster(opt).aboutLoad(all, map[string]string{"cpus": "4", result.MachineCPU: "Xeon"}, opt)
	if all[clientFact] != clientPlace || all["load_generator.cpus"] != "4" || len(all) != 2 || all[result.MachineLoad] != "" {
		t.Errorf("%v", all)
	}
}

// TestLoadOfANodeIsNotDelayedOnPurpose: what delays it listens beside the command.
func TestLoadOfANodeIsNotDelayedOnPurpose(t *testing.T) {
	cfg, p := planSideBySide(t, 4, "5%")
	node := 0
	cfg.Settings.Slurm.LoadNode = &node
	opt := Options{Config: cfg, Plan: p, Engines: map[string]steps.Engine{}}
	opt.Front = func(int, string) (string, func() error, error) { return "", nil, nil }
	if err := supported(opt); err == nil || !strings.Contains(err.Error(), "load of a node cannot be delayed on purpose") {
		t.Errorf("%v", err)
	}
}
