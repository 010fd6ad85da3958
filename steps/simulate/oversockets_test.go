package simulate

import (
	"strings"
	"testing"
)

// TestVirtualOnly: a process says which of its connectors, and which releases, only virtual time plays, before it starts.
func TestVirtualOnly(t *testing.T) {
	config := writeTemp(t, "mooncake.json",
		`{"prefill_url":"127.0.0.1:1","decode_url":"127.0.0.1:2","metadata_server":"127.0.0.1:3","master_server_address":"127.0.0.1:4","protocol":"tcp"}`)
	lmcache := writeTemp(t, "lmcache.yaml", "nixl_role: receiver\nnixl_peer_port: 5\n")
	old := runMainEnv(t, map[string]string{SettingsEnv: `{"version":"0.7.3"}`}, "vllm", "serve", "m", "--port", "0")
	if code := <-old.exit; code != 2 || !strings.Contains(old.log.String(),
		"servers of vLLM 0.7.3 are simulated in virtual time alone: use --simulate=virtual") {
		t.Errorf("vLLM 0.7.3: exit status %d, want 2:\n%s", code, old.log)
	}
	const ranks = `,"kv_rank":0,"kv_parallel_size":2`
	for _, c := range []struct{ version, connector, more string }{
		{"0.8.0", "MooncakeConnector", ranks}, {"0.8.0", "PyNcclConnector", ranks}, {"0.11.0", "P2pNcclConnector", ""},
		{"0.33.0", "LMCacheConnectorV1", ""}, {"0.33.0", "MooncakeStoreConnector", ""}, {"0.33.0", "ExampleConnector", ""},
		{"0.33.0", "DecodeBenchConnector", ""},
	} {
		argv := append([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--port", "0"}, kvFlag(c.connector, "producer", c.more)...)
		p := runMainEnv(t, map[string]string{SettingsEnv: `{"version":"` + c.version + `"}`, "MOONCAKE_CONFIG_PATH": config,
			"LMCACHE_CONFIG_FILE": lmcache}, argv...)
		want := c.connector + " is simulated in virtual time alone: use --simulate=virtual"
		if code := <-p.exit; code != 2 || !strings.Contains(p.log.String(), want) {
			t.Errorf("%s of vLLM %s: exit status %d, want 2 with %q:\n%s", c.connector, c.version, code, want, p.log)
		}
	}
}
