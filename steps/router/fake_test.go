package router

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a server behind the router. It keeps what it was sent.
type fake struct {
	*httptest.Server
	mu   sync.Mutex
	seen []received
}

type received struct {
	method, path, query string
	header              http.Header
	body                string
}

// newFake starts a server that answers with handle.
func newFake(t testing.TB, handle http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		f.mu.Lock()
		f.seen = append(f.seen, received{req.Method, req.URL.Path, req.URL.RawQuery, req.Header.Clone(), string(body)})
		f.mu.Unlock()
		handle(w, req)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) requests() []received {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]received(nil), f.seen...)
}

// only returns the single request that the server got.
func (f *fake) only(t testing.TB) received {
	t.Helper()
	seen := f.requests()
	if len(seen) != 1 {
		t.Fatalf("the server got %d requests, want 1: %v", len(seen), seen)
	}
	return seen[0]
}

func (f *fake) port(t testing.TB) int {
	t.Helper()
	u, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// counter is a source of "random" numbers: 1, 2, 3, …
func counter() func() uint64 {
	var n atomic.Uint64
	return func() uint64 { return n.Add(1) }
}

// start serves a router; its address is returned.
func start(t testing.TB, c Config) (*Router, string) {
	t.Helper()
	if c.Random == nil {
		c.Random = counter()
	}
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(r)
	t.Cleanup(func() {
		srv.Close()
		r.Close()
	})
	return r, srv.URL
}

// backends of one server each, with what every protocol needs.
func backends(p, d *fake, bootstrap int) (prefill, decode []Backend) {
	if p != nil {
		prefill = []Backend{{Name: "p", URL: p.URL, BootstrapPort: bootstrap, KVAddr: "10.0.0.1:21001"}}
	}
	return prefill, []Backend{{Name: "d", URL: d.URL, KVAddr: "10.0.0.2:22001"}}
}

// client has connections of its own, closed with the test.
func client(t testing.TB) *http.Client {
	t.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: 2000}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func post(t testing.TB, base, path, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	return do(t, req)
}

func get(t testing.TB, address string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req)
}

func do(t testing.TB, req *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// errorOf reads an error in the form of OpenAI's API.
func errorOf(t testing.TB, body string) (class, message string) {
	t.Helper()
	var v struct {
		Error struct {
			Message, Type, Code string
		}
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil || v.Error.Type == "" {
		t.Fatalf("not an error in OpenAI's form: %q", body)
	}
	return v.Error.Code, v.Error.Message
}

// deadURL is an address where nobody listens.
func deadURL(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func event(i int) string { return fmt.Sprintf("data: {\"choices\":[{\"text\":\" t%d\"}]}\n\n", i) }

func failures(r *Router) string {
	var s []string
	for _, f := range r.Stats().Failures {
		s = append(s, fmt.Sprintf("%s/%s=%d", f.Member, f.Class, f.Count))
	}
	return strings.Join(s, " ")
}
