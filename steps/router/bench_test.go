package router

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// tokenServer streams events, each after the client has asked for it, so that every
// token's way is measured alone.
func tokenServer(next <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		token := []byte(event(7))
		for range next {
			_, _ = w.Write(token)
			_ = rc.Flush()
		}
	}
}

// BenchmarkToken is the time from a server's write of a token to the client's reading it,
// straight and through the router, with what the router says of itself.
func BenchmarkToken(b *testing.B) {
	for _, routed := range []bool{false, true} {
		name := "direct"
		if routed {
			name = "router"
		}
		b.Run(name, func(b *testing.B) {
			next := make(chan struct{})
			d := newFake(b, tokenServer(next))
			p := newFake(b, answer(200, `{"kv_transfer_params":`+kvParams+`}`))
			base, r := d.URL, (*Router)(nil)
			if routed {
				c := Config{Protocol: NIXL}
				c.Prefill, c.Decode = backends(p, d, 0)
				r, base = start(b, c)
			}
			req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, base+pathCompletions, strings.NewReader(`{"prompt":"a"}`))
			go func() { next <- struct{}{} }()
			resp, err := client(b).Do(req)
			if err != nil {
				b.Fatal(err)
			}
			defer resp.Body.Close()
			in := bufio.NewReader(resp.Body)
			token := make([]byte, len(event(7)))
			_, _ = io.ReadFull(in, token)
			took := make([]time.Duration, 0, b.N)
			b.ReportAllocs()
			for b.Loop() {
				begin := time.Now()
				next <- struct{}{}
				if _, err := io.ReadFull(in, token); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
			}
			close(next)
			_, _ = io.Copy(io.Discard, in)
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "p50-ns/token")
			b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns/token")
			if r != nil {
				s := r.Stats().Chunk
				b.ReportMetric(s.P50*1e9, "inside-p50-ns/token")
				b.ReportMetric(s.P99*1e9, "inside-p99-ns/token")
			}
		})
	}
}

// BenchmarkRewrite is the cost of making prefill's body of a prompt of 8,000 token ids.
func BenchmarkRewrite(b *testing.B) {
	body := []byte(`{"model":"m","prompt":[` + strings.TrimSuffix(strings.Repeat("12345,", 8000), ",") + `],"max_tokens":64,"stream":true}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		o, err := parseObject(body)
		if err != nil {
			b.Fatal(err)
		}
		x := exchange{object: o, path: pathCompletions}
		x.firstToken(edit{key: transferParams, value: nixlParams})
	}
}

// endless is a body of n chunks.
type endless struct{ n int }

func (e *endless) Read(b []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	e.n--
	return copy(b, "data: {}\n\n"), nil
}

func (e *endless) Close() error { return nil }

// nowhere is a client that takes everything.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n nowhere) WriteHeader(int)             {}
func (n nowhere) Flush()                      {}

// TestChunksAllocateNothing compares answers of few and of many chunks.
func TestChunksAllocateNothing(t *testing.T) {
	r, err := New(Config{Protocol: RoundRobin, Decode: []Backend{{URL: "http://h"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	req := httptest.NewRequest(http.MethodPost, pathCompletions, nil)
	allocs := func(chunks int) float64 {
		return testing.AllocsPerRun(20, func() {
			x := &exchange{r: r, w: nowhere{http.Header{}}, req: req, decode: r.decode[0], chunks: &r.stats.chunk, ctx: req.Context()}
			if f := x.copy(&http.Response{StatusCode: 200, ContentLength: -1, Body: &endless{chunks}}); f != nil {
				t.Fatal(f)
			}
		})
	}
	if few, many := allocs(1), allocs(2000); many > few+10 {
		t.Errorf("%g allocations for one chunk, %g for 2,000", few, many)
	}
}
