package simulate

import (
	"errors"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/kv"
)

// TestTransferRefusals holds the engines' own messages for configurations they refuse.
func TestTransferRefusals(t *testing.T) {
	for _, c := range []struct{ version, config, want string }{
		{"0.33.0", `{"kv_connector":"P2pNcclConnector","kv_role":"kv_producer"}`, "Unsupported connector type: P2pNcclConnector"},
		{"0.33.0", `{"kv_connector":"PyNcclConnector","kv_role":"kv_producer"}`, "Unsupported connector type: PyNcclConnector"},
		{"0.11.0", `{"kv_connector":"NixlPushConnector","kv_role":"kv_producer"}`, "Unsupported connector type: NixlPushConnector"},
		{"0.6.4.post1", `{"kv_connector":"NixlConnector","kv_role":"kv_producer"}`, "Unsupported connector type: NixlConnector"},
		{"0.33.0", `{"kv_connector":"NixlConnector"}`, "Please specify kv_role when kv_connector is set"},
		{"0.33.0", `{"kv_connector":"NixlConnector","kv_role":"prefill"}`, "Unsupported kv_role: prefill"},
		{"0.33.0", `{"kv_connector":"NixlConnector","kv_role":"kv_both","kv_rank":0}`, "kv_rank\n  Unexpected keyword argument"},
		{"0.33.0", `{"kv_connector":"NixlConnector","kv_role":"kv_both","kv_buffer_size":1e9}`, "kv_buffer_size\n  Unexpected keyword argument"},
		{"0.33.0", `{"kv_connector":"NixlConnector","kv_role":"kv_both","kv_rol":1}`, `unknown field "kv_rol"`},
		{"0.33.0", `{"kv_connector":"NixlConnector","kv_role":"kv_both","kv_port":"x"}`, "kv_port\n  Input should be a valid number"},
		{"0.6.4.post1",
			`{"kv_connector":"PyNcclConnector","kv_role":"kv_producer","kv_rank":"x","kv_parallel_size":"x","kv_buffer_size":"x","kv_port":"x"}`,
			"kv_rank\n  Input should be a valid number"},
		{"0.33.0", `{"kv_connector":"NixlConnector","kv_role":"kv_both","kv_load_failure_policy":"retry"}`,
			"Input should be 'recompute' or 'fail'"},
		{"0.33.0", `{"kv_connector":"MultiConnector","kv_role":"kv_both"}`, "MultiConnector needs a list of connectors"},
		{"0.33.0", `{"kv_connector":"MultiConnector","kv_role":"kv_both","kv_connector_extra_config":{"connectors":[{"kv_connector":"NixlConnector"},{"kv_connector":"Nope"}]}}`, "Unsupported connector type: Nope"},
		{"0.33.0", `{"kv_connector":"Mine","kv_role":"kv_both","kv_connector_module_path":"a.b"}`,
			"comes from module a.b, which cannot be simulated"},
		{"0.33.0", `{"kv_connector":"MooncakeStoreConnector","kv_role":"kv_both"}`, "'MOONCAKE_CONFIG_PATH' is not set"},
		{"0.6.4.post1", `{"kv_connector":"MooncakeConnector","kv_role":"kv_producer"}`, "kv_rank is None"},
		{"0.6.4.post1", `{"kv_connector":"PyNcclConnector","kv_role":"kv_both","kv_rank":0,"kv_parallel_size":2}`, "kv_both is not supported"},
	} {
		_, err := NewServer([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--max-model-len", "4096", transferFlag, c.config},
			Options{Settings: Settings{Version: c.version}})
		if refused := (kv.Refused{}); !errors.As(err, &refused) || !strings.Contains(refused.Text, c.want) {
			t.Errorf("vLLM %s with %s: %v, want %q", c.version, c.config, err, c.want)
		}
	}
	for _, env := range []map[string]string{{"VLLM_NIXL_SIDE_CHANNEL_PORT": "fast"}, {"VLLM_NIXL_SIDE_CHANNEL_PORT": "70000"}} {
		_, err := NewServer([]string{"vllm", "serve", "m", transferFlag, `{"kv_connector":"NixlConnector","kv_role":"kv_both"}`},
			Options{Env: func(k string) string { return env[k] }})
		if err == nil {
			t.Errorf("%v is accepted", env)
		}
	}
}

// TestTransportOf checks what the variables of each library make of the transport.
func TestTransportOf(t *testing.T) {
	for _, c := range []struct {
		connector, version, env, want string
		devices                       int
	}{
		{"NixlConnector", "0.33.0", "", "rdma", 0},
		{"NixlConnector", "0.33.0", "UCX_TLS=rc,cuda_copy,self UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1", "rdma", 2},
		{"NixlConnector", "0.33.0", "UCX_TLS=tcp,cuda_copy,self UCX_NET_DEVICES=eth0", "tcp", 1},
		{"NixlConnector", "0.33.0", "UCX_TLS=cuda_ipc,cuda_copy,tcp,self", "nvlink", 0},
		{"MooncakeConnector", "0.33.0", "MC_FORCE_TCP=1", "tcp", 0},
		{"MooncakeConnector", "0.33.0", "MC_FORCE_HCA=1", "rdma", 0},
		{"MooncakeConnector", "0.14.0", "MC_FORCE_MNNVL=1", "nvlink", 0},
		{"P2pNcclConnector", "0.11.0", "NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_HCA=mlx5_0", "rdma", 1},
		{"P2pNcclConnector", "0.11.0", "NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1", "tcp", 0},
		{"P2pNcclConnector", "0.11.0", "NCCL_P2P_LEVEL=NVL", "nvlink", 0},
	} {
		env := map[string]string{}
		for pair := range strings.FieldsSeq(c.env) {
			k, v, _ := strings.Cut(pair, "=")
			env[k] = v
		}
		s, err := NewServer([]string{"vllm", "serve", "m", transferFlag, `{"kv_connector":"` + c.connector + `","kv_role":"kv_producer"}`},
			Options{Settings: Settings{Version: c.version}, Env: func(k string) string { return env[k] }})
		if err != nil {
			t.Fatal(err)
		}
		if p := s.launch.kv; p.Transport != c.want || len(p.Devices) != c.devices {
			t.Errorf("%s with %q: %s over %v, want %s over %d devices", c.connector, c.env, p.Transport, p.Devices, c.want, c.devices)
		}
	}
}

func FuzzTransferConfig(f *testing.F) {
	f.Add("0.33.0", `{"kv_connector":"NixlConnector","kv_role":"kv_both"}`)
	f.Add("0.11.0",
		`{"kv_connector":"MultiConnector","kv_role":"kv_both","kv_connector_extra_config":{"connectors":[{"kv_connector":"MultiConnector"}]}}`)
	f.Add("0.6.4", `{"kv_rank":"1e","kv_port":[]}`)
	f.Fuzz(func(t *testing.T, version, text string) {
		c, err := parseTransfer(kv.Connectors(), text, version)
		if err == nil && c.Connector != "" && c.Role == "" {
			t.Errorf("%q has a connector without a role", text)
		}
	})
}
