package load_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

// wired is a server that gives each request the same bytes, and keeps its connections open.
func wired(t *testing.T, network, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", network)
	if err != nil {
		t.Skip(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/tokenize") {
			http.NotFound(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = c.Close() }()
		for err == nil {
			if _, err = io.WriteString(c, answer); err != nil {
				return
			}
			if r, err = http.ReadRequest(rw.Reader); err == nil {
				_, err = io.Copy(io.Discard, r.Body)
			}
		}
	})}}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// embedding is a whole answer, and oneEvent a stream.
const (
	embedding = `{"data":[{"embedding":[0.5]}],"usage":{"prompt_tokens":3}}`
	oneEvent  = "data: {\"choices\":[{\"text\":\" a\",\"finish_reason\":\"length\"}],\"usage\":{\"completion_tokens\":4}}\n\ndata: [DONE]\n\n"
)

// inTurn sends three requests in turn.
func inTurn(t *testing.T, url, endpoint string) record.Run {
	t.Helper()
	res, err := load.Run(t.Context(), load.Options{BaseURL: url, Model: "m", Seed: 1, Workload: steps.Workload{
		Endpoint: endpoint, IgnoreEOS: true,
		Dataset: steps.Dataset{Kind: "sonnet", InputMin: 40, InputMax: 60, OutputMin: 4, OutputMax: 4},
		Load:    steps.Load{Arrival: load.Closed, MaxConcurrency: 1, Requests: 3},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return res.Run
}

// TestAdditionsOfHTTP: what HTTP/1.1 lets a server or its proxy add to an answer does not change its outcome, and a connection
// is used again unless it is named as closing.
func TestAdditionsOfHTTP(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	chunks := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n"+
		"%x ;a=\"b\"\r\n%s\r\n%X;c\r\n%s\r\n000\r\nServer-Timing: t;dur=1\r\nX:\r\n\r\n",
		9, oneEvent[:9], len(oneEvent)-9, oneEvent[9:])
	whole := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(embedding), embedding)
	for name, tt := range map[string]struct {
		endpoint, answer string
		closed           int
	}{
		"extensions and trailers": {"completions", head + "Trailer: Server-Timing\r\n" + chunks, 0},
		"informational answers": {"completions", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 7\r\n\r\n" +
			"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + head + chunks, 0},
		"kept":             {"embeddings", head + "Connection: Upgrade, Keep-Alive\r\nUpgrade: h2c\r\nContent-Encoding: identity\r\n" + whole, 0},
		"closes":           {"embeddings", head + "Connection: Close\r\n" + whole, 3},
		"closes in a list": {"embeddings", head + "Connection: Upgrade, close\r\n" + whole, 3},
	} {
		t.Run(name, func(t *testing.T) {
			for _, network := range []string{"127.0.0.1:0", "[::1]:0"} {
				t.Run(network, func(t *testing.T) {
					run := inTurn(t, wired(t, network, tt.answer), tt.endpoint)
					if failed, classes := record.Failures(run); failed > 0 || run.Audit.Closed != tt.closed || run.Audit.Redials > 0 {
						t.Errorf("%d failed (%v, %s), %d connections closed, want %d", failed, classes, run.Requests.At(0).Error, run.Audit.Closed, tt.closed)
					}
				})
			}
		})
	}
}

// TestContentEncodings: the client asks for no compression. It rejects compressed answers and names their encoding, without
// their bytes.
func TestContentEncodings(t *testing.T) {
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd", "gzip, br"} {
		for _, endpoint := range []string{"completions", "embeddings"} {
			for status, want := range map[string]record.Failure{"200 OK": record.FailGarbage, "503 Service Unavailable": record.FailStatus} {
				url := wired(t, "127.0.0.1:0", fmt.Sprintf("HTTP/1.1 %s\r\n"+
					"Content-Encoding: %s\r\nContent-Length: 5\r\n\r\n\x1f\x8b\x08\n\n", status, encoding))
				r := inTurn(t, url, endpoint).Requests.At(0)
				if r.Failure != want || !strings.HasSuffix(r.Error, encoding) || strings.ContainsAny(r.Error, "\x1f\x08") {
					t.Errorf("%s, %s, status %s: %s %q", encoding, endpoint, status, r.Failure, r.Error)
				}
			}
		}
	}
}
