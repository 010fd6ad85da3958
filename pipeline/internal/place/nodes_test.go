package place

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// onNodes returns the plan of a file with a server on a node, as many of them as the plan has targets.
func onNodes(at, width int) *plan.Plan {
	cfg := &config.Config{Servers: []*config.Server{{Addr: "server.vllm.s", Spec: steps.ServerSpec{Executable: []string{"vllm"},
		Node: at, Nodes: width}}}}
	return &plan.Plan{Config: cfg, Targets: []plan.Target{{Addr: "server.vllm.s"}}}
}

func TestServersByRole(t *testing.T) {
	p := onNodes(0, 1)
	n := Nodes{Lanes: 4, Width: 1, List: make([]Node, 4)}
	hosts := n.rolesOn(p.Config, "server.vllm.s")
	if got := hosts[result.RoleServer]; len(hosts) != 1 || !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("with four lanes the server is on nodes %v", hosts)
	}
}

// TestUnlikeNodes: servers of a role on other GPUs are no comparison; another kernel is worth a warning.
func TestUnlikeNodes(t *testing.T) {
	p := onNodes(0, 2)
	node := func(name, gpu, kernel string) Node {
		return Node{name, map[string]string{"gpu_name": gpu, "gpu_count": "8", "kernel": kernel}}
	}
	n := Nodes{Lanes: 1, Advice: "choose them by their label", List: []Node{node("a", "H100", "6.1"), node("b", "A100", "6.1")}}
	var warned []string
	opt := Options{Plan: p, Warn: func(text string) { warned = append(warned, text) }}
	err := n.Compare(opt)
	if err == nil || !strings.Contains(err.Error(), "node a has gpu_name H100 and node b has gpu_name A100; choose them by their label") {
		t.Errorf("%v", err)
	}
	n.List[1] = node("b", "H100", "6.8")
	if err := n.Compare(opt); err != nil || len(warned) != 1 || !strings.Contains(warned[0], "kernel 6.1 and kernel 6.8") {
		t.Errorf("%v, %v", warned, err)
	}
}

// TestAboutLoad: without a node the load generator is the machine of the command, whose facts
// stand for it.
func TestAboutLoad(t *testing.T) {
	n := Nodes{Kind: "slurm", LoadHere: "where the command runs", LoadAs: "a step of the job",
		List: []Node{{"a", nil}, {"b", map[string]string{"cpus": "8"}}}}
	all := map[string]string{}
	n.aboutLoad(all, map[string]string{"cpus": "4", result.MachineCPU: "Xeon"})
	if all[clientFact] != "where the command runs" || all["load_generator.cpus"] != "4" || len(all) != 2 || all[result.MachineLoad] != "" {
		t.Errorf("%v", all)
	}
	n.Load = []int{1}
	all = n.Facts(map[string]string{"cpus": "4"})
	if all[clientFact] != "a step of the job on b" || all["load_generator.cpus"] != "8" || all["command.cpus"] != "4" ||
		all["slurm.node1"] != "b" {
		t.Errorf("%v", all)
	}
}
