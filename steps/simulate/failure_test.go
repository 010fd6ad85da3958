package simulate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// logBuffer is read while a server writes to it.
type logBuffer struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
}

func newLogBuffer() *logBuffer { return &logBuffer{more: make(chan struct{}, 1)} }

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// program is Main running in the test's process.
type program struct {
	log    *logBuffer
	cancel context.CancelFunc
	exit   chan int
}

func runMain(t *testing.T, settings string, argv ...string) *program {
	t.Helper()
	return runMainEnv(t, map[string]string{SettingsEnv: settings}, argv...)
}

func runMainEnv(t *testing.T, env map[string]string, argv ...string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &program{log: newLogBuffer(), cancel: cancel, exit: make(chan int, 1)}
	go func() { p.exit <- Simulator{}.Main(ctx, argv, func(k string) string { return env[k] }, p.log, p.log) }()
	t.Cleanup(cancel)
	return p
}

var listening = regexp.MustCompile(`(?:server 0 on|running on) http://(\S+)`)

// url waits until the server listens.
func (p *program) url(t *testing.T) string {
	t.Helper()
	for {
		text := p.log.String()
		if m := listening.FindStringSubmatch(text); m != nil && strings.Contains(text, "Application startup complete.") {
			return "http://" + m[1]
		}
		select {
		case <-p.log.more:
		case code := <-p.exit:
			t.Fatalf("ended with %d:\n%s", code, p.log)
		}
	}
}

func post(t *testing.T, url, body string) (string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

const tokens8 = `{"prompt":"a","max_tokens":8,"ignore_eos":true,"stream":true}`

func TestMainServesAndStops(t *testing.T) {
	for name, c := range map[string]struct {
		argv  []string
		lines []string
	}{
		"vllm": {[]string{"/opt/venv/bin/vllm", "serve", "m", "--host", "127.0.0.1", "--port", "0"},
			[]string{"GPU KV cache size: ", "Maximum concurrency for 32,768 tokens per request: "}},
		"vllm api_server": {[]string{"python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m", "--host=127.0.0.1", "--port=0"},
			[]string{"Starting vLLM API server 0"}},
		"sglang": {[]string{"python3", "-m", "sglang.launch_server", "--model-path", "m", "--port", "0"},
			[]string{"The server is fired up and ready to roll!", "Prefill batch, #new-seq: 1, #new-token: 1, "}},
	} {
		t.Run(name, func(t *testing.T) {
			p := runMain(t, `{"time_scale":1000}`, c.argv...)
			text, err := post(t, p.url(t)+"/v1/completions", tokens8)
			if err != nil || !strings.HasSuffix(text, "data: [DONE]\n\n") {
				t.Errorf("%v %q", err, text)
			}
			p.cancel()
			if code := <-p.exit; code != 0 {
				t.Errorf("exit status %d", code)
			}
			for _, line := range append(c.lines, "Application shutdown complete.", "simulated ") {
				if !strings.Contains(p.log.String(), line) {
					t.Errorf("no %q in\n%s", line, p.log)
				}
			}
		})
	}
}

func TestFailuresAtStart(t *testing.T) {
	vllm := []string{"vllm", "serve", "m", "--host", "127.0.0.1", "--port", "0"}
	sglang := []string{"python3", "-m", "sglang.launch_server", "--model-path", "m", "--port", "0"}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for _, c := range []struct {
		name, settings string
		argv           []string
		line           string
	}{
		{"oom", `{"fail":["oom"]}`, vllm, "torch.OutOfMemoryError: CUDA out of memory"},
		{"oom wrapper", `{"fail":["oom"]}`, vllm,
			"Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': 1}"},
		{"oom sglang", `{"fail":["oom"]}`, sglang, "torch.OutOfMemoryError: CUDA out of memory"},
		{"exit", `{"fail":["exit_at_start"]}`, vllm, "libcudart.so.12: cannot open shared object file"},
		{"nccl", `{"fail":["nccl_timeout"]}`, vllm, "Watchdog caught collective operation timeout"},
		{"kv", `{"fail":["kv_too_small"]}`, vllm, "To serve at least one request with the model's max seq len (32768)"},
		{"kv by flag", `{}`, append(slices.Clip(vllm), "--gpu-memory-utilization", "0.1"), "No available memory for the cache blocks"},
		{"kv by flag, some", `{}`, append(slices.Clip(vllm), "--num-gpu-blocks-override", "100"), "To serve at least one request"},
		{"kv sglang", `{}`, append(slices.Clip(sglang), "--mem-fraction-static", "0.1"),
			"Not enough memory. Please try to increase --mem-fraction-static"},
		{"port", `{"fail":["port_in_use"]}`, vllm, "OSError: [Errno 98] Address already in use"},
		{"port taken", `{}`, append(vllm[:5:5], "--port", port), "OSError: [Errno 98] Address already in use"},
		{"port taken sglang", `{}`, append(sglang[:5:5], "--port", port), "address already in use"},
		{"budget", `{}`, append(slices.Clip(vllm), "--no-enable-chunked-prefill", "--max-num-batched-tokens", "1k"),
			"the token budget (1000) is smaller than the maximum length (32768)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := strings.Replace(c.settings, "{", `{"startup_seconds":0,`, 1)
			p := runMain(t, strings.Replace(settings, ",}", "}", 1), c.argv...)
			if code := <-p.exit; code != 1 || !strings.Contains(p.log.String(), c.line) {
				t.Errorf("exit status %d, want 1 and %q in\n%s", code, c.line, p.log)
			}
		})
	}
}

func TestFailuresWhileServing(t *testing.T) {
	argv := []string{"vllm", "serve", "m", "--host", "127.0.0.1", "--port", "0"}
	t.Run("crash", func(t *testing.T) {
		p := runMain(t, `{"time_scale":1000,"fail":["crash_after=3"]}`, argv...)
		url := p.url(t) + "/v1/completions"
		for range 2 {
			if _, err := post(t, url, tokens8); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := post(t, url, tokens8); err == nil && strings.Contains(text, "[DONE]") {
			t.Errorf("the third request ended well: %q", text)
		}
		if code := <-p.exit; code != 1 || !strings.Contains(p.log.String(), "EngineDeadError") {
			t.Errorf("exit status %d:\n%s", code, p.log)
		}
	})
	t.Run("garbage", func(t *testing.T) {
		p := runMain(t, `{"fail":["garbage"],"startup_seconds":0}`, argv...)
		if text, err := post(t, p.url(t)+"/v1/completions", tokens8); err != nil || !strings.HasPrefix(text, "<!DOCTYPE html>") {
			t.Errorf("%v %q", err, text)
		}
	})
	t.Run("never ready", func(t *testing.T) {
		p := runMain(t, `{"fail":["never_ready"],"startup_seconds":0}`, argv...)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get(p.url(t) + "/health")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("/health answers %d", resp.StatusCode)
		}
	})
	t.Run("drop", func(t *testing.T) {
		p := runMain(t, `{"time_scale":1000,"fail":["drop=1"]}`, argv...)
		url := p.url(t) + "/v1/completions"
		inStream, cut := 0, 0
		for range 30 {
			text, err := post(t, url, tokens8)
			switch {
			case strings.Contains(text, `"error":`):
				inStream++
			case err != nil || errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(text, "[DONE]"):
				cut++
			default:
				t.Errorf("a request ended well: %q", text)
			}
		}
		if inStream == 0 || cut == 0 {
			t.Errorf("%d error objects and %d cut streams, want some of both", inStream, cut)
		}
	})
	t.Run("ignores the end", func(t *testing.T) {
		p := runMain(t, `{"fail":["ignore_sigterm","crash_after=1"],"startup_seconds":0}`, argv...)
		url := p.url(t)
		p.cancel()
		if resp, err := http.Get(url + "/health"); err != nil {
			t.Errorf("it stopped although it has to ignore that: %v", err)
		} else {
			resp.Body.Close()
		}
		_, _ = post(t, url+"/v1/completions", tokens8) // the crash is the way out of this test
		<-p.exit
	})
	t.Run("slow start", func(t *testing.T) {
		p := runMain(t, `{"fail":["slow_start=1000h"],"startup_seconds":0}`, argv...)
		for !strings.Contains(p.log.String(), "GPU KV cache size") {
			<-p.log.more
		}
		p.cancel()
		if code := <-p.exit; code != 0 || strings.Contains(p.log.String(), "Application startup complete.") {
			t.Errorf("exit status %d:\n%s", code, p.log)
		}
	})
}

func TestSettings(t *testing.T) {
	for text, want := range map[string]string{
		`{"time_scale":-1}`:            "time_scale is -1",
		`{"engin":"vllm"}`:             `unknown field "engin"`,
		`{"fail":["oops"]}`:            "not known; choose from oom",
		`{"fail":["drop=2"]}`:          "share from 0 to 1",
		`{"fail":["crash_after=0"]}`:   "from 1 on",
		`{"fail":["slow_start=soon"]}`: "such as 30s",
		`{"fail":["oom=1"]}`:           "not known",
		`{} {}`:                        "after the JSON object",
	} {
		if _, err := ParseSettings(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if s, err := ParseSettings(""); err != nil || s.timeScale() != 1 {
		t.Errorf("no settings: %+v %v", s, err)
	}
	p := runMain(t, `{"engine":"sglang"}`, "vllm", "serve", "m")
	if code := <-p.exit; code != 2 || !strings.Contains(p.log.String(), "make them agree") {
		t.Errorf("exit status %d: %s", code, p.log)
	}
}
