package engine_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	modelsM = `{"object":"list","data":[{"id":"m","root":"org/m","max_model_len":2048}]}`
	oneTok  = `{"choices":[{"index":0,"text":" a","finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
)

// fake answers paths with fixed statuses and bodies: "200 body".
func fake(t *testing.T, answers map[string]string) (*httptest.Server, *[]string) {
	t.Helper()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		var status int
		if _, err := fmt.Sscanf(answer, "%d", &status); err != nil {
			t.Errorf("bad answer %q", answer)
		}
		w.WriteHeader(status)
		_, body, _ := strings.Cut(answer, " ")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

func TestPoll(t *testing.T) {
	tests := map[string]struct {
		answers map[string]string
		health  string
		model   string
		state   string
		err     string
		is      error
	}{
		"loading": {
			answers: map[string]string{"/health": "503"},
			state:   steps.StateListening, err: "GET /health: status 503",
		},
		"no models yet": {
			answers: map[string]string{"/health": "200", "/v1/models": `200 {"data":[]}`},
			state:   steps.StateHealthy, err: "no model is listed yet",
		},
		"models fail": {
			answers: map[string]string{"/health": "200", "/v1/models": "500 boom"},
			state:   steps.StateHealthy, err: "GET /v1/models: status 500: boom",
		},
		"other model": {
			answers: map[string]string{"/health": "200", "/v1/models": `200 {"data":[{"id":"x"}]}`},
			state:   steps.StateHealthy, err: `does not serve the model "m": it lists "x"`, is: steps.ErrWrongModel,
		},
		"garbage": {
			answers: map[string]string{"/health": "200", "/v1/models": "200 <html>hi"},
			state:   steps.StateHealthy, err: "not a list of models: <html>hi",
		},
		"canary fails": {
			answers: map[string]string{"/health": "200", "/v1/models": "200 " + modelsM, "/v1/completions": `500 {"error":"x"}`},
			state:   steps.StateModels, err: "canary request: status 500",
		},
		"canary error in a 200": {
			answers: map[string]string{"/health": "200", "/v1/models": "200 " + modelsM, "/v1/completions": `200 {"error":{"message":"no"}}`},
			state:   steps.StateModels, err: "reports an error",
		},
		"canary without token": {
			answers: map[string]string{"/health": "200", "/v1/models": "200 " + modelsM,
				"/v1/completions": `200 {"choices":[{"text":""}],"usage":{"completion_tokens":0}}`},
			state: steps.StateModels, err: "has no token",
		},
		"canary garbage": {
			answers: map[string]string{"/health": "200", "/v1/models": "200 " + modelsM, "/v1/completions": `200 <html>`},
			state:   steps.StateModels, err: "not a completion",
		},
		"ready": {
			answers: map[string]string{"/health": "200", "/v1/models": "200 " + modelsM, "/v1/completions": "200 " + oneTok},
			state:   steps.StateReady,
		},
		"chat only": {
			answers: map[string]string{"/health": "200", "/v1/models": "200 " + modelsM,
				"/v1/chat/completions": `200 {"choices":[{"message":{"content":"hi"}}]}`},
			state: steps.StateReady,
		},
		"any model": {
			answers: map[string]string{"/v1/models": `200 {"data":[{"id":"x"}]}`, "/v1/completions": "200 " + oneTok},
			health:  "-", model: "-",
			state: steps.StateReady,
		},
		"embedding model": {
			answers: map[string]string{"/v1/models": `200 {"data":[{"id":"m"}]}`, "/health": "200", "/v1/completions": "404",
				"/v1/chat/completions": "404", "/v1/embeddings": `200 {"data":[{"embedding":[0.5]}]}`},
			state: steps.StateReady,
		},
		"reranker": {
			answers: map[string]string{"/v1/models": `200 {"data":[{"id":"m"}]}`, "/health": "200", "/v1/completions": "404",
				"/v1/chat/completions": "404", "/v1/embeddings": "404", "/v1/rerank": `200 {"results":[{"index":0,"relevance_score":0.5}]}`},
			state: steps.StateReady,
		},
		"embedding model of an old vLLM": {
			answers: map[string]string{"/v1/models": `200 {"data":[{"id":"m"}]}`, "/health": "200",
				"/v1/completions": `400 {"message":"The model does not support Completions API"}`,
				"/v1/embeddings":  `200 {"data":[{"embedding":[0.5]}]}`},
			state: steps.StateReady,
		},
		"embedding model that fails": {
			answers: map[string]string{"/v1/models": `200 {"data":[{"id":"m"}]}`, "/health": "200", "/v1/completions": "404",
				"/v1/chat/completions": "404", "/v1/embeddings": `500 {"message":"boom"}`},
			state: steps.StateModels, err: "POST /v1/embeddings: status 500",
		},
		"no embedding in the answer": {
			answers: map[string]string{"/v1/models": `200 {"data":[{"id":"m"}]}`, "/health": "200", "/v1/completions": "404",
				"/v1/chat/completions": "404", "/v1/embeddings": `200 {"data":[]}`},
			state: steps.StateModels, err: "has no embedding",
		},
		"nothing at all": {
			answers: map[string]string{"/v1/models": `200 {"data":[{"id":"m"}]}`, "/health": "200", "/v1/completions": "404",
				"/v1/chat/completions": "404", "/v1/embeddings": "404"},
			state: steps.StateModels, err: "canary request: status 404",
		},
		"no health check, not up": {
			answers: map[string]string{"/v1/models": "502"},
			health:  "-",
			state:   steps.StateListening, err: "GET /v1/models: status 502",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, asked := fake(t, tt.answers)
			ep := steps.Endpoint{BaseURL: s.URL + "/", Model: "m"}
			if tt.model != "" {
				ep.Model = ""
			}
			checks := engine.Checks{Health: "/health"}
			if tt.health != "" {
				checks.Health = ""
			}
			state, ready, err := engine.Poll(context.Background(), engine.NewClient(), ep, checks)
			if state != tt.state || ready != (tt.err == "") {
				t.Errorf("state %s, ready %v, %v; want %s", state, ready, err, tt.state)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
			canaries := strings.Count(strings.Join(*asked, " "), "POST")
			if tt.state != steps.StateReady && tt.state != steps.StateModels && canaries > 0 {
				t.Error("a completion was asked for before the model was listed")
			}
		})
	}
}

// TestRefusals: answers that stay the same are refusals, so that the engine stops waiting.
func TestRefusals(t *testing.T) {
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake
	untrusted.StartTLS()
	defer untrusted.Close()
	streams, _ := fake(t, map[string]string{"/v1/models": "200 " + modelsM, "/v1/completions": "200 data: " + oneTok})
	fails, _ := fake(t, map[string]string{"/v1/models": "200 " + modelsM, "/v1/completions": "500 loading"})
	modern := httptest.NewUnstartedServer(http.NotFoundHandler())
	modern.Config.ErrorLog = untrusted.Config.ErrorLog
	modern.TLS = &tls.Config{NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	modern.StartTLS()
	modern.TLS.NextProtos = []string{"h2"} // httptest adds HTTP/1.1
	defer modern.Close()
	frames := answers(t, "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64")
	other := answers(t, "SSH-2.0-OpenSSH_9.6\r\n")
	for name, tt := range map[string]struct {
		url        string
		want, ours bool
	}{
		"a certificate that is not trusted": {untrusted.URL, true, true},
		"HTTP/2 alone, by TLS":              {modern.URL, true, true},
		"HTTP/2 alone":                      {frames, true, true},
		"another protocol":                  {other, true, false},
		"a stream that nobody asked for":    {streams.URL, true, false},
		"a server that loads":               {fails.URL, false, false},
	} {
		_, _, err := engine.Poll(t.Context(), engine.NewClient(), steps.Endpoint{BaseURL: tt.url, Model: "m"}, engine.Checks{})
		of, got := errors.AsType[*steps.RefusedError](err)
		if got != tt.want || got && of.Ours != tt.ours {
			t.Errorf("%s: %v, a refusal: %+v, want %v, ours %v", name, err, of, tt.want, tt.ours)
		}
	}
}

// answers returns the address of a listener that answers each connection with the same bytes.
func answers(t *testing.T, with string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, with)
			_ = c.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestPollStarting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	state, ready, err := engine.Poll(context.Background(), engine.NewClient(), steps.Endpoint{BaseURL: "http://" + addr},
		engine.Checks{Health: "/health"})
	if state != steps.StateStarting || ready || err == nil {
		t.Errorf("nobody listens: %s, %v, %v", state, ready, err)
	}
	if strings.Contains(err.Error(), "http://") {
		t.Errorf("the error repeats the address: %v", err)
	}
}

// A server that accepts connections and says nothing is listening, and ctx ends the wait.
func TestPollSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		cancel()
		_, _ = io.Copy(io.Discard, c) // until the client closes the connection: it must not see its end first
	}()
	state, ready, err := engine.Poll(ctx, engine.NewClient(), steps.Endpoint{BaseURL: "http://" + l.Addr().String()},
		engine.Checks{Health: "/health"})
	if state != steps.StateListening || ready || !errors.Is(err, context.Canceled) {
		t.Errorf("%s, %v, %v", state, ready, err)
	}
	l.Close()
	<-done
}

func TestClient(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	var elsewhere bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			_, _ = w.Write(make([]byte, 4<<20+1))
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		default:
			_, _ = w.Write([]byte(r.Header.Get("Authorization")))
		}
	}))
	defer s.Close()
	c := engine.NewClient()
	ep := steps.Endpoint{BaseURL: s.URL, Headers: map[string]string{"Authorization": "Bearer k"}}
	if a, err := c.Get(context.Background(), ep, "/"); err != nil || string(a.Body) != "Bearer k" {
		t.Errorf("headers are sent and the proxy is not used: %s, %v", a.Body, err)
	}
	if _, err := c.Get(context.Background(), ep, "/large"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a large body: %v", err)
	}
	if a, err := c.Get(context.Background(), ep, "/away"); err != nil || a.Status != http.StatusFound || elsewhere {
		t.Errorf("a redirect is an answer: %d, %v, followed %v", a.Status, err, elsewhere)
	}
}
