package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/pipeline/steps/router"
)

func TestHealthNeedsAll(t *testing.T) {
	p, d := newFake(t, answer(200, "")), newFake(t, answer(503, ""))
	c := router.Config{Protocol: router.V0}
	c.Prefill, c.Decode = backends(p, d, 0)
	c.Decode = append(c.Decode, router.Backend{Name: "gone", URL: deadURL(t)})
	_, base := start(t, c)
	resp, body := get(t, base+"/health")
	if resp.StatusCode != 503 {
		t.Errorf("health %d", resp.StatusCode)
	}
	var got struct {
		Healthy bool
		Members []router.MemberState
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Members) != 3 || !strings.Contains(got.Members[2].Error, "refused") {
		t.Fatalf("members %s", body)
	}
	got.Members[2].Error = ""
	want := []router.MemberState{
		{Name: "p", Role: "prefill", URL: p.URL, Healthy: true, Status: 200}, {Name: "d", Role: "decode", URL: d.URL, Status: 503},
		{Name: "gone", Role: "decode", URL: c.Decode[1].URL},
	}
	if diff := cmp.Diff(want, got.Members); got.Healthy || diff != "" {
		t.Error(diff)
	}
}

func TestHealthy(t *testing.T) {
	p, d := newFake(t, answer(200, "")), newFake(t, answer(200, ""))
	c := router.Config{Protocol: router.V0}
	c.Prefill, c.Decode = backends(p, d, 0)
	_, base := start(t, c)
	if resp, body := get(t, base+"/health"); resp.StatusCode != 200 {
		t.Errorf("health %d %s", resp.StatusCode, body)
	}
}

func TestResetGoesToAll(t *testing.T) {
	for name, tt := range map[string]struct {
		p, d   int
		status int
	}{
		"all":                {200, 200, 200},
		"one cannot":         {200, 404, 404},
		"requests are under": {400, 200, 400},
	} {
		t.Run(name, func(t *testing.T) {
			p, d := newFake(t, answer(tt.p, "")), newFake(t, answer(tt.d, ""))
			c := router.Config{Protocol: router.V0}
			c.Prefill, c.Decode = backends(p, d, 0)
			_, base := start(t, c)
			for _, path := range []string{"/reset_prefix_cache", "/flush_cache"} {
				if resp, body := post(t, base, path+"?reset_external=true", "", map[string]string{"Authorization": "k"}); resp.StatusCode != tt.status {
					t.Errorf("%s: %d %s", path, resp.StatusCode, body)
				}
			}
			for _, f := range []*fake{p, d} {
				seen := f.requests()
				if len(seen) != 2 || seen[0].method != "POST" || seen[0].path != "/reset_prefix_cache" || seen[0].query != "reset_external=true" ||
					seen[0].header.Get("Authorization") != "k" || seen[1].path != "/flush_cache" {
					t.Errorf("a server got %v", seen)
				}
			}
		})
	}
}

func TestQuestionsGoToDecode(t *testing.T) {
	p := newFake(t, answer(500, ""))
	d := newFake(t, func(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, req.Method+" "+req.URL.Path) })
	c := router.Config{Protocol: router.NIXL}
	c.Prefill, c.Decode = backends(p, d, 0)
	r, base := start(t, c)
	for _, path := range []string{"/v1/models", "/version", "/server_info", "/get_server_info"} {
		if _, body := get(t, base+path); body != "GET "+path {
			t.Errorf("%s: %q", path, body)
		}
	}
	if _, body := post(t, base, "/tokenize", `{"prompt":"a"}`, nil); body != "POST /tokenize" {
		t.Errorf("tokenize: %q", body)
	}
	seen := d.requests()
	if got := seen[len(seen)-1].body; got != `{"prompt":"a"}` {
		t.Errorf("tokenize got %q", got)
	}
	resp, body := post(t, base, "/generate", "{}", nil)
	if class, message := errorOf(t, body); resp.StatusCode != 404 || class != "not_found" ||
		!strings.Contains(message, "nixl has no POST /generate") {
		t.Errorf("generate: %d %s", resp.StatusCode, body)
	}
	if s := r.Stats(); s.Chunk.Count != 0 || len(p.requests()) != 0 {
		t.Errorf("questions count as streams: %+v", s.Chunk)
	}
}

func TestQuestionToDeadServer(t *testing.T) {
	c := router.Config{Protocol: router.RoundRobin, Decode: []router.Backend{{URL: deadURL(t)}}}
	_, base := start(t, c)
	resp, body := get(t, base+"/v1/models")
	if class, message := errorOf(t, body); resp.StatusCode != 502 || class != "unreachable" || !strings.Contains(message, "decode0") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestServeDrains stops a router with one stream under way, which may finish.
func TestServeDrains(t *testing.T) {
	next := make(chan string)
	d := newFake(t, stream(next))
	base, stop, done := serve(t, d, time.Minute)
	go func() { next <- event(0) }()
	resp := open(t, base)
	defer resp.Body.Close()
	stop()
	next <- event(1)
	close(next)
	if got, err := io.ReadAll(resp.Body); string(got) != event(0)+event(1) || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestServeCutsOffAfterTheGrace stops a router whose stream never ends.
func TestServeCutsOffAfterTheGrace(t *testing.T) {
	next := make(chan string)
	d := newFake(t, stream(next))
	base, stop, done := serve(t, d, time.Nanosecond)
	go func() { next <- event(0) }()
	resp := open(t, base)
	defer resp.Body.Close()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(resp.Body); string(got) != event(0) || err == nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestServeReportsABrokenListener(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r, err := router.New(router.Config{Protocol: router.RoundRobin, Decode: []router.Backend{{URL: "http://h"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Serve(t.Context(), l, 0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

func serve(t *testing.T, d *fake, grace time.Duration) (base string, stop func(), done chan error) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, err := router.New(router.Config{Protocol: router.RoundRobin, Decode: []router.Backend{{URL: d.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done = make(chan error, 1)
	go func() { done <- r.Serve(ctx, l, grace) }()
	return "http://" + l.Addr().String(), stop, done
}

func open(t *testing.T, base string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/completions", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}
