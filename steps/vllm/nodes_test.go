package vllm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/vllm"
	"github.com/zclconf/go-cty/cty"
)

// nodesOf renders every process of a server that is spread over nodes.
func nodesOf(t *testing.T, spec steps.ServerSpec) string {
	t.Helper()
	var b strings.Builder
	for rank := range spec.Nodes {
		p, err := vllm.New().Capabilities().Spreader.RenderNode(spec, steps.NodePlace{
			Rank: rank, Host: fmt.Sprintf("10.0.0.%d", rank+1), Head: "10.0.0.1", Rendezvous: steps.PortNumber(6379), Listen: "0.0.0.0",
			Port: steps.PortNumber(8000 + rank),
		})
		if err != nil {
			t.Fatalf("%s: %v", spec.Addr, err)
		}
		fmt.Fprintf(&b, "# %s, node %d\n%s\n", spec.Addr, rank, strings.Join(p.Argv, "\n  "))
		for _, e := range p.Env {
			fmt.Fprintf(&b, "  %s=%s\n", e.Name, e.Value)
		}
		if p.Container != nil {
			fmt.Fprintf(&b, "  in a container: %s\n", container(t, p.Container))
		}
	}
	return b.String()
}

func TestRenderNodesGolden(t *testing.T) {
	const model = "Qwen/Qwen2-7B-Instruct"
	args := []steps.Arg{{Name: "tensor_parallel_size", Value: int64(2)}}
	ray := append(args[:1:1], steps.Arg{Name: "distributed_executor_backend", Value: "ray"})
	text := nodesOf(t, steps.ServerSpec{Addr: "its own processes", Version: "0.33.0", Model: model, ServedName: "sut", Nodes: 3,
		GPUs: 2, Args: args}) +
		nodesOf(t, steps.ServerSpec{
			Addr: "Ray", Version: "0.11.0", Model: model, Nodes: 2, Args: ray,
			Env: []steps.EnvVar{{Name: "VLLM_HOST_IP", Value: "1.1.1.1"}, {Name: "NCCL_DEBUG", Value: "INFO"}},
		}) +
		nodesOf(t, steps.ServerSpec{Addr: "Ray of a virtual environment", Executable: []string{"numactl", "-N0", "/opt/it's mine/bin/vllm"},
			Version: "0.11.0", Model: model, Nodes: 2, Args: ray}) +
		nodesOf(t, steps.ServerSpec{
			Addr: "Ray in containers", Image: "vllm/vllm-openai:v0.11.0", Model: model, Nodes: 2, Args: ray,
			Container: &steps.ContainerSpec{Network: steps.NetworkHost, GPUs: &steps.GPURequest{IDs: []string{"0"}}},
		})
	golden.Equal(t, "testdata/nodes.golden", text)
}

// Versions without the flag are refused with those that have it, and a Ray cluster is not
// made beside another.
func TestRenderNodesRefused(t *testing.T) {
	at := steps.NodePlace{Head: "h", Host: "h", Rendezvous: steps.PortNumber(1), Port: steps.PortNumber(2)}
	for name, tt := range map[string]struct {
		spec steps.ServerSpec
		want string
	}{
		"old version": {steps.ServerSpec{Version: "0.11.0"}, "vLLM 0.11.0 has no --nnodes and cannot be spread over nodes: vLLM 0.11."},
		"two clusters": {
			steps.ServerSpec{Version: "0.11.0", Args: []steps.Arg{{Name: "distributed-executor-backend", Value: "ray"}},
				Env: []steps.EnvVar{{Name: "RAY_ADDRESS", Value: "x"}}},
			"env.RAY_ADDRESS names a Ray cluster",
		},
		"no model": {steps.ServerSpec{}, "model is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Nodes = 2
			if name != "no model" {
				tt.spec.Model = "m"
			}
			_, err := vllm.New().Capabilities().Spreader.RenderNode(tt.spec, at)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestCheckNodes(t *testing.T) {
	for name, tt := range map[string]struct {
		version string
		args    map[string]cty.Value
		want    string
	}{
		"new":         {version: "0.33.0", args: map[string]cty.Value{"seed": cty.NumberIntVal(1)}},
		"between":     {version: "0.15.1", args: map[string]cty.Value{"seed": cty.NumberIntVal(1)}},
		"not stated":  {args: map[string]cty.Value{"seed": cty.NumberIntVal(1)}},
		"old, by Ray": {version: "0.6.4", args: map[string]cty.Value{"distributed_executor_backend": cty.StringVal("ray")}},
		"old": {version: "0.10.2", args: map[string]cty.Value{"distributed_executor_backend": cty.StringVal("mp")},
			want: "has no --nnodes"},
		"set by the place": {version: "0.33.0", args: map[string]cty.Value{"node-rank": cty.NumberIntVal(1)},
			want: "nodes sets node-rank for each process"},
	} {
		t.Run(name, func(t *testing.T) {
			attrs := map[string]cty.Value{"model": cty.StringVal("m"), "nodes": cty.NumberIntVal(2), "args": cty.ObjectVal(tt.args)}
			if tt.version != "" {
				attrs["version"] = cty.StringVal(tt.version)
			}
			found := vllm.Kind().Validate(steps.Object{Attrs: attrs})
			if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.Contains(found[0].Summary, tt.want)) {
				t.Errorf("got %v, want %q", found, tt.want)
			}
		})
	}
}

func TestClassifyRay(t *testing.T) {
	for line, want := range map[string]string{
		"sh: 1: ray: not found": "not_installed",
		"[2026-11-21 16:00:00,123 E 12 12] gcs_rpc_client.h:179: Failed to connect to GCS at address 10.0.0.1:6379 within 5 seconds.":  "ray",
		"Exception: The current node timed out during startup. This could happen because some of the Ray processes failed to startup.": "ray",
		"torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.":                       "nccl",
		"RuntimeError: This node has an IP address of 10.0.0.2, while we can not find the matched Raylet address. This maybe come from when " +
			"you connect the Ray cluster with": "ray",
	} {
		if class, evidence := vllm.New().Classify([]string{"INFO starting", line}); class != want || evidence != line {
			t.Errorf("%s: %s (%s), want %s", line, class, evidence, want)
		}
	}
}
