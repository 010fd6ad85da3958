package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/servegate/pipeline/steps"
)

// rawServer answers requests with scripted bytes, so that tests decide what goes over
// the wire and where it breaks.
type rawServer struct {
	URL string

	mu  sync.Mutex
	got received
}

// received is what came over the wire.
type received struct {
	accepted int
	bodies   []map[string]any // of all but /tokenize
	texts    []string
}

// seen is what was received so far.
func (s *rawServer) seen() received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// script answers one request; it returns false to close the connection.
type script func(w net.Conn, path string, body map[string]any) (keep bool)

// serve starts a server whose /tokenize answers with words as tokens.
func serve(t *testing.T, answer script) *rawServer {
	t.Helper()
	return serveRaw(t, func(w net.Conn, path string, body map[string]any) bool {
		if path == "/tokenize" {
			words := strings.Fields(body["prompt"].(string))
			ids := make([]int, len(words))
			for i := range ids {
				ids[i] = i
			}
			b, _ := json.Marshal(map[string]any{"count": len(ids), "tokens": ids})
			return reply(w, "200 OK", "application/json", string(b))
		}
		return answer(w, path, body)
	})
}

func serveRaw(t *testing.T, answer script) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{URL: "http://" + l.Addr().String()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			s.mu.Lock()
			s.got.accepted++
			s.mu.Unlock()
			wg.Go(func() { s.handle(c, answer) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

func (s *rawServer) handle(c net.Conn, answer script) {
	defer func() { _ = c.Close() }()
	br := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		raw, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		body := map[string]any{}
		_ = json.Unmarshal(raw, &body)
		if req.URL.Path != "/tokenize" {
			s.mu.Lock()
			s.got.bodies = append(s.got.bodies, body)
			s.got.texts = append(s.got.texts, string(raw))
			s.mu.Unlock()
		}
		if !answer(c, req.URL.Path, body) {
			return
		}
	}
}

func reply(w io.Writer, status, contentType, body string) bool {
	_, err := fmt.Fprintf(w, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, contentType, len(body), body)
	return err == nil
}

// streamHead begins a chunked event stream.
func streamHead(w io.Writer) {
	_, _ = io.WriteString(w, okHead+"Transfer-Encoding: chunked\r\n\r\n")
}

// piece writes one chunk.
func piece(w io.Writer, text string) { _, _ = fmt.Fprintf(w, "%x\r\n%s\r\n", len(text), text) }

func streamEnd(w io.Writer) bool {
	_, err := io.WriteString(w, "0\r\n\r\n")
	return err == nil
}

// tokens is a healthy vLLM stream of n tokens.
func tokens(n int) (events []string) {
	for i := 1; i <= n; i++ {
		finish := "null"
		if i == n {
			finish = `"length"`
		}
		events = append(events,
			fmt.Sprintf(`data: {"choices":[{"index":0,"text":" t%d","finish_reason":%s}],"usage":{"prompt_tokens":8,"completion_tokens":%d}}`+
				"\n\n", i, finish, i))
	}
	return append(events,
		fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":2}}}`+
			"\n\n", n),
		"data: [DONE]\n\n")
}

// want reads the output length out of a request.
func want(body map[string]any) int {
	n, _ := body["max_tokens"].(float64)
	return int(n)
}

// healthy answers every request in full.
func healthy(w net.Conn, _ string, body map[string]any) bool {
	streamHead(w)
	for _, e := range tokens(want(body)) {
		piece(w, e)
	}
	return streamEnd(w)
}

// workload is a small one for tests: n requests, 4 tokens each, all at once.
func workload(n int) steps.Workload {
	return steps.Workload{
		Endpoint: "completions", IgnoreEOS: true,
		Dataset: steps.Dataset{Kind: "random", InputMin: 8, InputMax: 8, OutputMin: 4, OutputMax: 4},
		Load:    steps.Load{Arrival: Unlimited, Requests: n},
	}
}
