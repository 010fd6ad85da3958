package sglang

import (
	"fmt"
	"strconv"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// flagNodes is the flag for the number of nodes of a server.
const flagNodes = "--nnodes"

// byPlace lists the arguments that depend on the node.
var byPlace = []string{"nnodes", "node_rank", "dist_init_addr", "nccl_init_addr"}

// hostIP is the variable with the address that a node announces. By default SGLang uses that of the default
// route, which may not be the network between the nodes.
const hostIP = "SGLANG_HOST_IP"

func checkNodes(o steps.Object, version string) []steps.Problem {
	if o.Int("nodes") < 2 {
		return nil
	}
	found := lists(version).CheckNodes(o, byPlace...)
	if err := lists(version).HasNodes(flagNodes); err != nil {
		found = append(found, steps.Problem{Path: []string{"nodes"}, Summary: err.Error()})
	}
	return found
}

// RenderNode renders the process of one node. All nodes get the same command line, with their rank and the
// address to connect to. Only the first serves requests; the others use their port for health checks.
func (sglang) RenderNode(spec steps.ServerSpec, at steps.NodePlace) (steps.Process, error) {
	if err := lists(spec.EngineVersion()).HasNodes(flagNodes); err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	env := engine.ForcedEnv(spec.Env, steps.EnvVar{Name: hostIP, Value: at.Host})
	return render(spec, at.Listen, at.Port, env,
		flagNodes, strconv.Itoa(spec.Nodes), "--node-rank", strconv.Itoa(at.Rank), "--dist-init-addr", engine.Address(at.Head, at.Rendezvous))
}
