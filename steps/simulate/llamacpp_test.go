package simulate

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/simulate/model"
)

func llamaLaunch(t *testing.T, args ...string) (*launch, error) {
	t.Helper()
	return Simulator{}.launch(append([]string{"/app/llama-server"}, args...), Settings{Version: "b10434"}, func(string) string { return "" })
}

// TestLlamaSlots: slots are the sequences of a step, and share or divide the context.
func TestLlamaSlots(t *testing.T) {
	for _, tt := range []struct {
		args  string
		check func(model.Config) bool
	}{
		{"-c 4096 -np 8", func(c model.Config) bool { return c.MaxSeqs == 8 && c.MaxModelLen == 512 && c.KVTokens() == 4096 }},
		{"-c 4096 -np 8 --kv-unified", func(c model.Config) bool { return c.MaxModelLen == 4096 }},
		{"-c 4096", func(c model.Config) bool { return c.MaxSeqs == 4 && c.MaxModelLen == 4096 && c.PrefixCache }},
		{"-c 4096 --no-cache-prompt -b 64", func(c model.Config) bool { return !c.PrefixCache && c.Budget == 64 }},
	} {
		l, err := llamaLaunch(t, append([]string{"-m", "m.gguf"}, strings.Fields(tt.args)...)...)
		if err != nil || !tt.check(l.config) {
			t.Errorf("%s: %v %+v", tt.args, err, l.config)
		}
	}
}

func TestLlamaRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"-m m.gguf --foo 3":           "error: invalid argument: --foo\n",
		"-m m.gguf --ctx 3":           "error: invalid argument: --ctx\n",
		"-m m.gguf --ctx-size many":   `error while handling argument "--ctx-size": `,
		"--ctx-size 4096":             "error: --model is required",
		"-m m.gguf --flash-attn nope": `error while handling argument "--flash-attn": `,
	} {
		_, err := llamaLaunch(t, strings.Fields(args)...)
		refused, ok := errors.AsType[usageError](err)
		if !ok || !strings.HasPrefix(refusalLlama(refused), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	p := runMain(t, "", "llama-server", "-m", "m.gguf", "--foo")
	if code := <-p.exit; code != 1 || p.log.String() != "error: invalid argument: --foo\n" {
		t.Errorf("exit status %d: %s", code, p.log)
	}
}

// fetch sends a request and returns the status and the body of the answer.
func fetch(t *testing.T, ts *httptest.Server, method, path, body string) (int, string) {
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
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestLlamaRoutes(t *testing.T) {
	l, err := llamaLaunch(t, "-m", "m.gguf", "-c", "4096", "-np", "2", "--alias", "tiny", "--metrics")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(l, Options{Env: func(string) string { return "" }})
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ts := httptest.NewServer(s.Handler())
	defer ts.Close()
	for _, tt := range []struct{ method, path, body, want string }{
		{http.MethodGet, "/health", "", `{"status":"ok"}`},
		{http.MethodGet, "/props", "", `"total_slots":2`},
		{http.MethodGet, "/v1/models", "", `"id":"tiny"`},
		{http.MethodGet, "/metrics", "", "llamacpp:requests_processing{} 0"},
		{http.MethodPost, "/tokenize", `{"prompt":"a b"}`, `"tokens":[]`},
	} {
		if status, body := fetch(t, ts, tt.method, tt.path, tt.body); status != http.StatusOK || !strings.Contains(body, tt.want) {
			t.Errorf("%s: status %d: %s", tt.path, status, body)
		}
	}
	if _, body := fetch(t, ts, http.MethodPost, "/tokenize", `{"content":"a b"}`); strings.Contains(body, "[]") {
		t.Errorf("no tokens: %s", body)
	}
}
