package kv_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

func TestRefusals(t *testing.T) {
	nixl := func(version string) steps.DeploymentSpec {
		return pairOf("vllm", version, "nixl", transfer("nixl", kv.RDMA))
	}
	config := func(connector string, config map[string]any) steps.TransferSpec {
		return steps.TransferSpec{Connector: connector, Config: config}
	}
	env := func(spec steps.DeploymentSpec, name, value string) steps.DeploymentSpec {
		return edit(spec, func(d *steps.DeploymentSpec) {
			d.Members[0].Spec.Env = []steps.EnvVar{{Name: name, Value: value}}
		})
	}
	arg := func(spec steps.DeploymentSpec, name string, value any) steps.DeploymentSpec {
		return edit(spec, func(d *steps.DeploymentSpec) {
			d.Members[0].Spec.Args = []steps.Arg{{Name: name, Value: value}}
		})
	}
	roles := func(spec steps.DeploymentSpec, prefill, decode string) steps.DeploymentSpec {
		return edit(spec, func(d *steps.DeploymentSpec) { d.Members[0].Role, d.Members[1].Role = prefill, decode })
	}
	push := transfer("nixl", kv.TCP)
	push.Options = map[string]any{"mode": "push"}
	buffered := transfer("mooncake", kv.TCP)
	buffered.Buffer = 1 << 30

	for name, tt := range map[string]struct {
		spec steps.DeploymentSpec
		want string
	}{
		"removed": {
			pairOf("vllm", "0.33.0", "p2p_nccl", transfer("p2p_nccl", kv.TCP)),
			`deployment.d: p2p_nccl needs vLLM 0.9.2 to 0.23 (server "prefill" states vLLM 0.33.0)`,
		},
		"removed, newest": {
			pairOf("vllm", "", "v0", transfer("pynccl", kv.NCCL)),
			`deployment.d: pynccl needs vLLM 0.6.4 to 0.10 (server "prefill" states vLLM without a version, which means the newest)`,
		},
		"in between": {
			pairOf("vllm", "v0.10.2", "nixl", transfer("mooncake", kv.TCP)),
			`deployment.d: mooncake needs vLLM 0.6.4 to 0.8, or vLLM 0.13 or later, or SGLang 0.4.6 or later (server "prefill" states vLLM v0.10.2)`,
		},
		"not yet": {
			nixl("0.8.5"),
			`deployment.d: nixl needs vLLM 0.9 or later, or SGLang 0.4.6 or later (server "prefill" states vLLM 0.8.5)`,
		},
		"push": {
			pairOf("vllm", "0.20.0", "nixl", push),
			`deployment.d: nixl with mode push needs vLLM 0.24 or later (server "prefill" states vLLM 0.20.0)`,
		},
		"other engine": {
			pairOf("sglang", "0.5.23", "sglang", transfer("lmcache", "")),
			`deployment.d: lmcache needs vLLM 0.8.5 or later (server "prefill" states SGLang 0.5.23)`,
		},
		"no such connector": {
			pairOf("vllm", "", "nixl", transfer("carrier_pigeon", "")),
			`deployment.d: unknown kv_transfer carrier_pigeon; use one of nixl, mooncake, mooncake_store, ` +
				`p2p_nccl, pynccl, lmcache, multi, example, custom`,
		},
		"mixed versions": {
			edit(pairOf("vllm", "0.14.0", "nixl", transfer("mooncake", kv.TCP)),
				func(d *steps.DeploymentSpec) { d.Members[1].Spec.Version = "0.33.0" }),
			`deployment.d: the servers do not speak the same mooncake: "prefill" is for vLLM 0.13 to 0.15, "decode" for vLLM 0.16 or later; use one engine and version on both sides`,
		},
		"at a url": {
			edit(nixl(""), func(d *steps.DeploymentSpec) { d.Members[1].Spec.URL = "http://h:1" }),
			`deployment.d: server "decode" is at a url and is not started, so kv_transfer nixl cannot be set up in it; start it from an image or an executable`,
		},
		"protocol": {
			pairOf("vllm", "", "v0", transfer("nixl", kv.TCP)),
			`deployment.d: router "v0" does not speak the protocol of kv_transfer nixl here; use router "nixl"`,
		},
		"whole requests": {
			pairOf("vllm", "", "round_robin", transfer("example", "")),
			`deployment.d: router "round_robin" sends a request to one server and makes no prefill server hand over; use router "v0", or list all servers as decode`,
		},
		"whole requests, half a server": {
			edit(pairOf("vllm", "", "round_robin", transfer("example", "")), func(d *steps.DeploymentSpec) { d.Router.Prefill = nil }),
			`deployment.d: router "round_robin" needs servers that prefill and decode, and "decode" is a consumer; set its role to both`,
		},
		"a router of others, half a server": {
			edit(pairOf("vllm", "", "exec", transfer("example", "")), func(d *steps.DeploymentSpec) {
				d.Router.Prefill, d.Router.Command = nil, []string{"r"}
			}),
			`deployment.d: router "exec" needs servers that prefill and decode, and "decode" is a consumer; set its role to both`,
		},
		"no transfer": {
			edit(nixl(""), func(d *steps.DeploymentSpec) { d.Transfer = nil }),
			`deployment.d: server "prefill" has the role producer, but nothing moves KV caches; add a kv_transfer block or remove the role`,
		},
		"router without transfer": {
			edit(roles(nixl(""), "", ""), func(d *steps.DeploymentSpec) { d.Transfer = nil }),
			`deployment.d: router "nixl" hands KV caches over, but the deployment has no kv_transfer; use router "round_robin"`,
		},
		"no router": {
			edit(nixl(""), func(d *steps.DeploymentSpec) { d.Router = nil }),
			`deployment.d: the deployment has 2 servers and no router; add router "nixl" { … }`,
		},
		"unknown member": {
			edit(nixl(""), func(d *steps.DeploymentSpec) { d.Router.Decode = []string{"dcode"} }),
			`deployment.d: the router lists "dcode", which the deployment does not declare`,
		},
		"no role": {
			edit(roles(nixl(""), "", ""), func(d *steps.DeploymentSpec) { d.Router = nil }),
			`deployment.d: server "prefill" has no role in the transfer; set role = "producer" if it prefills or "consumer" if it decodes`,
		},
		"role against router": {
			roles(nixl(""), "consumer", "producer"),
			`deployment.d: server "prefill" is a consumer, but the router uses it as a producer; correct the role or the router's lists`,
		},
		"sglang both": {
			roles(pairOf("sglang", "", "sglang", transfer("nixl", kv.TCP)), "both", ""),
			`deployment.d: server "prefill" has the role both, which SGLang does not have; set "producer" or "consumer"`,
		},
		"v0 both": {
			roles(pairOf("vllm", "0.6.4", "v0", transfer("pynccl", kv.NCCL)), "both", ""),
			`deployment.d: server "prefill" has the role both, but pynccl joins one prefill and one decode server; set "producer" or "consumer"`,
		},
		"nobody decodes": {
			edit(roles(nixl(""), "producer", "producer"), func(d *steps.DeploymentSpec) { d.Router = nil }),
			`deployment.d: no server decodes: kv_transfer nixl needs one with the role consumer`,
		},
		"three where two": {
			edit(pairOf("vllm", "0.6.4", "v0", transfer("mooncake", kv.TCP), "etcd"), func(d *steps.DeploymentSpec) {
				m := d.Members[0]
				m.Name = "prefill2"
				d.Members = append(d.Members, m)
			}),
			`deployment.d: mooncake joins exactly one prefill and one decode server, here are 2 and 1; start several deployments instead`,
		},
		"no metadata": {
			pairOf("vllm", "0.6.4.post1", "v0", transfer("mooncake", kv.RDMA)),
			`deployment.d: mooncake of vLLM 0.6.4 to 0.8 needs a service; add service "etcd" { } or service "metadata" { }`,
		},
		"no master": {
			pairOf("vllm", "0.33.0", "v0", transfer("mooncake_store", kv.RDMA)),
			`deployment.d: mooncake_store of vLLM 0.21 or later needs a service; add service "mooncake_master" { }`,
		},
		"no such service": {
			pairOf("vllm", "", "nixl", transfer("nixl", kv.TCP), "zookeeper"),
			`deployment.d: unknown service "zookeeper"; use etcd, metadata or mooncake_master`,
		},
		"same names": {
			edit(nixl(""), func(d *steps.DeploymentSpec) {
				d.Services = []steps.ServiceSpec{{Name: "decode", Kind: "etcd"}}
			}),
			`deployment.d: server "decode" and service "decode" share their name; rename one of them`,
		},
		"called router": {
			edit(nixl(""), func(d *steps.DeploymentSpec) { d.Members[0].Name = "router" }),
			`deployment.d: the process "router" and server "router" share their name; rename one of them`,
		},
		"both configurations": {
			arg(nixl(""), "kv-transfer-config.kv_role", "kv_both"),
			`deployment.d: server "prefill" sets args.kv-transfer-config.kv_role beside a kv_transfer block; keep one of them: kv_transfer "custom" takes what no preset has`,
		},
		"sglang mode": {
			arg(pairOf("sglang", "", "sglang", transfer("nixl", kv.TCP)), "disaggregation_mode", "decode"),
			`deployment.d: server "prefill" sets args.disaggregation_mode = decode, but the deployment makes it prefill; remove the argument`,
		},
		"sglang backend": {
			arg(pairOf("sglang", "", "sglang", transfer("mooncake", kv.TCP)), "disaggregation-transfer-backend", "nixl"),
			`deployment.d: server "prefill" sets args.disaggregation_transfer_backend = nixl, but the deployment makes it mooncake_tcp; remove the argument`,
		},
		"sglang config": {
			pairOf("sglang", "", "sglang", config("mooncake", map[string]any{"x": 1})),
			`deployment.d: SGLang has no settings of a connector besides its flags; write config as args and env of the servers`,
		},
		"sglang module": {
			pairOf("sglang", "", "sglang", steps.TransferSpec{Connector: "custom", Options: map[string]any{"connector": "c", "module_path": "m"}}),
			`deployment.d: SGLang loads no connector from a module; remove module_path`,
		},
		"forced TCP": {
			env(nixl(""), "MC_FORCE_TCP", "true"),
			`deployment.d: server "prefill" sets MC_FORCE_TCP=true, which rules out the declared transport rdma; remove one of them`,
		},
		"port": {
			env(nixl(""), "VLLM_NIXL_SIDE_CHANNEL_PORT", "(known after step.exec.port)"),
			`deployment.d: server "prefill": env.VLLM_NIXL_SIDE_CHANNEL_PORT must be a port; leave it out and one is chosen`,
		},
		"size": {
			arg(nixl(""), "tensor_parallel_size", "many"),
			`deployment.d: server "prefill": args.tensor_parallel_size is many; ports are planned from it, so it must be a whole number from 1`,
		},
		"buffer": {
			pairOf("vllm", "0.33.0", "mooncake", buffered),
			`deployment.d: kv_transfer mooncake of vLLM 0.16 or later has no transfer buffer; remove buffer`,
		},
		"transport": {
			pairOf("vllm", "", "nixl", transfer("nixl", kv.NCCL)),
			`deployment.d: kv_transfer nixl cannot use nccl; remove transport or use one of [tcp rdma nvlink]`,
		},
		"rank": {
			pairOf("vllm", "", "nixl", config("nixl", map[string]any{"kv_role": "kv_both"})),
			`deployment.d: config.kv_role of kv_transfer nixl is set for each server by the pipeline; remove it, or write args.kv_transfer_config of each server without a kv_transfer block`,
		},
		"two device lists": {
			pairOf("vllm", "", "mooncake", steps.TransferSpec{Connector: "mooncake", Devices: []string{"mlx5_0"},
				Config: map[string]any{"device_name": "mlx5_1"}}),
			`deployment.d: kv_transfer mooncake has devices [mlx5_0] and config.device_name mlx5_1; keep one of them`,
		},
		"custom without name": {
			pairOf("vllm", "", "nixl", transfer("custom", "")),
			`deployment.d: kv_transfer custom needs the engine's name of the connector: connector = "MyConnector"`,
		},
		"multi without list": {
			pairOf("vllm", "", "nixl", transfer("multi", "")),
			`deployment.d: kv_transfer multi needs the list of its connectors: config = { connectors = [{ connector = "nixl" }, …] }`,
		},
		"multi, old child": {
			pairOf("vllm", "0.33.0", "nixl", config("multi", map[string]any{"connectors": []any{map[string]any{"connector": "p2p_nccl"}}})),
			`deployment.d: kv_transfer multi: connectors[0]: p2p_nccl needs vLLM 0.9.2 to 0.23 (server "prefill" states vLLM 0.33.0)`,
		},
		"multi, bad child": {
			pairOf("vllm", "0.33.0", "nixl",
				config("multi", map[string]any{"connectors": []any{map[string]any{"connector": "nixl", "transport": "tcp"}}})),
			`deployment.d: kv_transfer multi: connectors[0]: has no argument transport; it knows connector, config, mode and path`,
		},
		"empty": {steps.DeploymentSpec{Addr: "deployment.d"}, `deployment.d: the deployment has no server`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := kv.Connectors().NewLayout(tt.spec)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// What a version has must not depend on how its number is written.
func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		version, from, to string
		want              bool
	}{
		{"0.23.4", "0.9.2", "0.23", true},
		{"0.24.0", "0.9.2", "0.23", false},
		{"v0.9.2", "0.9.2", "", true},
		{"0.9", "0.9.2", "", false},
		{"0.6.4.post1", "0.6.4", "0.8", true},
		{"0.10.1rc1", "0.9", "0.10", true},
		{"", "0.9", "", true},
		{"", "0.9", "0.23", false},
		{"nightly", "0.9", "0.23", false},
		{"1.0", "0.33", "", true},
		{"99999999999999999999.1", "0.9", "", true},
	} {
		table := kv.Table{{Name: "toy", Forms: []kv.Form{{Engine: kv.VLLM, From: tt.from, To: tt.to, Class: "Toy", Config: func(*kv.Writer) {}}}}}
		if _, err := table.NewLayout(pairOf("vllm", tt.version, "nixl", transfer("toy", ""))); (err == nil) != tt.want {
			t.Errorf("%q within %q to %q: %v", tt.version, tt.from, tt.to, err)
		}
	}
}

// A connector that looks for all ranks of a server at one address joins no servers that
// are spread over nodes.
func TestRefusesServersOfSeveralNodes(t *testing.T) {
	for name, tt := range map[string]struct {
		connector, engine, version string
		args                       []steps.Arg
		want                       string
	}{
		"nixl": {connector: "nixl", engine: kv.VLLM, version: "0.33.0"},
		"old nixl": {connector: "nixl", engine: kv.VLLM, version: "0.11.0",
			want: `server "p" has nodes = 2, and kv_transfer nixl joins servers of several nodes from vLLM 0.12 on`},
		"sglang":   {connector: "mooncake", engine: kv.SGLang, version: "0.5.23"},
		"p2p_nccl": {connector: "p2p_nccl", engine: kv.VLLM, version: "0.11.0", want: "joins servers of one node only"},
		"a Ray cluster": {connector: "nixl", engine: kv.VLLM, version: "0.33.0",
			args: []steps.Arg{{Name: "distributed-executor-backend", Value: "ray"}}, want: "is a Ray cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			member := func(name, role string) steps.Member {
				return steps.Member{Name: name, Role: role, Spec: steps.ServerSpec{Engine: tt.engine, Version: tt.version, Executable: []string{"x"},
					Model: "m", Nodes: 2, Args: tt.args}}
			}
			protocol := map[string]string{"nixl": "nixl", "mooncake": "sglang", "p2p_nccl": "p2p_nccl"}[tt.connector]
			_, err := kv.Connectors().NewLayout(steps.DeploymentSpec{
				Addr: "deployment.d", Members: []steps.Member{member("p", steps.RoleProducer), member("d", steps.RoleConsumer)},
				Transfer: &steps.TransferSpec{Connector: tt.connector}, Router: &steps.RouterSpec{Protocol: protocol, Prefill: []string{"p"},
					Decode: []string{"d"}},
			})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
