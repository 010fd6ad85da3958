package router

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
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
		config          func(*Config)
		body            string
		status          int
		class, says     string
		failures        string
		decodeAsked     bool
	}{
		"prefill is dead": {
			protocol: NIXL, decode: ok, status: 502, class: classUnreachable, says: `prefill server "p"`, failures: "p/unreachable=1",
		},
		"decode is dead": {
			protocol: V0, prefill: ok, status: 502, class: classUnreachable, says: `decode server "d"`, failures: "d/unreachable=1",
		},
		"prefill is dead, decode would wait for it": {
			protocol: SGLang, decode: hang, status: 502, class: classUnreachable, says: `prefill server "p"`, failures: "p/unreachable=1",
		},
		"decode is dead, prefill would wait for it": {
			protocol: SGLang, prefill: hang, status: 502, class: classUnreachable, says: `decode server "d"`, failures: "d/unreachable=1",
		},
		"prefill refuses": {
			protocol: NIXL, prefill: answer(400, `{"error":{"message":"too long","type":"BadRequestError","code":"p"}}`), decode: ok,
			status: 400, class: "p", says: "too long", failures: "p/status=1",
		},
		"prefill refuses while decode has sent its header": {
			protocol: SGLang, prefill: answer(503, `{"error":{"message":"no memory","type":"x","code":"p"}}`),
			decode: func(w http.ResponseWriter, req *http.Request) {
				_ = http.NewResponseController(w).Flush()
				hang(w, req)
			},
			status: 503, class: "p", says: "no memory", failures: "p/status=1",
		},
		"decode refuses": {
			protocol: NIXL, prefill: ok, decode: answer(429, `{"error":{"message":"busy","type":"x","code":"d"}}`),
			status: 429, class: "d", says: "busy", failures: "d/status=1", decodeAsked: true,
		},
		"no parameters": {
			protocol: NIXL, prefill: answer(200, `{"id":"1","kv_transfer_params":null}`), decode: ok,
			status: 502, class: classNoParams, says: "compute the prompt again", failures: "p/no_kv_params=1",
		},
		"empty parameters": {
			protocol: NIXL, prefill: answer(200, `{"kv_transfer_params": { } }`), decode: ok,
			status: 502, class: classNoParams, failures: "p/no_kv_params=1",
		},
		"no JSON": {
			protocol: NIXL, prefill: answer(200, `data: [DONE]`), decode: ok, status: 502, class: classBadAnswer, failures: "p/bad_answer=1",
		},
		"prefill closes": {
			protocol: V0, prefill: abort(""), decode: ok, status: 502, class: classClosed, says: "without an answer", failures: "p/closed=1",
		},
		"prefill is cut": {
			protocol: V0, prefill: abort("{"), decode: ok, status: 502, class: classCut, says: "in the middle", failures: "p/cut=1",
		},
		"prefill hangs": {
			protocol: V0, prefill: hang, decode: ok, config: func(c *Config) { c.Timeouts.Prefill = time.Nanosecond },
			status: 504, class: classTimeout, failures: "p/timeout=1",
		},
		"decode hangs": {
			protocol: RoundRobin, decode: hang, config: func(c *Config) { c.Timeouts.Request = time.Nanosecond },
			status: 504, class: classTimeout, failures: "d/timeout=1",
		},
		"bootstrap server is dead": {
			protocol: Mooncake, prefill: ok, decode: ok, status: 502, class: classBootstrap, says: "/query", failures: "p/bootstrap=1",
		},
		"not an object": {
			protocol: V0, prefill: ok, decode: ok, body: `[1]`, status: 400, class: classBadRequest, says: "JSON object", failures: "/bad_request=1",
		},
		"too long": {
			protocol: RoundRobin, decode: ok, config: func(c *Config) { c.MaxBody = 10 }, body: `{"a":"0123456789"}`,
			status: 413, class: classTooLarge, failures: "/too_large=1",
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
			c := Config{Protocol: tt.protocol, Log: func(line string) { log = append(log, line) }}
			c.Prefill, c.Decode = backends(p, d, newDeadPort(t))
			if tt.protocol == RoundRobin {
				c.Prefill = nil
			}
			if tt.config != nil {
				tt.config(&c)
			}
			r, base := start(t, c)
			if tt.body == "" {
				tt.body = `{"prompt":"a"}`
			}
			resp, body := post(t, base, pathCompletions, tt.body, nil)
			class, message := errorOf(t, body)
			if resp.StatusCode != tt.status || class != tt.class || !strings.Contains(message, tt.says) {
				t.Errorf("answer %d %q", resp.StatusCode, body)
			}
			r.Close()
			if got := failures(r); got != tt.failures || len(log) != 1 {
				t.Errorf("failures %q, log %q, want %q", got, log, tt.failures)
			}
			// With both asked at once, which of them is asked at all is a matter of luck.
			if asked := len(d.requests()) > 0; r.protocol.pairs && !r.protocol.concurrent && tt.decode != nil && asked != tt.decodeAsked {
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
	c := Config{Protocol: RoundRobin}
	_, c.Decode = backends(nil, d, 0)
	r, base := start(t, c)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+pathCompletions, strings.NewReader(`{}`))
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
	c := Config{Protocol: SGLang}
	failed := make(chan string, 1)
	c.Log = func(line string) { failed <- line }
	c.Prefill, c.Decode = backends(p, d, 8998)
	r, base := start(t, c)
	go func() {
		next <- event(0)
	}()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+pathCompletions, strings.NewReader(`{}`))
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
	c := Config{Protocol: NIXL, AllowRecompute: true}
	c.Prefill, c.Decode = backends(p, d, 0)
	r, base := start(t, c)
	if _, body := post(t, base, pathCompletions, `{"a": 1}`, nil); body != "done" || d.only(t).body != `{"a": 1}` {
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
	c := Config{Protocol: RoundRobin}
	_, c.Decode = backends(nil, d, 0)
	r, base := start(t, c)
	header := map[string]string{"Idempotency-Key": "1"}
	post(t, base, pathCompletions, `{}`, header)
	resp, body := post(t, base, pathCompletions, `{}`, header)
	r.Close()
	if class, _ := errorOf(t, body); resp.StatusCode != 502 || class != classClosed || len(d.requests()) != 2 || failures(r) != "d/closed=1" {
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
	c := Config{Protocol: Mooncake}
	c.Prefill, c.Decode = backends(p, d, boot.port(t))
	_, base := start(t, c)
	if resp, body := get(t, base+"/health"); resp.StatusCode != 503 || !strings.Contains(body, "no engine has registered") {
		t.Errorf("health %d %s", resp.StatusCode, body)
	}
	up = true
	if resp, body := post(t, base, pathCompletions, `{}`, nil); resp.StatusCode != 200 {
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
	c := Config{Protocol: RoundRobin, MaxBodies: 2500}
	_, c.Decode = backends(nil, d, 0)
	r, base := start(t, c)
	body := `{"prompt":"` + strings.Repeat("x", 1000) + `"}`
	var first sync.WaitGroup
	for range 2 {
		first.Go(func() {
			if got, text := post(t, base, pathCompletions, body, nil); got.StatusCode != 200 {
				t.Errorf("%d %s", got.StatusCode, text)
			}
		})
		<-arrived
	}
	got, text := post(t, base, pathCompletions, body, nil)
	if class, message := errorOf(t, text); got.StatusCode != 503 || class != classOverloaded || !strings.Contains(message, "--max-bodies") {
		t.Errorf("%d %s", got.StatusCode, text)
	}
	close(finish)
	first.Wait()
	r.Close()
	if n := r.held.Load(); n != 0 {
		t.Errorf("%d bytes are held by nothing", n)
	}
	if s := r.Stats(); s.Refused != 1 || s.Succeeded != 2 {
		t.Errorf("%+v", s)
	}
}

// TestAnswersInFlight: prefill's answers take the room of bodies, for as long as their requests are in flight.
func TestAnswersInFlight(t *testing.T) {
	long := `"` + strings.Repeat("x", 1000) + `"`
	for name, p := range map[string]http.HandlerFunc{
		"parameters": answer(200, `{"kv_transfer_params":{"remote_engine_id":`+long+`}}`), "a refusal": answer(400, `{"error":`+long+`}`),
	} {
		c := Config{Protocol: NIXL, MaxBodies: 2500}
		c.Prefill, c.Decode = backends(newFake(t, p), newFake(t, answer(200, "{}")), 0)
		r, base := start(t, c)
		for _, tt := range []struct {
			inFlight int64
			refused  bool
		}{{0, false}, {1600, true}, {0, false}} {
			r.held.Add(tt.inFlight)
			got, text := post(t, base, pathCompletions, `{}`, nil)
			r.held.Add(-tt.inFlight)
			if refused := got.StatusCode == 503; refused != tt.refused {
				t.Fatalf("%s beside %d bytes: %d %s", name, tt.inFlight, got.StatusCode, text)
			}
			if !tt.refused {
				continue
			}
			if class, message := errorOf(t, text); class != classOverloaded || !strings.Contains(message, "--max-bodies") {
				t.Errorf("%s: %s", name, text)
			}
		}
		r.Close()
		if n := r.held.Load(); n != 0 {
			t.Errorf("%s: %d bytes are held by nothing", name, n)
		}
	}
}
