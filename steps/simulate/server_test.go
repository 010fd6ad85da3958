package simulate_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A connection to keep may be dialled while its server is closed, and outlives both.
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.DisableKeepAlives = true
	}
	goleak.VerifyTestMain(m)
}

// fastSettings run the model far faster than the wall, so that no test waits for it.
func fastSettings(version string) simulate.Settings {
	return simulate.Settings{Version: version, TimeScale: 1000}
}

// startServer runs a simulated server behind httptest until the test ends.
func startServer(t *testing.T, s simulate.Settings, env map[string]string, argv ...string) *httptest.Server {
	t.Helper()
	server, err := simulate.NewServer(argv, simulate.Options{Settings: s, Env: func(k string) string { return env[k] }})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Drive(ctx) })
	ts := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
		cancel()
		wg.Wait()
	})
	return ts
}

func vllmServer(t *testing.T, args ...string) *httptest.Server {
	t.Helper()
	return startServer(t, fastSettings("0.11.0"), map[string]string{"VLLM_SERVER_DEV_MODE": "1"},
		append([]string{"vllm", "serve", "org/model"}, args...)...)
}

func sglangServer(t *testing.T, args ...string) *httptest.Server {
	t.Helper()
	return startServer(t, fastSettings("0.5.23"), nil, append([]string{"python3", "-m", "sglang.launch_server", "--model-path", "org/model"},
		args...)...)
}

func request(t *testing.T, ts *httptest.Server, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, ts.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := ts.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return resp.StatusCode, string(text)
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// sse splits a stream into the data of its events.
func sse(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for sc := bufio.NewScanner(strings.NewReader(text)); sc.Scan(); {
		if line := sc.Text(); line != "" {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				t.Fatalf("not an event: %q", line)
			}
			out = append(out, data)
		}
	}
	return out
}

// openAIAnswer is an answer of /v1/completions or /v1/chat/completions, or an event of it.
type openAIAnswer struct {
	Choices []struct {
		Text  string
		Delta struct {
			Role    string
			Content *string
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	}
}

func TestCompletionsStream(t *testing.T) {
	ts := vllmServer(t)
	_, text := request(t, ts, "POST", "/v1/completions",
		`{"model":"org/model","prompt":[300,301,302],"max_tokens":5,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`)
	events := sse(t, text)
	if len(events) != 7 || events[6] != "[DONE]" {
		t.Fatalf("%d events, want 5 tokens, usage and [DONE]: %q", len(events), events)
	}
	for i, data := range events[:5] {
		c := decode[openAIAnswer](t, data)
		if c.Usage == nil || c.Usage.CompletionTokens != i+1 || c.Usage.PromptTokens != 3 || c.Choices[0].Text == "" {
			t.Errorf("event %d: %s", i, data)
		}
		if last := c.Choices[0].FinishReason != nil; last != (i == 4) || last && *c.Choices[0].FinishReason != "length" {
			t.Errorf("event %d: finish reason in %s", i, data)
		}
	}
	if c := decode[openAIAnswer](t, events[5]); len(c.Choices) != 0 || c.Usage.CompletionTokens != 5 ||
		!strings.Contains(events[5], `"choices":[]`) {
		t.Errorf("usage event: %s", events[5])
	}
}

func TestChatStream(t *testing.T) {
	ts := vllmServer(t)
	_, text := request(t, ts, "POST", "/v1/chat/completions",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],"max_completion_tokens":3,"ignore_eos":true,"stream":true}`)
	events := sse(t, text)
	if len(events) != 5 {
		t.Fatalf("want role, 3 tokens, [DONE]: %q", events)
	}
	first := decode[openAIAnswer](t, events[0])
	if d := first.Choices[0].Delta; d.Role != "assistant" || d.Content == nil || *d.Content != "" {
		t.Errorf("first event: %s", events[0])
	}
	for _, data := range events[1:4] {
		if d := decode[openAIAnswer](t, data).Choices[0].Delta; d.Role != "" || d.Content == nil || *d.Content == "" {
			t.Errorf("token event: %s", data)
		}
	}
}

func TestCompletionsWhole(t *testing.T) {
	ts := vllmServer(t)
	_, a := request(t, ts, "POST", "/v1/completions", `{"prompt":"shall i compare thee","max_tokens":400,"min_tokens":0}`)
	c := decode[openAIAnswer](t, a)
	natural, _ := model.Answer(model.Encode("shall i compare thee"), 1000, 0, false)
	if *c.Choices[0].FinishReason != "stop" || c.Usage.CompletionTokens != natural {
		t.Errorf("an answer without ignore_eos ends after %d tokens (%s), want %d (stop)", c.Usage.CompletionTokens,
			*c.Choices[0].FinishReason, natural)
	}
	_, b := request(t, ts, "POST", "/v1/completions", `{"prompt":"shall i compare thee","max_tokens":400}`)
	if decode[openAIAnswer](t, b).Choices[0].Text != c.Choices[0].Text {
		t.Error("the same prompt gave another answer")
	}
}

func TestErrors(t *testing.T) {
	ts := vllmServer(t, "--max-model-len", "128")
	for _, c := range []struct {
		body, message string
		status        int
	}{
		{`{"model":"other","prompt":"a"}`, "The model `other` does not exist.", 404},
		{`{"prompt":"a","max_tokens":128}`, "is too large: 128", 400},
		{`{"prompt":"` + strings.Repeat("a ", 200) + `"}`, "maximum context length is 128 tokens", 400},
		{`{"prompt":[]}`, "cannot be empty", 400},
		{`{"prompt":["a","b"]}`, "one prompt", 400},
		{`{"prompt":"a","max_tokens":0}`, "at least 1", 400},
		{`{"prompt":"a","n":2}`, "n=1", 400},
		{`{`, "not valid JSON", 400},
	} {
		status, text := request(t, ts, "POST", "/v1/completions", c.body)
		e := decode[struct {
			Error struct {
				Message string
				Code    int
			}
		}](t, text).Error
		if status != c.status || e.Code != c.status || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s: %d %s, want %d %q", c.body, status, text, c.status, c.message)
		}
	}
	old := startServer(t, fastSettings("0.9.2"), nil, "vllm", "serve", "m")
	if _, text := request(t, old, "POST", "/v1/completions", `{"model":"other"}`); decode[struct{ Object string }](t, text).Object != "error" {
		t.Errorf("vLLM 0.9.2 prints errors flat, got %s", text)
	}
}

func TestVLLMEndpoints(t *testing.T) {
	ts := vllmServer(t, "--max-model-len=4096", "--served-model-name", "alias")
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/health", ""},
		{"GET", "/version", `{"version":"0.11.0"}`},
		{"GET", "/v1/models", `"id":"alias"`}, {"GET", "/v1/models", `"max_model_len":4096`},
		{"POST", "/reset_prefix_cache", `{"success":true}`},
		{"GET", "/server_info", `"max_num_batched_tokens":2048`},
	} {
		if status, text := request(t, ts, c.method, c.path, ""); status != 200 || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, status, text, c.want)
		}
	}
	plain := startServer(t, fastSettings(""), nil, "vllm", "serve", "m")
	if status, _ := request(t, plain, "POST", "/reset_prefix_cache", ""); status != 404 {
		t.Errorf("without the development mode /reset_prefix_cache answers %d, want 404", status)
	}
}

func TestTokenize(t *testing.T) {
	for _, ts := range []*httptest.Server{vllmServer(t), sglangServer(t)} {
		_, text := request(t, ts, "POST", "/tokenize", `{"prompt":"So long lives this"}`)
		tok := decode[struct {
			Count  int
			Tokens []int
		}](t, text)
		if tok.Count != len(tok.Tokens) || model.Decode(tok.Tokens) != "So long lives this" {
			t.Errorf("%s", text)
		}
	}
}

func TestVLLMMetrics(t *testing.T) {
	ts := vllmServer(t)
	body := `{"prompt":"` + strings.Repeat("so long as men can breathe ", 8) + `","max_tokens":7,"ignore_eos":true}`
	request(t, ts, "POST", "/v1/completions", body)
	request(t, ts, "POST", "/v1/completions", body)
	_, text := request(t, ts, "GET", "/metrics", "")
	labels := `{engine="0",model_name="org/model"}`
	for _, want := range []string{
		"vllm:generation_tokens_total" + labels + " 14.0\n", "vllm:num_requests_running" + labels + " 0.0\n",
		"vllm:time_to_first_token_seconds_count" + labels + " 2.0\n", "vllm:inter_token_latency_seconds_count" + labels + " 12.0\n",
		`finished_reason="length"} 2.0`, "vllm:kv_cache_usage_perc" + labels + " 0.0\n", "# TYPE vllm:e2e_request_latency_seconds histogram",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "vllm:prefix_cache_hits_total"+labels+" 0.0") {
		t.Error("the same prompt twice made no prefix cache hit")
	}
}

// TestVLLMSpeculation: a step's tokens are one event, and the counters of drafts add up.
func TestVLLMSpeculation(t *testing.T) {
	ts := vllmServer(t, "--speculative-config", `{"method":"ngram","num_speculative_tokens":3}`)
	_, text := request(t, ts, "POST", "/v1/completions",
		`{"prompt":"so long as men can breathe","max_tokens":64,"ignore_eos":true,"stream":true}`)
	whole := len(sse(t, text))
	_, text = request(t, ts, "GET", "/metrics", "")
	count := func(name string) (n float64) {
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, name+"{"); ok {
				v, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndex(rest, " ")+1:]), 64)
				if err != nil {
					t.Fatal(err)
				}
				n += v
			}
		}
		return n
	}
	drafts, accepted := count("vllm:spec_decode_num_drafts_total"), count("vllm:spec_decode_num_accepted_tokens_total")
	if drafts == 0 || float64(whole) != 1+drafts+1 { // the first token, the steps, [DONE]
		t.Errorf("%d events, %g drafts", whole, drafts)
	}
	if count("vllm:spec_decode_num_draft_tokens_total") != 3*drafts ||
		count("vllm:spec_decode_num_accepted_tokens_per_pos_total") != accepted || 1+drafts+accepted < 64 {
		t.Errorf("counters do not add up:\n%s", text)
	}
	if got := count("vllm:request_queue_time_seconds_count"); got != 1 {
		t.Errorf("%g requests were queued", got)
	}
}

func TestSGLangGenerate(t *testing.T) {
	ts := sglangServer(t, "--enable-metrics")
	_, text := request(t, ts, "POST", "/generate",
		`{"input_ids":[300,301,302],"sampling_params":{"max_new_tokens":4,"ignore_eos":true},"stream":true}`)
	events := sse(t, text)
	if len(events) != 5 || events[4] != "[DONE]" {
		t.Fatalf("%q", events)
	}
	before := ""
	for i, data := range events[:4] {
		b := decode[struct {
			Text      string
			OutputIDs []int `json:"output_ids"`
			Meta      struct {
				PromptTokens     int `json:"prompt_tokens"`
				CompletionTokens int `json:"completion_tokens"`
				FinishReason     *struct {
					Type   string
					Length int
				} `json:"finish_reason"`
			} `json:"meta_info"`
		}](t, data)
		if !strings.HasPrefix(b.Text, before) || len(b.Text) <= len(before) || b.Meta.CompletionTokens != i+1 || len(b.OutputIDs) != i+1 ||
			b.Meta.PromptTokens != 3 {
			t.Errorf("event %d: %s", i, data)
		}
		if last := b.Meta.FinishReason != nil; last != (i == 3) || last && (b.Meta.FinishReason.Type != "length" ||
			b.Meta.FinishReason.Length != 4) {
			t.Errorf("event %d: finish reason in %s", i, data)
		}
		before = b.Text
	}
	for _, c := range []struct{ path, want string }{
		{"/health", ""}, {"/server_info", `"max_total_num_tokens"`}, {"/get_server_info", `"internal_states"`},
		{"/flush_cache", "Cache flushed."}, {"/metrics", "sglang:num_requests_total"},
	} {
		if status, text := request(t, ts, "GET", c.path, ""); status != 200 || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s, want %s", c.path, status, text, c.want)
		}
	}
	if status, text := request(t, ts, "POST", "/generate", `{"input_ids":[]}`); status != 400 || !strings.Contains(text, `"error"`) {
		t.Errorf("an empty prompt: %d %s", status, text)
	}
}

func TestAPIKey(t *testing.T) {
	ts := vllmServer(t, "--api-key", "k")
	if status, _ := request(t, ts, "GET", "/v1/models", ""); status != 401 {
		t.Errorf("without a key: %d", status)
	}
	if status, _ := request(t, ts, "GET", "/health", ""); status != 200 {
		t.Errorf("/health needs no key: %d", status)
	}
}

func TestManyAtOnce(t *testing.T) {
	ts := vllmServer(t, "--max-num-seqs", "8")
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			resp, err := ts.Client().Post(ts.URL+"/v1/completions", "application/json",
				strings.NewReader(`{"prompt":"a","max_tokens":20,"ignore_eos":true,"stream":true}`))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || strings.Count(string(text), "data: ") != 21 {
				t.Errorf("%v, %d events", err, strings.Count(string(text), "data: "))
			}
		})
	}
	wg.Wait()
}

// TestClientLeaves: a request whose client is gone is aborted, and its blocks come back.
func TestClientLeaves(t *testing.T) {
	s := fastSettings("0.11.0")
	s.TimeScale = 1 // 10,000 tokens take 20 s here
	ts := startServer(t, s, nil, "vllm", "serve", "m")
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", ts.URL+"/v1/completions",
		strings.NewReader(`{"prompt":"a","max_tokens":10000,"ignore_eos":true,"stream":true}`))
	resp, err := ts.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	for {
		if _, text := request(t, ts, "GET", "/metrics", ""); strings.Contains(text, `vllm:num_requests_running{engine="0",model_name="m"} 0.0`) {
			return
		}
	}
}
