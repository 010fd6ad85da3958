package dockerhost

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// daemonOf is a host whose daemon says something of its machine.
func daemonOf(t *testing.T, name, info string) *host {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "d.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener,
		Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/info") {
				fmt.Fprint(w, info)
			} else {
				fmt.Fprint(w, "{}")
			}
		})}}
	server.Start()
	t.Cleanup(server.Close)
	return &host{shown: name, url: "unix://" + socket}
}

// Hosts of one role must have as many GPUs, or as many cores where servers have none; their kernels may differ.
func TestHostsThatAreNotAlike(t *testing.T) {
	machine := func(cpus, gpus int, kernel string) string {
		var devices []string
		for i := range gpus {
			devices = append(devices, fmt.Sprintf(`{"ID":"nvidia.com/gpu=%d"}`, i))
		}
		return fmt.Sprintf(`{"NCPU":%d,"MemTotal":1073741824,"KernelVersion":%q,"Architecture":"x86_64","DiscoveredDevices":[%s]}`, cpus,
			kernel, strings.Join(devices, ","))
	}
	alike := machine(64, 8, "6.1")
	for name, tt := range map[string]struct {
		gpus    int // of the server
		other   string
		err     string
		warning string
	}{
		"alike": {0, alike, "", ""},
		"fewer GPUs": {2, machine(64, 4, "6.1"),
			`node ssh://a has gpu_count 8 and node ssh://b has gpu_count 4; name hosts that are alike in the docker block`, ""},
		"another kernel":        {2, machine(64, 8, "6.8"), "", "nodes ssh://a and ssh://b differ: kernel 6.1 and kernel 6.8"},
		"GPUs that nobody told": {2, machine(32, 0, "6.1"), "", "cpus 64 and cpus 32"},
		"fewer cores":           {0, machine(32, 0, "6.1"), "node ssh://a has cpus 64 and node ssh://b has cpus 32", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &config.Config{Servers: []*config.Server{{Addr: "server.vllm.s", Spec: steps.ServerSpec{Image: "vllm", GPUs: tt.gpus}}}}
			warned := ""
			h := &hosts{list: []*host{daemonOf(t, "ssh://a", alike), daemonOf(t, "ssh://b", tt.other)}, opt: place.Options{
				Plan: &plan.Plan{Config: cfg, Targets: []plan.Target{{Addr: "server.vllm.s"}}, Machines: &plan.Machines{Count: 2, Width: 1}},
				Warn: func(text string) { warned += text },
			}}
			err := h.compare(t.Context())
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("%v, want %q", err, tt.err)
			}
			if !strings.Contains(warned, tt.warning) || tt.warning == "" && warned != "" {
				t.Errorf("warned of %q, want %q", warned, tt.warning)
			}
		})
	}
}
