package router

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
