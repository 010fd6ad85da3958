package router_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/router"
)

// abort ends the connection after what was written.
func abort(written string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if written != "" {
			_, _ = io.WriteString(w, written)
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

func TestFailures(t *testing.T) {
	ok := answer(200, `{"kv_transfer_params":`+kvParams+`}`)
	hang := func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	for name, tt := range map[string]struct {
		protocol        string
		prefill, decode http.HandlerFunc // nil: dead
		config          func(*router.Config)
		body            string
		status          int
		class, says     string
		failures        string
		decodeAsked     bool
	}{
		"prefill is dead": {
			protocol: router.NIXL, decode: ok, status: 502, class: "unreachable", says: `prefill server "p"`, failures: "p/unreachable=1",
		},
		"decode is dead": {
			protocol: router.V0, prefill: ok, status: 502, class: "unreachable", says: `decode server "d"`, failures: "d/unreachable=1",
		},
		"prefill is dead, decode would wait for it": {
			protocol: router.SGLang, decode: hang, status: 502, class: "unreachable", says: `prefill server "p"`, failures: "p/unreachable=1",
		},
		"decode is dead, prefill would wait for it": {
			protocol: router.SGLang, prefill: hang, status: 502, class: "unreachable", says: `decode server "d"`, failures: "d/unreachable=1",
		},
		"prefill refuses": {
			protocol: router.NIXL, prefill: answer(400, `{"error":{"message":"too long","type":"BadRequestError","code":"p"}}`), decode: ok,
			status: 400, class: "p", says: "too long", failures: "p/status=1",
		},
		"prefill refuses while decode has sent its header": {
			protocol: router.SGLang, prefill: answer(503, `{"error":{"message":"no memory","type":"x","code":"p"}}`),
			decode: func(w http.ResponseWriter, req *http.Request) {
				_ = http.NewResponseController(w).Flush()
				hang(w, req)
			},
			status: 503, class: "p", says: "no memory", failures: "p/status=1",
		},
		"decode refuses": {
			protocol: router.NIXL, prefill: ok, decode: answer(429, `{"error":{"message":"busy","type":"x","code":"d"}}`),
			status: 429, class: "d", says: "busy", failures: "d/status=1", decodeAsked: true,
		},
		"no parameters": {
			protocol: router.NIXL, prefill: answer(200, `{"id":"1","kv_transfer_params":null}`), decode: ok,
			status: 502, class: "no_kv_params", says: "compute the prompt again", failures: "p/no_kv_params=1",
		},
		"empty parameters": {
			protocol: router.NIXL, prefill: answer(200, `{"kv_transfer_params": { } }`), decode: ok,
			status: 502, class: "no_kv_params", failures: "p/no_kv_params=1",
		},
		"no JSON": {
			protocol: router.NIXL, prefill: answer(200, `data: [DONE]`), decode: ok, status: 502, class: "bad_answer", failures: "p/bad_answer=1",
		},
		"prefill closes": {
			protocol: router.V0, prefill: abort(""), decode: ok, status: 502, class: "closed", says: "without an answer", failures: "p/closed=1",
		},
		"prefill is cut": {
			protocol: router.V0, prefill: abort("{"), decode: ok, status: 502, class: "cut", says: "in the middle", failures: "p/cut=1",
		},
		"prefill hangs": {
			protocol: router.V0, prefill: hang, decode: ok, config: func(c *router.Config) { c.Timeouts.Prefill = time.Nanosecond },
			status: 504, class: "timeout", failures: "p/timeout=1",
		},
		"decode hangs": {
			protocol: router.RoundRobin, decode: hang, config: func(c *router.Config) { c.Timeouts.Request = time.Nanosecond },
			status: 504, class: "timeout", failures: "d/timeout=1",
		},
		"bootstrap server is dead": {
			protocol: router.Mooncake, prefill: ok, decode: ok, status: 502, class: "bootstrap", says: "/query", failures: "p/bootstrap=1",
		},
		"not an object": {
			protocol: router.V0, prefill: ok, decode: ok, body: `[1]`, status: 400, class: "bad_request", says: "JSON object",
			failures: "/bad_request=1",
		},
		"too long": {
			protocol: router.RoundRobin, decode: ok, config: func(c *router.Config) { c.MaxBody = 10 }, body: `{"a":"0123456789"}`,
			status: 413, class: "too_large", failures: "/too_large=1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dead := func(h http.HandlerFunc) *fake {
				if h != nil {
					return newFake(t, h)
				}
				f := newFake(t, ok)
				f.Close()
				return f
			}
			p, d := dead(tt.prefill), dead(tt.decode)
			var log []string
			c := router.Config{Protocol: tt.protocol, Log: func(line string) { log = append(log, line) }}
			c.Prefill, c.Decode = backends(p, d, newDeadPort(t))
			if tt.protocol == router.RoundRobin {
				c.Prefill = nil
			}
			if tt.config != nil {
				tt.config(&c)
			}
			r, base := start(t, c)
			if tt.body == "" {
				tt.body = `{"prompt":"a"}`
			}
			resp, body := post(t, base, "/v1/completions", tt.body, nil)
			class, message := errorOf(t, body)
			if resp.StatusCode != tt.status || class != tt.class || !strings.Contains(message, tt.says) {
				t.Errorf("answer %d %q", resp.StatusCode, body)
			}
			r.Close()
			if got := failures(r); got != tt.failures || len(log) != 1 {
				t.Errorf("failures %q, log %q, want %q", got, log, tt.failures)
			}
			// With both asked at once, which of them is asked at all is a matter of luck.
			if asked := len(d.requests()) > 0; tt.protocol != router.RoundRobin && tt.protocol != router.SGLang &&
				tt.decode != nil && asked != tt.decodeAsked {
				t.Errorf("decode was asked: %v", asked)
			}
			if n := len(p.requests()); n > 1 {
				t.Errorf("prefill was asked %d times", n)
			}
		})
	}
}

func newDeadPort(t *testing.T) int {
	t.Helper()
	f := newFake(t, answer(200, ""))
	f.Close()
	return f.port(t)
}

// TestCutStreamStaysCut wants the client to see that its answer is not whole.
func TestCutStreamStaysCut(t *testing.T) {
	d := newFake(t, abort(event(0)))
	c := router.Config{Protocol: router.RoundRobin}
	_, c.Decode = backends(nil, d, 0)
	r, base := start(t, c)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/completions", strings.NewReader(`{}`))
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if string(got) != event(0) || err == nil {
		t.Errorf("got %q, %v", got, err)
	}
	r.Close()
	if failures(r) != "d/cut=1" || len(d.requests()) != 1 {
		t.Errorf("failures %q, %d requests", failures(r), len(d.requests()))
	}
}

// TestLatePrefillFailure leaves an answer alone that has begun, and counts the failure.
func TestLatePrefillFailure(t *testing.T) {
	begun := make(chan struct{})
	next := make(chan string)
	p := newFake(t, func(http.ResponseWriter, *http.Request) {
		<-begun
		panic(http.ErrAbortHandler)
	})
	d := newFake(t, stream(next))
	c := router.Config{Protocol: router.SGLang}
	failed := make(chan string, 1)
	c.Log = func(line string) { failed <- line }
	c.Prefill, c.Decode = backends(p, d, 8998)
	r, base := start(t, c)
	go func() {
		next <- event(0)
	}()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/completions", strings.NewReader(`{}`))
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	close(begun)
	<-failed
	next <- event(1)
	close(next)
	got, err := io.ReadAll(resp.Body)
	if string(got) != event(0)+event(1) || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	r.Close()
	if s := r.Stats(); s.Succeeded != 1 || failures(r) != "p/closed=1" {
		t.Errorf("%+v", s)
	}
}

func TestAllowRecompute(t *testing.T) {
	p, d := newFake(t, answer(200, `{}`)), newFake(t, answer(200, `done`))
	c := router.Config{Protocol: router.NIXL, AllowRecompute: true}
	c.Prefill, c.Decode = backends(p, d, 0)
	r, base := start(t, c)
	if _, body := post(t, base, "/v1/completions", `{"a": 1}`, nil); body != "done" || d.only(t).body != `{"a": 1}` {
		t.Errorf("got %q, decode got %q", body, d.only(t).body)
	}
	r.Close()
	if s := r.Stats(); s.Recomputed != 1 || s.Succeeded != 1 || len(s.Failures) != 0 {
		t.Errorf("%+v", s)
	}
}

// TestNothingIsTriedAgain closes a kept connection on the second request, when a client
// would like to try once more.
func TestNothingIsTriedAgain(t *testing.T) {
	n := 0
	d := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		if n++; n == 2 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "{}")
	})
	c := router.Config{Protocol: router.RoundRobin}
	_, c.Decode = backends(nil, d, 0)
	r, base := start(t, c)
	header := map[string]string{"Idempotency-Key": "1"}
	post(t, base, "/v1/completions", `{}`, header)
	resp, body := post(t, base, "/v1/completions", `{}`, header)
	r.Close()
	if class, _ := errorOf(t, body); resp.StatusCode != 502 || class != "closed" || len(d.requests()) != 2 || failures(r) != "d/closed=1" {
		t.Errorf("%d %q after %d requests, failures %q", resp.StatusCode, body, len(d.requests()), failures(r))
	}
}

// TestBootstrapFailureIsNotKept asks again once the bootstrap server is there.
func TestBootstrapFailureIsNotKept(t *testing.T) {
	up := false
	boot := newFake(t, func(w http.ResponseWriter, req *http.Request) {
		if up {
			answer(200, `{"0":{"engine_id":"e"}}`)(w, req)
			return
		}
		answer(200, `{}`)(w, req)
	})
	p, d := newFake(t, answer(200, "{}")), newFake(t, answer(200, "{}"))
	c := router.Config{Protocol: router.Mooncake}
	c.Prefill, c.Decode = backends(p, d, boot.port(t))
	_, base := start(t, c)
	if resp, body := get(t, base+"/health"); resp.StatusCode != 503 || !strings.Contains(body, "no engine has registered") {
		t.Errorf("health %d %s", resp.StatusCode, body)
	}
	up = true
	if resp, body := post(t, base, "/v1/completions", `{}`, nil); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestBodiesInFlight: a request whose body finds no room beside those in flight is answered so, and nothing holds
// room once they have ended.
func TestBodiesInFlight(t *testing.T) {
	arrived, finish := make(chan struct{}, 8), make(chan struct{})
	d := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-finish
		_, _ = io.WriteString(w, "{}")
	})
	c := router.Config{Protocol: router.RoundRobin, MaxBodies: 2500}
	_, c.Decode = backends(nil, d, 0)
	r, base := start(t, c)
	body := `{"prompt":"` + strings.Repeat("x", 1000) + `"}`
	var first sync.WaitGroup
	for range 2 {
		first.Go(func() {
			if got := serveTo(r, body, nil); got.Code != 200 {
				t.Errorf("%d %s", got.Code, got.Body)
				arrived <- struct{}{}
			}
		})
		<-arrived
	}
	got, text := post(t, base, "/v1/completions", body, nil)
	if class, message := errorOf(t, text); got.StatusCode != 503 || class != "overloaded" || !strings.Contains(message, "--max-bodies") {
		t.Errorf("%d %s", got.StatusCode, text)
	}
	close(finish)
	first.Wait()
	if got := serveTo(r, `{"prompt":"`+strings.Repeat("x", 2400)+`"}`, nil); got.Code != 200 {
		t.Errorf("bytes are held by nothing: %d %s", got.Code, got.Body)
	}
	if s := r.Stats(); s.Refused != 1 || s.Succeeded != 3 {
		t.Errorf("%+v", s)
	}
}

// serveTo has a router serve a request to the end.
func serveTo(r *router.Router, body string, header http.Header) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/v1/completions", strings.NewReader(body))
	maps.Copy(req.Header, header)
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

// TestAnswersInFlight: prefill's answers take the room of bodies, for as long as their requests are in flight.
func TestAnswersInFlight(t *testing.T) {
	long := `"` + strings.Repeat("x", 1000) + `"`
	slow := http.Header{"X-Slow": {"1"}}
	for name, p := range map[string]http.HandlerFunc{
		"parameters": answer(200, `{"kv_transfer_params":{"remote_engine_id":`+long+`}}`), "a refusal": answer(400, `{"error":`+long+`}`),
	} {
		arrived, finish := make(chan struct{}, 2), make(chan struct{})
		prefill := newFake(t, func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("X-Slow") != "" {
				answer(200, `{"kv_transfer_params":`+kvParams+`}`)(w, req)
				return
			}
			p(w, req)
		})
		decode := newFake(t, func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("X-Slow") != "" {
				arrived <- struct{}{}
				<-finish
			}
			_, _ = io.WriteString(w, "{}")
		})
		c := router.Config{Protocol: router.NIXL, MaxBodies: 2500}
		c.Prefill, c.Decode = backends(prefill, decode, 0)
		r, _ := start(t, c)
		end := sync.OnceFunc(func() { close(finish) })
		t.Cleanup(end)
		if got := serveTo(r, `{}`, nil); got.Code == 503 {
			t.Errorf("%s alone: %s", name, got.Body)
		}
		var inFlight sync.WaitGroup
		inFlight.Go(func() {
			if got := serveTo(r, `{"prompt":"`+strings.Repeat("x", 1600)+`"}`, slow); got.Code != 200 {
				t.Errorf("%d %s", got.Code, got.Body)
				arrived <- struct{}{}
			}
		})
		<-arrived
		got := serveTo(r, `{}`, nil)
		class, message := errorOf(t, got.Body.String())
		if got.Code != 503 || class != "overloaded" || !strings.Contains(message, "--max-bodies") {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
		end()
		inFlight.Wait()
		if got := serveTo(r, `{"prompt":"`+strings.Repeat("x", 1300)+`"}`, nil); got.Code == 503 {
			t.Errorf("%s: bytes are held by nothing: %s", name, got.Body)
		}
	}
}
