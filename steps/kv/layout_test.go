package kv_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// pairOf is a deployment of one prefill and one decode server behind a router.
func pairOf(engine, version, protocol string, t steps.TransferSpec, services ...string) steps.DeploymentSpec {
	spec := steps.DeploymentSpec{
		Addr: "deployment.d", Transfer: &t,
		Router: &steps.RouterSpec{Protocol: protocol, Prefill: []string{"prefill"}, Decode: []string{"decode"}},
	}
	for name, role := range map[string]string{"prefill": steps.RoleProducer, "decode": steps.RoleConsumer} {
		spec.Members = append(spec.Members, steps.Member{Name: name, Role: role, Spec: steps.ServerSpec{
			Addr: "deployment.d.server." + name, Engine: engine, Version: version, Model: "m", Executable: []string{engine},
		}})
	}
	slices.SortFunc(spec.Members, func(a, b steps.Member) int { return strings.Compare(b.Name, a.Name) })
	for _, s := range services {
		spec.Services = append(spec.Services, steps.ServiceSpec{Name: s, Kind: s})
	}
	return spec
}

// edit changes a deployment of a table.
func edit(spec steps.DeploymentSpec, change func(*steps.DeploymentSpec)) steps.DeploymentSpec {
	change(&spec)
	return spec
}

func replicas(engine, version string, t *steps.TransferSpec, services ...string) steps.DeploymentSpec {
	spec := steps.DeploymentSpec{Addr: "deployment.d", Transfer: t, Router: &steps.RouterSpec{Protocol: "round_robin",
		Decode: []string{"a", "b"}}}
	for _, name := range []string{"a", "b"} {
		spec.Members = append(spec.Members, steps.Member{Name: name, Spec: steps.ServerSpec{Engine: engine, Version: version, Model: "m",
			Image: "vllm/vllm-openai:v" + version}})
	}
	for _, s := range services {
		spec.Services = append(spec.Services, steps.ServiceSpec{Name: s, Kind: s})
	}
	return spec
}

func transfer(connector, transport string, devices ...string) steps.TransferSpec {
	return steps.TransferSpec{Connector: connector, Transport: transport, Devices: devices}
}

// goldens are rendered into testdata/render, one file each.
func goldens() map[string]steps.DeploymentSpec {
	mode := func(t steps.TransferSpec, mode string) steps.TransferSpec {
		t.Options = map[string]any{"mode": mode}
		return t
	}
	seed := func(t steps.TransferSpec, services ...string) steps.DeploymentSpec {
		return pairOf("vllm", "0.6.4.post1", "v0", t, services...)
	}
	out := map[string]steps.DeploymentSpec{
		"nixl-pull-newest":     pairOf("vllm", "", "nixl", transfer("nixl", "")),
		"nixl-pull-0.9-tcp":    pairOf("vllm", "0.9.1", "nixl", transfer("nixl", kv.TCP, "eth0")),
		"nixl-push-0.33-rdma":  pairOf("vllm", "0.33.0", "nixl", mode(transfer("nixl", kv.RDMA, "mlx5_0", "mlx5_1:2"), "push")),
		"nixl-0.33-nvlink":     pairOf("vllm", "0.33.0", "nixl", transfer("nixl", kv.NVLink)),
		"mooncake-0.6.4-rdma2": seed(transfer("mooncake", kv.RDMA, "erdma_0", "erdma_1"), "etcd"),
		"mooncake-0.6.4-tcp":   seed(transfer("mooncake", kv.TCP), "metadata"),
		"mooncake-0.8":         pairOf("vllm", "0.8.4", "v0", transfer("mooncake", kv.TCP), "etcd"),
		"mooncake-0.14":        pairOf("vllm", "0.14.1", "nixl", transfer("mooncake", kv.TCP)),
		"mooncake-0.33-rdma":   pairOf("vllm", "0.33.0", "mooncake", transfer("mooncake", kv.RDMA, "mlx5_0", "mlx5_1")),
		"mooncake-0.33-tcp":    pairOf("vllm", "0.33.0", "mooncake", transfer("mooncake", kv.TCP)),
		"mooncake-newest":      pairOf("vllm", "", "mooncake", transfer("mooncake", kv.NVLink)),
		"p2p_nccl-0.10-tcp":    pairOf("vllm", "0.10.2", "p2p_nccl", transfer("p2p_nccl", kv.TCP, "eth0")),
		"p2p_nccl-0.23-rdma":   pairOf("vllm", "0.23.1", "p2p_nccl", transfer("p2p_nccl", kv.RDMA, "mlx5_0")),
		"pynccl-0.6.4":         pairOf("vllm", "0.6.4", "v0", transfer("pynccl", kv.NCCL)),
		"pynccl-0.10-nvlink":   pairOf("vllm", "0.10.0", "v0", transfer("pynccl", kv.NVLink)),
		"lmcache-0.33":         pairOf("vllm", "0.33.0", "v0", transfer("lmcache", "")),
		"example-0.11":         pairOf("vllm", "0.11.0", "v0", transfer("example", "")),
		"example-0.33":         pairOf("vllm", "0.33.0", "v0", transfer("example", "")),
		"store-0.8":            pairOf("vllm", "0.8.4", "v0", transfer("mooncake_store", kv.TCP), "mooncake_master"),
		"sglang-mooncake-rdma": pairOf("sglang", "", "sglang", transfer("mooncake", kv.RDMA, "mlx5_0")),
		"sglang-mooncake-tcp":  pairOf("sglang", "", "sglang", transfer("mooncake", kv.TCP)),
		"sglang-0.5.5-tcp":     pairOf("sglang", "0.5.5", "sglang", transfer("mooncake", kv.TCP)),
		"sglang-nixl":          pairOf("sglang", "0.5.23", "sglang", transfer("nixl", kv.RDMA, "mlx5_0")),
		"sglang-custom": pairOf("sglang", "0.5.23", "sglang", steps.TransferSpec{Connector: "custom",
			Options: map[string]any{"connector": "mori"}}),
		"replicas-no-transfer": replicas("vllm", "0.33.0", nil),
		"store-0.33-replicas": replicas("vllm", "0.33.0", &steps.TransferSpec{Connector: "mooncake_store", Transport: kv.RDMA,
			Devices: []string{"mlx5_0"}, Buffer: 8 << 30}, "mooncake_master"),
		"single-without-router": {Addr: "deployment.d",
			Members: []steps.Member{{Name: "only", Spec: steps.ServerSpec{Engine: "vllm", Model: "m"}}}},
	}
	out["mooncake-2p2d-own-settings"] = twoAndTwo()
	out["multi-nixl-store"] = pairOf("vllm", "0.33.0", "nixl", steps.TransferSpec{Connector: "multi", Transport: kv.TCP, Buffer: 8 << 30,
		Config: map[string]any{
			"connectors": []any{
				map[string]any{"connector": "nixl", "config": map[string]any{"backends": []any{"UCX"}}},
				map[string]any{"connector": "mooncake_store"},
				map[string]any{"kv_connector": "OffloadingConnector", "kv_role": "kv_both",
					"kv_connector_extra_config": map[string]any{"cpu_bytes_to_use": int64(1000)}},
			},
		}}, "mooncake_master")
	out["custom"] = pairOf("vllm", "0.33.0", "nixl", steps.TransferSpec{Connector: "custom", Config: map[string]any{"answer": int64(42),
		"kv_load_failure_policy": "recompute"}, Options: map[string]any{
		"connector": "MyConnector", "module_path": "my.module", "env": map[string]any{"MY_PORT": "1", "MY_A": "x"},
	}})
	return out
}

// twoAndTwo sets by hand what can be set by hand.
func twoAndTwo() steps.DeploymentSpec {
	t := transfer("mooncake", kv.RDMA, "mlx5_0")
	t.Config = map[string]any{"num_workers": int64(20), "kv_buffer_device": "cpu"}
	spec := pairOf("vllm", "0.33.0", "mooncake", t)
	for _, m := range spec.Members[:2] {
		m.Name += "2"
		spec.Members = append(spec.Members, m)
	}
	spec.Members[0].Spec.Port = 8100
	spec.Members[0].Spec.Env = []steps.EnvVar{{Name: "VLLM_MOONCAKE_BOOTSTRAP_PORT", Value: "9998"}, {Name: "MC_TE_METRIC", Value: "0"},
		{Name: "HF_TOKEN", Value: "s", Secret: true}}
	spec.Members[0].Spec.Args = []steps.Arg{{Name: "tensor-parallel-size", Value: int64(2)}}
	spec.Router.Prefill = append(spec.Router.Prefill, "prefill2")
	spec.Router.Decode = append(spec.Router.Decode, "decode2")
	spec.Router.Port = 8000
	return spec
}

func TestRenderGolden(t *testing.T) {
	for name, spec := range goldens() {
		t.Run(name, func(t *testing.T) {
			l, err := kv.Connectors().NewLayout(spec)
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, filepath.Join("testdata", "render", name+".golden"), show(t, spec, l))
		})
	}
}

// show writes a layout for people: ports, waves, and every process.
func show(t *testing.T, spec steps.DeploymentSpec, l *kv.Layout) string {
	t.Helper()
	r, err := l.Render(l.Symbolic())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("order\n")
	for i, wave := range l.Order() {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, strings.Join(wave, " "))
	}
	b.WriteString("ports\n")
	for _, n := range l.Ports() {
		fmt.Fprintf(&b, "  %s", n.Port)
		if n.Fixed != 0 {
			fmt.Fprintf(&b, " = %d", n.Fixed)
		}
		if n.Count > 1 {
			fmt.Fprintf(&b, ", %d in a row", n.Count)
		}
		if n.Spacing > n.Count {
			fmt.Fprintf(&b, ", %d apart", n.Spacing)
		}
		b.WriteString("\n")
	}
	for _, s := range r.Services {
		fmt.Fprintf(&b, "service %s (%s)\n  image %q, scratch %v, ready when %s%s\n  %s\n", s.Name, s.Kind, s.Image, s.Scratch, s.ReadyPort,
			s.ReadyPath, strings.Join(slices.Concat(s.Program, s.Args), " "))
	}
	for _, m := range spec.Members {
		showMember(t, &b, m, l.Role(m.Name), r.Members[m.Name])
	}
	if r.Router != nil {
		port := steps.PortSymbol(kv.Port{kv.RouterName, kv.PortHTTP}.String())
		if n := l.Symbolic().Ports[kv.Port{kv.RouterName, kv.PortHTTP}]; n != 0 {
			port = steps.PortNumber(n)
		}
		fmt.Fprintf(&b, "router %s, listens on %s:%s\n", r.Router.Protocol, r.Router.Host, port)
		if r.Router.NoParams {
			b.WriteString("  prefill answers without transfer parameters\n")
		}
		for _, side := range []struct {
			name string
			list []kv.Backend
		}{{"prefill", r.Router.Prefill}, {"decode", r.Router.Decode}} {
			for _, e := range side.list {
				fmt.Fprintf(&b, "  %s %s %s", side.name, e.Name, e.URL)
				if e.Bootstrap != "" {
					fmt.Fprintf(&b, " bootstrap=%s", e.Bootstrap)
				}
				if e.KV != "" {
					fmt.Fprintf(&b, " kv=%s", e.KV)
				}
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

func showMember(t *testing.T, b *strings.Builder, m steps.Member, role string, e kv.Extra) {
	t.Helper()
	fmt.Fprintf(b, "server %s, %s %s, role %q\n", m.Name, m.Spec.Engine, m.Spec.Version, role)
	for _, a := range e.Args {
		text, err := json.Marshal(a.Value)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(b, "  --%s %s\n", strings.ReplaceAll(a.Name, "_", "-"), text)
	}
	for _, v := range e.Env {
		fmt.Fprintf(b, "  %s=%s\n", v.Name, v.Value)
	}
	for _, f := range e.Files {
		fmt.Fprintf(b, "  %s=(path of %s)\n", f.EnvVar, f.Name)
		for line := range strings.Lines(string(f.Content)) {
			fmt.Fprintf(b, "    | %s", line)
		}
	}
}

// Each golden file belongs to a case.
func TestGoldenFilesHaveCases(t *testing.T) {
	files, err := filepath.Glob("testdata/render/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".golden"))
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(goldens())), names); diff != "" {
		t.Errorf("files without a case, or cases without a file (-cases +files):\n%s", diff)
	}
}

// Each row of the table is rendered by a golden file, which changes without it.
func TestEveryFormIsShown(t *testing.T) {
	shown := func(table kv.Table, spec steps.DeploymentSpec) string {
		l, err := table.NewLayout(spec)
		if err != nil {
			return err.Error()
		}
		return show(t, spec, l)
	}
	for i, c := range kv.Connectors() {
		for j, f := range c.Forms {
			if f.Unlisted {
				continue
			}
			without := slices.Clone(kv.Connectors())
			without[i].Forms = slices.Delete(slices.Clone(c.Forms), j, j+1)
			if !slices.ContainsFunc(slices.Collect(maps.Values(goldens())), func(spec steps.DeploymentSpec) bool {
				return shown(kv.Connectors(), spec) != shown(without, spec)
			}) {
				t.Errorf("no golden file for %s of %s %s to %s", c.Name, f.Engine, f.From, f.To)
			}
		}
	}
}
