package simulate

import (
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
)

// TestServices: what stands in for a service listens on its ports and is healthy.
func TestServices(t *testing.T) {
	port := freePorts(t, 5)
	startService(t, "etcd", "--name", "pipeline", "--data-dir", "d", "--listen-client-urls", "http://127.0.0.1:"+port[0],
		"--advertise-client-urls", "http://127.0.0.1:"+port[0])
	startService(t, "mooncake_master", "--rpc_address=127.0.0.1", "--port", port[1], "--metrics_port", port[2],
		"--enable_http_metadata_server=true", "--http_metadata_server_port", port[3])
	startService(t, "python3", "-m", "mooncake.http_metadata_server", "--host", "127.0.0.1", "--port", port[4])
	for _, p := range port {
		resp, err := http.Get("http://127.0.0.1:" + p + "/health")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("port %s: %s", p, resp.Status)
		}
	}
	for _, argv := range [][]string{{"etcd", "--listen-client-urls", "nowhere"}, {"mooncake_master", "50051"},
		{"metadata", "--host", "127.0.0.1", "--port", port[3]}} {
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
		{"mooncake_master", "--port", port[1], "--metrics_port", port[2], "--enable_http_metadata_server=true", "--http_metadata_server_port",
			port[3]},
	} {
		startService(t, argv...)
	}
	for _, p := range port {
		// An address of its own stays free on each port that is taken on the loopback address alone.
		other, err := net.Listen("tcp", "127.0.0.2:"+p)
		switch {
		case err == nil:
			_ = other.Close()
		case errors.Is(err, syscall.EADDRINUSE): // another error: the machine has no such address
			t.Errorf("port %s is taken on other addresses too: %v", p, err)
		}
	}
}
