// Package mock is a server that answers at known times, to measure the errors of a load generator. It
// implements as much of the OpenAI completions API as load generators need. It writes every token on an
// absolute schedule relative to the arrival of the request, and records the times of its own writes:
//
//	s := mock.New(mock.Schedule{First: 200 * time.Millisecond, Gap: 50 * time.Millisecond})
//	err := s.Serve(ctx, listener)
//
// GET /truth returns a Truth with the server's own measurements, and GET /arrivals the arrival times of its
// requests; POST /reset deletes both.
//
// It models no engine (see steps/simulate for that) and judges no measurement.
package mock

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/load/internal/cpu"

	"github.com/servegate/pipeline/steps/load/internal/stamp"
)

// Schedule is the schedule of a response.
type Schedule struct {
	// First is the time from the arrival of the request to the first token.
	First time.Duration
	// Gap is the time between tokens.
	Gap time.Duration
}

// Truth holds the server's measurements. Times are in seconds.
type Truth struct {
	Requests int `json:"requests"`
	Tokens   int `json:"tokens"`
	// TTFT is the time from the arrival of a request to the write of its first token; ITL is the time between
	// writes.
	TTFT Quantiles `json:"ttft"`
	ITL  Quantiles `json:"itl"`
	// Peak is the largest number of concurrent responses.
	Peak int `json:"peak"`
	// CPUSeconds is the CPU time of the server's process since the last reset.
	CPUSeconds float64 `json:"cpu_seconds"`
}

// Quantiles of times in seconds.
type Quantiles struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	Mean float64 `json:"mean"`
}

// QuantilesOf summarises times in nanoseconds.
func QuantilesOf(ns []int64) Quantiles {
	if len(ns) == 0 {
		return Quantiles{}
	}
	slices.Sort(ns)
	at := func(q float64) float64 {
		x := q * float64(len(ns)-1)
		i := int(x)
		j := min(i+1, len(ns)-1)
		return (float64(ns[i]) + (x-float64(i))*float64(ns[j]-ns[i])) / 1e9
	}
	var sum float64
	for _, v := range ns {
		sum += float64(v)
	}
	return Quantiles{P50: at(0.5), P99: at(0.99), Mean: sum / float64(len(ns)) / 1e9}
}

// Server responds on a schedule.
type Server struct {
	schedule Schedule

	mu         sync.Mutex
	arrivals   []int64 // UnixNano
	ttft, itl  []int64
	open, peak int
	tokens     int
	cpu        float64
}

// New returns a server.
func New(s Schedule) *Server { return &Server{schedule: s, cpu: cpu.Seconds()} }

// Serve serves connections until ctx is done, and closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("mock: %w", err)
		}
		wg.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer stop()
			defer func() { _ = c.Close() }()
			s.serve(ctx, c)
		})
	}
}

// arrivals reads from a connection and records when the last bytes arrived. It uses the kernel's stamp if
// available, because the server may read late.
type arrivals struct {
	c      net.Conn
	stamps *stamp.Reader
	last   time.Time
}

func (a *arrivals) Read(b []byte) (n int, err error) {
	if a.stamps == nil {
		n, err = a.c.Read(b)
		a.last = time.Now()
		return n, err
	}
	n, at, err := a.stamps.Read(b)
	a.last = time.Now()
	if at > 0 {
		a.last = a.last.Add(-time.Duration(max(a.last.UnixNano()-at, 0)))
	}
	return n, err
}

// maxBody is the largest size of a request body in bytes.
const maxBody = 64 << 20

func (s *Server) serve(ctx context.Context, c net.Conn) {
	in := &arrivals{c: c, stamps: stamp.New(c)}
	br := bufio.NewReaderSize(in, 4<<10)
	for {
		// A request arrives with its first byte.
		if _, err := br.Peek(1); err != nil {
			return
		}
		arrived := in.last
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		body, err := io.ReadAll(io.LimitReader(req.Body, maxBody))
		if err != nil || !s.answer(ctx, c, req, body, arrived) {
			return
		}
	}
}

// answer responds to one request; false ends the connection.
func (s *Server) answer(ctx context.Context, c net.Conn, req *http.Request, body []byte, arrived time.Time) bool {
	switch {
	case strings.HasSuffix(req.URL.Path, "/completions"):
		var ask struct {
			MaxTokens int             `json:"max_tokens"`
			Prompt    json.RawMessage `json:"prompt"`
			Stream    bool            `json:"stream"`
		}
		if json.Unmarshal(body, &ask) != nil || ask.MaxTokens < 1 || ask.MaxTokens > 1<<20 || !ask.Stream {
			return page(c, 400, map[string]string{"error": "the mock streams completions of max_tokens tokens and nothing else"})
		}
		return s.stream(ctx, c, ask.MaxTokens, promptTokens(ask.Prompt), arrived)
	case req.URL.Path == "/tokenize":
		return page(c, 200, tokenized(body))
	case req.URL.Path == "/truth":
		return page(c, 200, s.Truth())
	case req.URL.Path == "/arrivals":
		return page(c, 200, s.Arrivals())
	case req.URL.Path == "/reset":
		s.Reset()
		return page(c, 200, map[string]bool{"success": true})
	case req.URL.Path == "/v1/models":
		return page(c, 200, map[string]any{"object": "list", "data": []any{map[string]any{"id": "mock", "root": "mock", "object": "model",
			"max_model_len": 1 << 20}}})
	case req.URL.Path == "/health":
		return page(c, 200, map[string]bool{"ok": true})
	}
	return page(c, 404, map[string]string{"error": "no such path"})
}

// promptTokens returns the length of a prompt; for text, its number of words.
func promptTokens(prompt json.RawMessage) int {
	var ids []int
	if json.Unmarshal(prompt, &ids) == nil {
		return len(ids)
	}
	var text string
	_ = json.Unmarshal(prompt, &text)
	return len(strings.Fields(text))
}

// tokenized returns a response that counts words as tokens.
func tokenized(body []byte) map[string]any {
	var ask struct {
		Prompt string `json:"prompt"`
	}
	_ = json.Unmarshal(body, &ask)
	ids := make([]int, len(strings.Fields(ask.Prompt)))
	for i := range ids {
		ids[i] = 10 + i%1000
	}
	return map[string]any{"tokens": ids, "count": len(ids), "max_model_len": 1 << 20}
}

func page(c net.Conn, status int, v any) bool {
	text, err := json.Marshal(v)
	if err != nil {
		return false
	}
	_, err = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status,
		http.StatusText(status), len(text), text)
	return err == nil
}

// stream writes n tokens on the schedule, in the format and size of vLLM's events.
func (s *Server) stream(ctx context.Context, c net.Conn, n, prompt int, arrived time.Time) bool {
	s.begin(arrived)
	buf := bytes.NewBufferString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n")
	writes, ok := s.write(ctx, c, buf, n, prompt, arrived)
	s.end(arrived, writes) // before the client can know that the response is complete
	if !ok {
		return false
	}
	event(buf, `{"id":"cmpl-0","object":"text_completion","created":1700000000,"model":"mock","choices":[],"usage":{"prompt_tokens":`,
		strconv.Itoa(prompt),
		`,"total_tokens":`, strconv.Itoa(prompt+n), `,"completion_tokens":`, strconv.Itoa(n), `}}`)
	event(buf, "[DONE]")
	buf.WriteString("0\r\n\r\n")
	_, err := c.Write(buf.Bytes())
	return err == nil
}

// write writes the tokens and returns the times of its writes; false after an error.
func (s *Server) write(ctx context.Context, c net.Conn, buf *bytes.Buffer, n, prompt int, arrived time.Time) (writes []time.Time, ok bool) {
	writes = make([]time.Time, 0, n)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for k := range n {
		timer.Reset(time.Until(arrived.Add(s.schedule.First + time.Duration(k)*s.schedule.Gap)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return writes, false
		}
		finish := "null"
		if k == n-1 {
			finish = `"length"`
		}
		event(buf, `{"id":"cmpl-00000000000000000000000000000000","object":"text_completion","created":1700000000,"model":"mock","choices":[{"index":0,"text":" token","logprobs":null,"finish_reason":`,
			finish, `,"stop_reason":null}],"usage":{"prompt_tokens":`, strconv.Itoa(prompt), `,"total_tokens":`, strconv.Itoa(prompt+k+1),
			`,"completion_tokens":`, strconv.Itoa(k+1), `}}`)
		writes = append(writes, time.Now())
		if _, err := c.Write(buf.Bytes()); err != nil {
			return writes, false
		}
		buf.Reset()
	}
	return writes, true
}

// event appends one event as a chunk.
func event(b *bytes.Buffer, parts ...string) {
	size := len("data: \n\n")
	for _, p := range parts {
		size += len(p)
	}
	b.WriteString(strconv.FormatInt(int64(size), 16))
	b.WriteString("\r\ndata: ")
	for _, p := range parts {
		b.WriteString(p)
	}
	b.WriteString("\n\n\r\n")
}

func (s *Server) begin(arrived time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals = append(s.arrivals, arrived.UnixNano())
	s.open++
	s.peak = max(s.peak, s.open)
}

// end records the times of a response.
func (s *Server) end(arrived time.Time, writes []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.tokens += len(writes)
	for k, w := range writes {
		if k == 0 {
			s.ttft = append(s.ttft, int64(w.Sub(arrived)))
			continue
		}
		s.itl = append(s.itl, int64(w.Sub(writes[k-1])))
	}
}

// Truth returns the server's measurements of completed responses since the last reset.
func (s *Server) Truth() Truth {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Truth{
		Requests: len(s.ttft), Tokens: s.tokens, TTFT: QuantilesOf(s.ttft), ITL: QuantilesOf(s.itl),
		Peak: s.peak, CPUSeconds: cpu.Seconds() - s.cpu,
	}
}

// Arrivals returns the arrival times of completion requests since the last reset, in nanoseconds after the
// first, ascending.
func (s *Server) Arrivals() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Sorted(slices.Values(s.arrivals))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] -= out[0]
	}
	return out
}

// Reset deletes the measurements.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals = nil
	s.ttft, s.itl, s.tokens, s.peak, s.cpu = nil, nil, 0, s.open, cpu.Seconds()
}
