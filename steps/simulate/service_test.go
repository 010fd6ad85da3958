package simulate

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func fetchText(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestServices(t *testing.T) {
	port := freePorts(t, 4)
	startService(t, "etcd", "--name", "pipeline", "--data-dir", "d", "--listen-client-urls", "http://127.0.0.1:"+port[0], "--advertise-client-urls", "http://127.0.0.1:"+port[0])
	startService(t, "mooncake_master", "--rpc_address=127.0.0.1", "--port", port[1], "--metrics_port", port[2], "--enable_http_metadata_server=true", "--http_metadata_server_port", port[3])
	etcd, metadata := "http://127.0.0.1:"+port[0], "http://127.0.0.1:"+port[3]+"/metadata"
	for _, c := range []struct {
		method, url, body string
		status            int
		want              string
	}{
		{"GET", etcd + "/health", "", 200, "OK"},
		{"POST", etcd + "/v3/kv/range", `{"key":"YQ=="}`, 200, `"count":"0"`},
		{"POST", etcd + "/v3/kv/put", `{"key":"YQ==","value":"Yg=="}`, 200, "header"},
		{"POST", etcd + "/v3/kv/range", `{"key":"YQ=="}`, 200, `"kvs":[{"key":"YQ==","value":"Yg=="}]`},
		{"POST", etcd + "/v3/kv/compact", `{}`, 404, "not found"},
		{"POST", etcd + "/v3/kv/put", `{`, 400, "code"},
		{"GET", metadata + "?key=a/b", "", 404, "not found"},
		{"PUT", metadata + "?key=a/b", `{"x":1}`, 200, "updated"},
		{"GET", metadata + "?key=a/b", "", 200, `{"x":1}`},
		{"PUT", metadata + "?key=big", strings.Repeat("x", 1<<20+1), 413, "cannot be stored"},
		{"GET", "http://127.0.0.1:" + port[2] + "/health", "", 200, "OK"},
	} {
		if status, text := fetchText(t, c.method, c.url, c.body); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %d %q, want %d with %q", c.method, c.url, status, text, c.status, c.want)
		}
	}
	for _, argv := range [][]string{{"etcd", "--listen-client-urls", "nowhere"}, {"mooncake_master", "50051"}, {"metadata", "--host", "127.0.0.1", "--port", port[3]}} {
		if code := <-runMain(t, "", argv...).exit; code == 0 {
			t.Errorf("%v is accepted", argv)
		}
	}
}

// TestListensOnLoopback: servers and services listen on the loopback address unless they are told another one.
func TestListensOnLoopback(t *testing.T) {
	for _, argv := range [][]string{
		{"vllm", "serve", "m"},
		{"python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"},
		{"python3", "-m", "sglang.launch_server", "--model-path", "m"},
	} {
		for host, more := range map[string][]string{"127.0.0.1": nil, "0.0.0.0": {"--host", "0.0.0.0"}} {
			l, err := Simulator{}.launch(append(argv, more...), Settings{}, func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			if got, _, _ := net.SplitHostPort(newServer(l, Options{Env: func(string) string { return "" }}).address()); got != host {
				t.Errorf("%v %v listens on %s", argv, more, got)
			}
		}
	}
	port := freePorts(t, 4)
	for _, argv := range [][]string{
		{"metadata", "--port", port[0]},
		{"mooncake_master", "--port", port[1], "--metrics_port", port[2], "--enable_http_metadata_server=true", "--http_metadata_server_port", port[3]},
	} {
		startService(t, argv...)
	}
	for _, p := range port {
		// An address of its own stays free on each port that is taken on the loopback address alone.
		other, err := net.Listen("tcp", "127.0.0.2:"+p)
		if err != nil {
			t.Errorf("port %s is taken on other addresses too: %v", p, err)
			continue
		}
		_ = other.Close()
	}
}
