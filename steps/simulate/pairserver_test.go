package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/transfer"
)

// member is one server of a pair, running in the test's process behind a real socket.
type member struct {
	url    string
	log    *logBuffer
	server *Server
	done   chan error
}

// memberSpec is how a member is started.
type memberSpec struct {
	version string
	fail    []string
	args    []string
	env     map[string]string
}

// lastPort that freePorts gave, so that none is given twice.
var lastPort atomic.Int64

// freePorts returns ports that no process listens on. They lie below the range that systems
// take ports of outgoing connections from, or one of those could take them meanwhile.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	const first, count = 12000, 8000
	lastPort.CompareAndSwap(0, int64(os.Getpid()*61))
	var ports []string
	for range count {
		port := strconv.FormatInt(first+lastPort.Add(1)%count, 10)
		ln, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		ln.Close()
		if ports = append(ports, port); len(ports) == n {
			return ports
		}
	}
	t.Fatalf("%d of %d ports are free", len(ports), n)
	return nil
}

func startMember(t *testing.T, spec memberSpec) *member {
	t.Helper()
	m := &member{log: newLogBuffer(), done: make(chan error, 1)}
	argv := append([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--host", "127.0.0.1"}, spec.args...)
	if len(spec.args) > 0 && spec.args[0] == "sglang" {
		argv = append([]string{"python3", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen2.5-7B-Instruct"}, spec.args[1:]...)
	}
	s, err := NewServer(argv, Options{Settings: Settings{Version: spec.version, TimeScale: 50, Fail: spec.fail},
		Env: func(k string) string { return spec.env[k] }, Log: m.log, PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	m.server = s
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.url = "http://" + ln.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	h := &http.Server{Handler: s.Handler()}
	go func() { _ = h.Serve(ln) }()
	go func() { m.done <- s.Drive(ctx) }()
	t.Cleanup(func() {
		cancel()
		h.Close()
		s.Close()
	})
	return m
}

func (m *member) stats() model.Stats {
	return m.server.driver.snapshot()
}

func postKV(t *testing.T, url, id string, body map[string]any) (int, map[string]any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if id != "" {
		req.Header.Set("X-Request-Id", id)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, map[string]any{"error": err.Error()}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, map[string]any{"error": err.Error()}
	}
	answer := map[string]any{}
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatalf("%s: %q: %v", url, raw, err)
	}
	return resp.StatusCode, answer
}

// testRouter sends one request through a pair in the words of a protocol.
type testRouter func(t *testing.T, p, d *member, prompt []int, output int) (int, map[string]any)

func completion(prompt []int, output int, more map[string]any) map[string]any {
	body := map[string]any{"prompt": prompt, "max_tokens": output, "ignore_eos": true}
	maps.Copy(body, more)
	return body
}

// routeParams is the two-phase protocol of NIXL.
func routeParams(t *testing.T, p, d *member, prompt []int, output int) (int, map[string]any) {
	t.Helper()
	code, first := postKV(t, p.url+"/v1/completions", "",
		completion(prompt, 1, map[string]any{"kv_transfer_params": map[string]any{"do_remote_decode": true, "do_remote_prefill": false}}))
	if code != 200 || first["kv_transfer_params"] == nil {
		t.Fatalf("prefill answers %d %v", code, first)
	}
	return postKV(t, d.url+"/v1/completions", "",
		completion(prompt, output, map[string]any{"kv_transfer_params": first["kv_transfer_params"]}))
}

// both sends to both sides at once and returns the second's answer.
func both(t *testing.T, urlP, urlD, id string, p, d map[string]any) (int, map[string]any) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		postKV(t, urlP, id, p)
	}()
	code, answer := postKV(t, urlD, id, d)
	<-done
	return code, answer
}

// routeMooncake asks the bootstrap server, then dispatches to both sides at once.
func routeMooncake(bootstrap string) testRouter {
	return func(t *testing.T, p, d *member, prompt []int, output int) (int, map[string]any) {
		t.Helper()
		resp, err := http.Get("http://127.0.0.1:" + bootstrap + "/query")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var engines map[string]transfer.BootstrapEntry
		if err := json.NewDecoder(resp.Body).Decode(&engines); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("xfer-%d", prompt[0])
		return both(t, p.url+"/v1/completions", d.url+"/v1/completions", "",
			completion(prompt, 1, map[string]any{"kv_transfer_params": map[string]any{"do_remote_decode": true, "transfer_id": id}}),
			completion(prompt, output, map[string]any{"kv_transfer_params": map[string]any{"do_remote_prefill": true, "transfer_id": id,
				"remote_bootstrap_addr": "http://127.0.0.1:" + bootstrap, "remote_engine_id": engines["0"].EngineID}}))
	}
}

// routeSGLang sends the same body with a room to both sides at once.
func routeSGLang(bootstrap string) testRouter {
	return func(t *testing.T, p, d *member, prompt []int, output int) (int, map[string]any) {
		t.Helper()
		body := completion(prompt, output, map[string]any{"bootstrap_host": "127.0.0.1", "bootstrap_port": json.Number(bootstrap),
			"bootstrap_room": uint64(7_000_000_000_000_000_000) + uint64(prompt[0])})
		return both(t, p.url+"/v1/completions", d.url+"/v1/completions", "", body, body)
	}
}

// pairCase is a connector on one version, as steps/kv renders it.
type pairCase struct {
	name   string
	p, d   memberSpec
	router testRouter
	// line about the transport at the start of a member.
	line string
}

func kvFlag(connector, role string, more string) []string {
	return []string{"--kv-transfer-config", fmt.Sprintf(`{"kv_connector":%q,"kv_role":"kv_%s"%s}`, connector, role, more)}
}

func writeTemp(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func nixlCase(t *testing.T, connector string, env map[string]string) pairCase {
	t.Helper()
	port := freePorts(t, 2)
	with := func(port string) map[string]string {
		all := map[string]string{"VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1", "VLLM_NIXL_SIDE_CHANNEL_PORT": port}
		maps.Copy(all, env)
		return all
	}
	return pairCase{
		name: connector, router: routeParams, line: "rma(rc_mlx5/mlx5_0:1",
		p: memberSpec{version: "0.33.0", args: kvFlag(connector, "producer", ""), env: with(port[0])},
		d: memberSpec{version: "0.33.0", args: kvFlag(connector, "consumer", ""), env: with(port[1])},
	}
}

func pairCases(t *testing.T) []pairCase {
	t.Helper()
	port := freePorts(t, 4)
	dotted := nixlCase(t, "NixlConnector", map[string]string{"UCX_TLS": "tcp,cuda_copy,self"})
	dotted.name, dotted.line = "NixlConnector over TCP, dotted flags", "rma(tcp/eth0)"
	dotted.p.args = []string{"--kv-transfer-config.kv_connector", "NixlConnector", "--kv-transfer-config.kv_role", "kv_producer"}
	boot := port[0]
	sglang := func(mode string, more ...string) memberSpec {
		return memberSpec{version: "0.5.23", args: append([]string{"sglang", "--disaggregation-mode", mode, "--enable-metrics"}, more...)}
	}
	multi := fmt.Sprintf(
		`,"kv_connector_extra_config":{"connectors":[{"kv_connector":"NixlConnector","kv_role":"kv_both"},{"kv_connector":"ExampleConnector","kv_role":"kv_both","kv_connector_extra_config":{"shared_storage_path":%q}}]}`, t.TempDir())
	several := nixlCase(t, "NixlConnector", nil)
	several.name, several.p.args, several.d.args = "MultiConnector", kvFlag("MultiConnector", "producer", multi),
		kvFlag("MultiConnector", "consumer", multi)
	return []pairCase{
		nixlCase(t, "NixlConnector", nil), nixlCase(t, "NixlPushConnector", nil), dotted, several,
		{name: "MooncakeConnector", router: routeMooncake(boot), line: "Topology discovery complete. Found 1 HCAs.",
			p: memberSpec{version: "0.33.0", args: kvFlag("MooncakeConnector", "producer",
				`,"kv_connector_extra_config":{"device_name":"mlx5_0"}`), env: map[string]string{"VLLM_MOONCAKE_BOOTSTRAP_PORT": boot}},
			d: memberSpec{version: "0.33.0", args: kvFlag("MooncakeConnector", "consumer", ``)}},
		{name: "SGLang mooncake", p: sglang("prefill", "--disaggregation-bootstrap-port", port[1]), d: sglang("decode"),
			router: routeSGLang(port[1]), line: "installTransport, type=rdma"},
		{name: "SGLang mooncake_tcp", p: sglang("prefill", "--disaggregation-bootstrap-port", port[2], "--disaggregation-transfer-backend",
			"mooncake_tcp"), d: sglang("decode", "--disaggregation-transfer-backend", "mooncake_tcp"), router: routeSGLang(port[2]),
			line: "TcpTransport: listen on port"},
		{name: "SGLang nixl", p: sglang("prefill", "--disaggregation-bootstrap-port", port[3], "--disaggregation-transfer-backend", "nixl"),
			d: sglang("decode", "--disaggregation-transfer-backend", "nixl"), router: routeSGLang(port[3]), line: "rma(rc_mlx5"},
	}
}

// startService runs a service until the test ends, and returns once it listens.
func startService(t *testing.T, argv ...string) {
	t.Helper()
	p := runMain(t, "", argv...)
	for !strings.Contains(p.log.String(), "is listening on") {
		select {
		case <-p.log.more:
		case code := <-p.exit:
			t.Fatalf("%v ended with %d: %s", argv, code, p.log)
		}
	}
}

func randomPrompt(seed, n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = (seed*7919 + i*104729 + i*i) % 30000
	}
	ids[0] = seed
	return ids
}

// TestPairs sends requests through pairs over every connector: the decode server makes the
// very tokens that a single server makes, without computing the prompt.
func TestPairs(t *testing.T) {
	alone := startMember(t, memberSpec{version: "0.33.0"})
	for _, c := range pairCases(t) {
		t.Run(c.name, func(t *testing.T) {
			d := startMember(t, c.d)
			p := startMember(t, c.p)
			tokens := 0
			for i := range 4 {
				prompt := randomPrompt(100+i, 200+13*i)
				tokens += len(prompt)
				_, want := postKV(t, alone.url+"/v1/completions", "", completion(prompt, 5, nil))
				code, got := c.router(t, p, d, prompt, 5)
				if code != 200 {
					t.Fatalf("request %d: status %d: %v\nprefill:\n%s\ndecode:\n%s", i, code, got, p.log, d.log)
				}
				if a, b := text(got), text(want); a != b {
					t.Fatalf("request %d: the pair says %q, one server %q", i, a, b)
				}
			}
			st := d.stats()
			if st.ExternalHits != tokens || st.ExternalQueries != tokens {
				t.Errorf("%d of %d prompt tokens came from the prefill server (%d asked for)", st.ExternalHits, tokens, st.ExternalQueries)
			}
			if !strings.Contains(p.log.String()+d.log.String(), c.line) {
				t.Errorf("no line has %q:\n%s\n%s", c.line, p.log, d.log)
			}
			waitIdle(t, p)
		})
	}
}

// waitIdle checks that a prefill server keeps no blocks once all was taken. The decode
// server may be done before it: its part ends with its connections.
func waitIdle(t *testing.T, m *member) {
	t.Helper()
	m.server.Close()
	m.server.driver.mu.Lock()
	held := m.server.driver.engine.Stats().Held
	m.server.driver.mu.Unlock()
	if held > 0 {
		t.Errorf("%d requests hold their blocks after their transfer", held)
	}
}

func text(answer map[string]any) string {
	choices, _ := answer["choices"].([]any)
	if len(choices) == 0 {
		return fmt.Sprint(answer)
	}
	return fmt.Sprint(choices[0].(map[string]any)["text"])
}
