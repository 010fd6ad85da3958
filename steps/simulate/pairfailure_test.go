package simulate

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// pairOf starts the members of a case, with failures of either side.
func pairOf(t *testing.T, c pairCase, failP, failD []string) (p, d *member) {
	t.Helper()
	c.p.fail, c.d.fail = failP, failD
	return startMember(t, c.p), startMember(t, c.d)
}

func shown(t *testing.T, m *member, name string) float64 {
	t.Helper()
	resp, err := http.Get(m.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	f := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `(?:\{[^}]*\})? (\S+)$`).FindSubmatch(text)
	if f == nil {
		t.Fatalf("no metric %s in\n%s", name, text)
	}
	v, err := strconv.ParseFloat(string(f[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sourceMetric is a counter with a source label.
func sourceMetric(t *testing.T, m *member, source string) float64 {
	t.Helper()
	resp, err := http.Get(m.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	f := regexp.MustCompile(`vllm:prompt_tokens_by_source_total\{[^}]*source="` + source + `"\} (\S+)`).FindSubmatch(text)
	if f == nil {
		t.Fatalf("no source %s in\n%s", source, text)
	}
	v, err := strconv.ParseFloat(string(f[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPairEvidence reads what honest pairs report of their transfers.
func TestPairEvidence(t *testing.T) {
	prompt := randomPrompt(7, 320)
	bytes := 320 * fastNetworkKV(t)
	t.Run("pull", func(t *testing.T) {
		c := nixlCase(t, "NixlConnector", nil)
		p, d := pairOf(t, c, nil, nil)
		c.router(t, p, d, prompt, 3)
		if got := shown(t, d, "vllm:nixl_bytes_transferred_sum"); got != bytes {
			t.Errorf("decode pulled %v bytes, want %v", got, bytes)
		}
		if got := shown(t, p, "vllm:nixl_bytes_transferred_sum"); got != 0 {
			t.Errorf("prefill reports that it wrote %v bytes", got)
		}
		if a, b := sourceMetric(t, d, "external_kv_transfer"), sourceMetric(t, d, "local_compute"); a != 320 || b != 0 {
			t.Errorf("decode got %v tokens from outside and computed %v", a, b)
		}
		if got := shown(t, d, "vllm:external_prefix_cache_hits_total"); got != 320 {
			t.Errorf("%v external hits", got)
		}
	})
	t.Run("push", func(t *testing.T) {
		c := nixlCase(t, "NixlPushConnector", nil)
		p, d := pairOf(t, c, nil, nil)
		c.router(t, p, d, prompt, 3)
		if a, b := shown(t, p, "vllm:nixl_bytes_transferred_sum"), shown(t, d, "vllm:nixl_bytes_transferred_sum"); a != bytes || b != 0 {
			t.Errorf("prefill wrote %v bytes, decode read %v; want %v and 0", a, b, bytes)
		}
	})
	t.Run("sglang", func(t *testing.T) {
		cases := pairCases(t)
		c := cases[slices.IndexFunc(cases, func(c pairCase) bool { return c.name == "SGLang mooncake" })]
		p, d := pairOf(t, c, nil, nil)
		c.router(t, p, d, prompt, 3)
		if got := shown(t, d, "sglang:kv_transfer_total_mb"); got != bytes/(1<<20) {
			t.Errorf("%v MB moved, want %v", got, bytes/(1<<20))
		}
		if got := shown(t, d, "sglang:kv_transfer_speed_gb_s"); got <= 0 {
			t.Errorf("the speed is %v", got)
		}
	})
}

func fastNetworkKV(t *testing.T) float64 {
	t.Helper()
	p, err := model.ProfileByName("fast")
	if err != nil {
		t.Fatal(err)
	}
	return p.Model.KVBytesPerToken
}

// TestPairLies checks what is seen of servers that do not do what their configuration says.
func TestPairLies(t *testing.T) {
	prompt := randomPrompt(9, 400)
	t.Run("recompute", func(t *testing.T) {
		c := nixlCase(t, "NixlConnector", nil)
		p, d := pairOf(t, c, nil, []string{"recompute"})
		if code, answer := c.router(t, p, d, prompt, 3); code != 200 {
			t.Fatalf("%d %v", code, answer)
		}
		if a, b := sourceMetric(t, d, "external_kv_transfer"), sourceMetric(t, d, "local_compute"); a != 0 || b != 400 {
			t.Errorf("decode got %v tokens from outside and computed %v", a, b)
		}
		waitIdle(t, p)
	})
	t.Run("transport_fallback", func(t *testing.T) {
		cases := pairCases(t)
		c := cases[slices.IndexFunc(cases, func(c pairCase) bool { return c.name == "MooncakeConnector" })]
		p, d := pairOf(t, c, []string{"transport_fallback"}, []string{"transport_fallback"})
		if code, answer := c.router(t, p, d, prompt, 3); code != 200 {
			t.Fatalf("%d %v", code, answer)
		}
		for _, line := range []string{"is using rdma as its protocol", "No RDMA devices found", "TcpTransport: listen on port"} {
			if !strings.Contains(p.log.String(), line) {
				t.Errorf("no line has %q:\n%s", line, p.log)
			}
		}
		if bytes, s := shown(t, p, "vllm:mooncake_bytes_transferred_sum"),
			shown(t, p, "vllm:mooncake_xfer_time_seconds_sum"); bytes/s > 1.25e9 {
			t.Errorf("%v bytes took %v s: that is not TCP", bytes, s)
		}
	})
	t.Run("handshake_fail", func(t *testing.T) {
		c := nixlCase(t, "NixlConnector", nil)
		p, d := pairOf(t, c, nil, []string{"handshake_fail"})
		if code, answer := c.router(t, p, d, prompt, 3); code != 500 {
			t.Fatalf("%d %v", code, answer)
		}
		if !strings.Contains(d.log.String(), "NIXL compatibility hash mismatch") || shown(t, d, "vllm:nixl_num_failed_transfers_total") != 1 {
			t.Errorf("the failure leaves no trace:\n%s", d.log)
		}
	})
	t.Run("peer_dies", func(t *testing.T) {
		c := nixlCase(t, "NixlConnector", nil)
		p, d := pairOf(t, c, []string{"peer_dies=2"}, nil)
		if code, answer := c.router(t, p, d, prompt, 3); code != 200 {
			t.Fatalf("%d %v", code, answer)
		}
		if code, answer := c.router(t, p, d, randomPrompt(10, 400), 3); code != 500 {
			t.Fatalf("the transfer of a dying peer answers %d %v", code, answer)
		}
		if err := <-p.done; err == nil {
			t.Error("the prefill server did not die")
		}
	})
}

// TestPairWiring breaks the wiring and expects the failure of the real engines.
func TestPairWiring(t *testing.T) {
	prompt := randomPrompt(11, 300)
	t.Run("dead peer, fail", func(t *testing.T) {
		c := nixlCase(t, "NixlConnector", nil)
		d := startMember(t, c.d)
		code, answer := postKV(t, d.url+"/v1/completions", "", completion(prompt, 3, map[string]any{"kv_transfer_params": map[string]any{
			"do_remote_prefill": true, "remote_block_ids": []int{1, 2}, "remote_engine_id": "gone", "remote_host": "127.0.0.1", "remote_port": 1}}))
		if code != 500 || !strings.Contains(d.log.String(), "connect to 127.0.0.1:1") {
			t.Errorf("%d %v\n%s", code, answer, d.log)
		}
		if st := d.stats(); st.KVUsage != 0 || st.Waiting != 0 {
			t.Errorf("the failed request is still there: %+v", st)
		}
	})
	t.Run("dead peer, recompute", func(t *testing.T) {
		c := nixlCase(t, "NixlConnector", nil)
		c.d.args = kvFlag("NixlConnector", "consumer", `,"kv_load_failure_policy":"recompute"`)
		d := startMember(t, c.d)
		code, answer := postKV(t, d.url+"/v1/completions", "", completion(prompt, 3, map[string]any{"kv_transfer_params": map[string]any{
			"do_remote_prefill": true, "remote_block_ids": []int{1}, "remote_engine_id": "gone", "remote_host": "127.0.0.1", "remote_port": 1}}))
		if code != 200 || d.stats().ExternalHits != 0 {
			t.Errorf("%d %v %+v", code, answer, d.stats())
		}
	})
	t.Run("other model", func(t *testing.T) {
		c := nixlCase(t, "NixlConnector", nil)
		c.d.args = append(c.d.args, "--block-size", "32")
		p, d := pairOf(t, c, nil, nil)
		if code, answer := c.router(t, p, d, prompt, 3); code != 500 || !strings.Contains(d.log.String(), "compatibility hash mismatch") {
			t.Errorf("%d %v\n%s", code, answer, d.log)
		}
	})
	t.Run("parameters of no use", func(t *testing.T) {
		c := nixlCase(t, "NixlConnector", nil)
		d := startMember(t, c.d)
		code, _ := postKV(t, d.url+"/v1/completions", "",
			completion(prompt, 3, map[string]any{"kv_transfer_params": map[string]any{"do_remote_prefill": true}}))
		if code != 200 || !strings.Contains(d.log.String(), "Got invalid KVTransferParams") {
			t.Errorf("%d\n%s", code, d.log)
		}
	})
	t.Run("side channel is taken", func(t *testing.T) {
		c := nixlCase(t, "NixlConnector", nil)
		startMember(t, c.p)
		argv := append([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--host", "127.0.0.1", "--port", "0"}, c.d.args...)
		p := runMainEnv(t, map[string]string{SettingsEnv: `{"time_scale":50}`,
			"VLLM_NIXL_SIDE_CHANNEL_PORT": c.p.env["VLLM_NIXL_SIDE_CHANNEL_PORT"]}, argv...)
		if code := <-p.exit; code != 1 || !strings.Contains(p.log.String(), "Address already in use") {
			t.Errorf("exit %d:\n%s", code, p.log)
		}
	})
}
