package router_test

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

	"github.com/servegate/pipeline/steps/router"
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
func newFake(tb testing.TB, handle http.HandlerFunc) *fake {
	tb.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		f.mu.Lock()
		f.seen = append(f.seen, received{req.Method, req.URL.Path, req.URL.RawQuery, req.Header.Clone(), string(body)})
		f.mu.Unlock()
		handle(w, req)
	}))
	tb.Cleanup(f.Close)
	return f
}

func (f *fake) requests() []received {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]received(nil), f.seen...)
}

// only returns the single request that the server got.
func (f *fake) only(tb testing.TB) received {
	tb.Helper()
	seen := f.requests()
	if len(seen) != 1 {
		tb.Fatalf("the server got %d requests, want 1: %v", len(seen), seen)
	}
	return seen[0]
}

func (f *fake) port(tb testing.TB) int {
	tb.Helper()
	u, err := url.Parse(f.URL)
	if err != nil {
		tb.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		tb.Fatal(err)
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
func start(tb testing.TB, c router.Config) (*router.Router, string) {
	tb.Helper()
	if c.Random == nil {
		c.Random = counter()
	}
	r, err := router.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	srv := httptest.NewServer(r)
	tb.Cleanup(func() {
		srv.Close()
		r.Close()
	})
	return r, srv.URL
}

// backends of one server each, with what every protocol needs.
func backends(p, d *fake, bootstrap int) (prefill, decode []router.Backend) {
	if p != nil {
		prefill = []router.Backend{{Name: "p", URL: p.URL, BootstrapPort: bootstrap, KVAddr: "10.0.0.1:21001"}}
	}
	return prefill, []router.Backend{{Name: "d", URL: d.URL, KVAddr: "10.0.0.2:22001"}}
}

// client has connections of its own, closed with the test.
func client(tb testing.TB) *http.Client {
	tb.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: 2000}
	tb.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// reply is an answer whose body was read.
type reply struct {
	StatusCode int
	Header     http.Header
}

func post(tb testing.TB, base, path, body string, header map[string]string) (reply, string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, base+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	return do(tb, req)
}

func get(tb testing.TB, address string) (reply, string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, address, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return do(tb, req)
}

func do(tb testing.TB, req *http.Request) (reply, string) {
	tb.Helper()
	resp, err := client(tb).Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header}, string(body)
}

// errorOf reads an error in the form of OpenAI's API.
func errorOf(tb testing.TB, body string) (class, message string) {
	tb.Helper()
	var v struct {
		Error struct {
			Message, Type, Code string
		}
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil || v.Error.Type == "" {
		tb.Fatalf("not an error in OpenAI's form: %q", body)
	}
	return v.Error.Code, v.Error.Message
}

// deadURL is an address where no server listens.
func deadURL(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func event(i int) string { return fmt.Sprintf("data: {\"choices\":[{\"text\":\" t%d\"}]}\n\n", i) }

func failures(r *router.Router) string {
	var s []string
	for _, f := range r.Stats().Failures {
		s = append(s, fmt.Sprintf("%s/%s=%d", f.Member, f.Class, f.Count))
	}
	return strings.Join(s, " ")
}
