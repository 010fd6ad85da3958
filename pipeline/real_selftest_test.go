package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRealSelftest plants a slow-down in front of a real vLLM, by the proxy: it is found,
// and none is where nothing is planted. The server is started once and named by its url,
// since a start takes a minute.
func TestRealSelftest(t *testing.T) {
	url := startVLLM(t, realVLLM(t))
	out := t.TempDir()
	text, code := pipeline(t, ".", "selftest", "--real", "--progress", "plain", "--out", out, "--var", "url="+url, filepath.Join("testdata", "vllm-url.pipeline.hcl"))
	t.Log(text)
	if code != 0 || !strings.Contains(text, "the gates find a change of twice their margin of 100 % and invent none") ||
		!strings.Contains(text, "the noise between launches is not in this") {
		t.Errorf("exit status %d; want 0, with 200 %% found and none invented", code)
	}
}

// startVLLM starts a vLLM of its own, with more arguments, and returns where it answers.
func startVLLM(t *testing.T, venv string, more ...string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "vllm.log"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"serve", filepath.Join(venv, "model"), "--served-model-name", "tiny",
		"--host", "127.0.0.1", "--port", port, "--dtype", "bfloat16", "--max-model-len", "2048", "--enforce-eager",
	}
	cmd := exec.Command(filepath.Join(venv, "bin", "vllm"), append(args, more...)...)
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "VLLM_SERVER_DEV_MODE=1", "VLLM_CPU_KVCACHE_SPACE=1")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = log.Close()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	// real time: a real vLLM starts
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if healthy(ctx, "http://"+address) {
				return "http://" + address
			}
		case err := <-ended:
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("vllm ended: %v\n%s", err, text)
		case <-ctx.Done():
			t.Fatal("vllm does not answer")
		}
	}
}

func healthy(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", http.NoBody)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}
