package vllm

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/zclconf/go-cty/cty"
)

// Arguments that spread vLLM over nodes: by vLLM's processes in later versions, or as a Ray cluster
// in all versions.
const (
	flagNodes  = "--nnodes"
	backendArg = "distributed_executor_backend"
	backendRay = "ray"
)

// byPlace are the arguments that depend on a node's rank.
var byPlace = []string{"nnodes", "n", "node_rank", "r", "master_addr", "master_port", "headless"}

// hostIP is the address that the workers of a node announce. By default vLLM uses the address of
// the default route, which may not be on the network between the nodes.
const hostIP = "VLLM_HOST_IP"

func checkNodes(o steps.Object, version string) []steps.Problem {
	if o.Int("nodes") < 2 {
		return nil
	}
	known := lists(version)
	found := known.CheckNodes(o, byPlace...)
	if backendOf(o, known) == backendRay {
		return found
	}
	if err := known.HasNodes(flagNodes); err != nil {
		found = append(found, steps.Problem{
			Path: []string{"nodes"}, Summary: err.Error(),
			Detail: fmt.Sprintf("With %s = %q in args it is started as a Ray cluster, which every version can.", backendArg, backendRay),
		})
	}
	return found
}

// backendOf returns the executor that a block sets, or "".
func backendOf(o steps.Object, known argument.Lists) string {
	for name, value := range argument.Args(o) {
		if known.Full(name) == backendArg {
			return steps.Object{Attrs: map[string]cty.Value{backendArg: value}}.Text(backendArg)
		}
	}
	return ""
}

// RenderNode renders the process of one node.
//
// With args.distributed_executor_backend = "ray" the nodes form a separate Ray cluster. The first
// node starts its head, waits for the others, and becomes the server; the others wait for the head
// and join. Otherwise each node runs vLLM, which connects its processes itself (--nnodes); all but
// the first are headless. It returns an error for versions that cannot.
func (v vllm) RenderNode(spec steps.ServerSpec, at steps.NodePlace) (steps.Process, error) {
	words, err := serverFlags(spec)
	if err != nil {
		return steps.Process{}, err
	}
	if argument.SettingsOf(spec)[backendArg] == backendRay {
		return rayNode(spec, at, words)
	}
	if err := lists(spec.EngineVersion()).HasNodes(flagNodes); err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w; set %s = %q in args for a Ray cluster", spec.Addr, err, backendArg, backendRay)
	}
	argv := prefix(spec.Program(), spec.Model)
	if at.Rank == 0 {
		argv = append(argv, "--host", at.Listen, "--port", at.Port.String())
	}
	argv = append(argv, flagNodes, strconv.Itoa(spec.Nodes), "--node-rank", strconv.Itoa(at.Rank),
		"--master-addr", at.Head, "--master-port", at.Rendezvous.String())
	if at.Rank > 0 {
		argv = append(argv, "--headless")
	}
	return engine.Process(spec, append(argv, words...), nodeEnv(spec, at), at.Listen, at.Port), nil
}

func nodeEnv(spec steps.ServerSpec, at steps.NodePlace) []steps.EnvVar {
	return engine.ForcedEnv(serverEnv(spec), steps.EnvVar{Name: hostIP, Value: at.Host})
}

// rayWait makes the first node wait until all nodes have joined. Otherwise its server would find
// too few GPUs, and versions before 0.8 then exit.
const rayWait = `import ray,sys; ray.init(address=sys.argv[1], log_to_driver=False); sys.exit(sum(n["Alive"] for n in ray.nodes()) < int(sys.argv[2]))`

// rayNode returns the process of a node of a Ray cluster. A script starts head and server as one
// process: in containers the server finds its node's Ray only in the same container. The children of
// the script end with it, and it ends when Ray does.
func rayNode(spec steps.ServerSpec, at steps.NodePlace, words []string) (steps.Process, error) {
	if _, set := steps.Getenv(spec.Env, "RAY_ADDRESS"); set {
		return steps.Process{},
			fmt.Errorf("%s: env.RAY_ADDRESS names a Ray cluster, and nodes makes one of the server's own; remove one of them", spec.Addr)
	}
	ray, python := rayTools(spec.Program())
	head := engine.ShellWord(engine.Address(at.Head, at.Rendezvous))
	start := ray + " start --block --node-ip-address=" + engine.ShellWord(at.Host)
	env := nodeEnv(spec, at)
	if at.Rank > 0 {
		script := fmt.Sprintf("until %s health-check --address %s >/dev/null 2>&1; do sleep 1; done; exec %s --address=%s",
			ray, head, start, head)
		return engine.Process(spec, []string{"sh", "-c", script}, env, at.Listen, at.Port), nil
	}
	script := fmt.Sprintf(
		`%s --head --port=%s & ray=$!; until %s -c %s %s %d >/dev/null 2>&1; do kill -0 $ray || exit 1; sleep 1; done; export RAY_ADDRESS=%s; exec "$@"`,
		start, at.Rendezvous, python, engine.ShellWord(rayWait), head, spec.Nodes, head)
	argv := append([]string{"sh", "-c", script, "sh"}, prefix(spec.Program(), spec.Model)...)
	argv = append(append(argv, "--host", at.Listen, "--port", at.Port.String()), words...)
	return engine.Process(spec, argv, env, at.Listen, at.Port), nil
}

// rayTools returns Ray's program and the interpreter that has its module: those in the folder of
// vLLM's program if a path names it.
func rayTools(executable []string) (ray, python string) {
	for _, word := range slices.Backward(executable) {
		base := path.Base(word)
		if strings.Contains(word, "/") && (base == "vllm" || strings.HasPrefix(base, "python")) {
			dir := path.Dir(word)
			return engine.ShellWord(path.Join(dir, "ray")), engine.ShellWord(path.Join(dir, "python3"))
		}
	}
	return "ray", "python3"
}
