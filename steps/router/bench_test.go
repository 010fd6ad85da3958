package router_test

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/router"
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
			base, r := d.URL, (*router.Router)(nil)
			if routed {
				c := router.Config{Protocol: router.NIXL}
				c.Prefill, c.Decode = backends(p, d, 0)
				r, base = start(b, c)
			}
			req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, base+"/v1/completions", strings.NewReader(`{"prompt":"a"}`))
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
