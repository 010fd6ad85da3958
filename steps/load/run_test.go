package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(mockVar) != "" {
		if err := serveMock(); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func mustRun(t *testing.T, opt Options) Result {
	t.Helper()
	res, err := Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestHealthyRun(t *testing.T) {
	s := serve(t, healthy)
	res := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: workload(5), Seed: 1})
	if !res.First.Equal(res.Start) { // neither connections nor the lead before the schedule are part of the run
		t.Errorf("the run begins at %s, and its schedule counts from %s", res.First, res.Start)
	}
	if res.Run.Requests.Len() != 5 || res.Warmup.Len() > 0 {
		t.Fatalf("%d requests, %d of warm-up", res.Run.Requests.Len(), res.Warmup.Len())
	}
	for i, r := range res.Run.Requests.All() {
		if r.Index != i || r.Failure != "" || r.Finish != "length" || r.OutputTokens != 4 || r.PromptTokens != 8 ||
			r.CachedTokens != 2 || r.Status != 200 || r.WantTokens != 4 || r.Planned != 0 {
			t.Errorf("request %d: %+v", i, r)
		}
		if len(r.Events) != 4 || r.Events[3].Tokens != 4 {
			t.Errorf("request %d: events %v", i, r.Events)
		}
		if !slices.IsSorted([]int64{0, r.Sent, r.Headers, r.Events[0].At, r.Events[3].At, r.Done}) {
			t.Errorf("request %d: times out of order: %+v", i, r)
		}
	}
	a := res.Run.Audit
	if a.Events != 20 || a.PeakConcurrency < 1 || a.PeakConcurrency > 5 || a.WorkHash == "" || a.ScheduleHash == "" || res.Run.Duration <= 0 {
		t.Errorf("audit %+v, duration %d", a, res.Run.Duration)
	}
	b := s.seen().bodies[0]
	if b["temperature"] != 0.0 || b["stream"] != true || b["ignore_eos"] != true || b["model"] != "m" || want(b) != 4 {
		t.Errorf("body %v", b)
	}
	if d := cmp.Diff(map[string]any{"include_usage": true, "continuous_usage_stats": true}, b["stream_options"]); d != "" {
		t.Error(d)
	}
	if ids, ok := b["prompt"].([]any); !ok || len(ids) != 8 {
		t.Errorf("prompt %v", b["prompt"])
	}
}

// TestSameSeedSameBytes: two sides get the same work, another seed gets other content.
func TestSameSeedSameBytes(t *testing.T) {
	w := workload(6)
	w.Load = steps.Load{Arrival: Poisson, Rate: 500, Requests: 6, MaxConcurrency: 1}
	w.Dataset.InputMax, w.Dataset.OutputMax = 30, 9
	send := func(seed, lengths uint64) (*rawServer, record.Run) {
		s := serve(t, healthy)
		return s, mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: seed, ShapeSeed: lengths}).Run
	}
	s1, a := send(1, 9)
	s2, b := send(1, 9)
	s3, c := send(2, 9)
	if d := cmp.Diff(s1.seen().texts, s2.seen().texts); d != "" || a.Audit.WorkHash != b.Audit.WorkHash ||
		a.Audit.ScheduleHash != b.Audit.ScheduleHash {
		t.Errorf("the same seed sent other work: %s", d)
	}
	if a.Audit.WorkHash == c.Audit.WorkHash || s1.seen().texts[0] == s3.seen().texts[0] {
		t.Error("another seed sent the same work")
	}
	for i := range a.Requests.All() {
		if a.Requests.At(i).WantTokens != c.Requests.At(i).WantTokens {
			t.Error("lengths changed with the content")
		}
	}
}

func TestFailureClasses(t *testing.T) {
	stream := func(events ...string) script {
		return func(w net.Conn, _ string, _ map[string]any) bool {
			streamHead(w)
			for _, e := range events {
				piece(w, e)
			}
			return streamEnd(w)
		}
	}
	cut := func(events ...string) script {
		return func(w net.Conn, _ string, _ map[string]any) bool {
			streamHead(w)
			for _, e := range events {
				piece(w, e)
			}
			return false
		}
	}
	all := tokens(4)
	errorObject := `data: {"error":{"message":"engine died","type":"InternalServerError","param":null,"code":500}}` + "\n\n"
	tests := []struct {
		name   string
		answer script
		want   record.Failure
		text   string
	}{
		{"healthy", stream(all...), "", ""},
		{"all in one read", stream(strings.Join(all, "")), "", ""},
		{"crlf", stream(strings.ReplaceAll(strings.Join(all, ""), "\n", "\r\n")), "", ""},
		{"no space after data", stream(strings.ReplaceAll(strings.Join(all, ""), "data: ", "data:")), "", ""},
		{"comments", stream(": ping\n\n", all[0], ": ping\n\n", all[1], all[2], all[3], all[4], all[5]), "", ""},
		{"no [DONE]", stream(all[:5]...), "", ""},
		{"no last empty line", stream(append(all[:5:5], "data: [DONE]")...), "", ""},
		{"no usage chunk", stream(append(all[:4:4], all[5])...), "", ""},
		{"big event", stream(all[0], `data: {"choices":[{"text":"`+strings.Repeat("x", 1<<20)+`"}],"usage":{"completion_tokens":2}}`+"\n\n",
			all[2], all[3], all[5]), "", ""},
		{"a rune cut over two reads", stream(`data: {"choices":[{"text":"`+"\xe2\x82", "\xac"+`"}],"usage":{"completion_tokens":1}}`+"\n\n",
			all[1], all[2], all[3], all[5]), "", ""},
		{"an event cut over three reads", stream(all[0][:20], all[0][20:60], all[0][60:]+all[1], all[2], all[3], all[4], all[5]), "", ""},
		{"no usage at all", stream(`data: {"choices":[{"text":"a","finish_reason":"length"}]}`+"\n\n", all[5]), "", ""},

		{"error first", stream(errorObject, all[5]), record.FailStreamError, "InternalServerError: engine died"},
		{"error after tokens", stream(all[0], all[1], errorObject, all[5]), record.FailStreamError, "engine died"},
		{"error event", stream(all[0], "event: error\ndata: kaput\n\n"), record.FailStreamError, "kaput"},
		{"error then cut", cut(all[0], errorObject), record.FailStreamError, "engine died"},
		{"error as plain JSON", func(w net.Conn, _ string, _ map[string]any) bool {
			return reply(w, "200 OK", "application/json", `{"error":"no such model"}`)
		}, record.FailStreamError, "no such model"},
		{"finish reason error", stream(all[0], `data: {"choices":[{"text":"","finish_reason":"error"}]}`+"\n\n", all[5]),
			record.FailStreamError, "error"},
		{"abort", stream(all[0], `data: {"choices":[{"text":"","finish_reason":"abort"}]}`+"\n\n", all[5]), record.FailAborted, "abort"},
		{"cut", cut(all[0], all[1]), record.FailCut, "without a finish reason"},
		{"cut before any event", cut(), record.FailCut, ""},
		{"cut in an event", cut(all[0], all[1][:30]), record.FailCut, ""},
		{"ended in an event", stream(all[0], all[1][:30]), record.FailCut, ""},
		{"ended early", stream(all[0], all[1]), record.FailCut, ""},
		{"[DONE] without a finish reason", stream(all[0], all[1], all[5]), record.FailCut, "finish reason"},
		{"cut after the finish reason", cut(all[:4]...), record.FailCut, "after its finish reason"},
		{"empty answer", stream(), record.FailCut, ""},
		{"no token", stream(`data: {"choices":[{"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":0}}`+"\n\n", all[5]),
			record.FailEmpty, ""},
		{"no token, no usage", stream(`data: {"choices":[{"text":"","finish_reason":"stop"}]}`+"\n\n", all[5]), record.FailEmpty, ""},
		{"short", stream(tokens(3)...), record.FailShort, "3 of 4"},
		{"short without usage", stream(`data: {"choices":[{"text":"a","finish_reason":"stop"}]}`+"\n\n", all[5]), record.FailShort, "no usage"},
		{"page", func(w net.Conn, _ string, _ map[string]any) bool {
			return reply(w, "200 OK", "text/html", "<html>\n<h1>Welcome</h1></html>")
		}, record.FailGarbage, "text/html"},
		{"page in chunks", stream("<!DOCTYPE html>\n", "<html><body>502 Bad Gateway</body></html>\n"), record.FailGarbage, "502 Bad Gateway"},
		{"page after tokens", stream(all[0], "<html>upstream went away</html>\n\n"), record.FailCut, ""},
		{"not streamed", func(w net.Conn, _ string, _ map[string]any) bool {
			return reply(w, "200 OK", "application/json", `{"choices":[{"text":"abc","finish_reason":"length"}]}`)
		}, record.FailGarbage, "application/json"},
		{"broken event", stream(all[0], "data: {\"choices\":[\n\n", all[3], all[5]), record.FailGarbage, "not a JSON object"},
		{"compressed", func(w net.Conn, _ string, _ map[string]any) bool {
			_, _ = io.WriteString(w, okHead+"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nxyz")
			return false
		}, record.FailGarbage, "gzip"},
		{"not HTTP", func(w net.Conn, _ string, _ map[string]any) bool {
			_, _ = io.WriteString(w, "-ERR unknown command\r\n")
			return false
		}, record.FailGarbage, "-ERR"},
		{"status", func(w net.Conn, _ string, _ map[string]any) bool {
			_, _ = io.WriteString(w, "HTTP/1.1 503 Busy\r\nRetry-After: 2\r\nContent-Length: 31\r\n\r\n{\"message\":\"queue   is full!!\"}")
			return true
		}, record.FailStatus, "status 503, retry after 2: queue is full!!"},
		{"redirect", func(w net.Conn, _ string, _ map[string]any) bool {
			return reply(w, "307 Temporary Redirect", "text/plain", "there")
		}, record.FailStatus, "307"},
		{"reset before the answer", func(net.Conn, string, map[string]any) bool { return false }, record.FailConnect, "no answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.answer)
			r := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: workload(1), Seed: 1}).Run.Requests.At(0)
			if r.Failure != tt.want || !strings.Contains(r.Error, tt.text) {
				t.Errorf("failure %q (%s), want %q (…%s…)", r.Failure, r.Error, tt.want, tt.text)
			}
			if tt.want == "" && r.Error != "" {
				t.Errorf("a success with the error %q", r.Error)
			}
			if r.Done < r.Sent || len(r.Error) > maxError {
				t.Errorf("sent %d, done %d, error of %d bytes", r.Sent, r.Done, len(r.Error))
			}
		})
	}
}

// TestServerGone: a server that dies is recorded, request by request.
func TestServerGone(t *testing.T) {
	var once sync.Once
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { _ = s.Listener.Close() }) // /tokenize is the last thing it does
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusNotFound)
	})
	s.Start()
	defer s.Close()
	res := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: workload(3), Seed: 1})
	for _, r := range res.Run.Requests.All() {
		if r.Failure != record.FailConnect || r.Headers != -1 || r.Status != 0 {
			t.Errorf("%+v", r)
		}
	}
	if res.Run.Requests.Len() != 3 {
		t.Errorf("%d requests recorded", res.Run.Requests.Len())
	}
}

// TestTokenizeContent: a server that finds no text in vLLM's form of the request, as llama.cpp does, is asked in its own.
func TestTokenizeContent(t *testing.T) {
	var prompts []json.RawMessage
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Content string          `json:"content"`
			Prompt  json.RawMessage `json:"prompt"`
		}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if r.URL.Path == "/tokenize" {
			ids := []int{}
			for i := range strings.Fields(asked.Content) {
				ids = append(ids, i)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"tokens": ids})
			return
		}
		mu.Lock()
		defer mu.Unlock()
		prompts = append(prompts, asked.Prompt)
		http.NotFound(w, r)
	}))
	defer s.Close()
	mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: workload(1), Seed: 1})
	mu.Lock()
	defer mu.Unlock()
	var ids []int
	if len(prompts) != 1 || json.Unmarshal(prompts[0], &ids) != nil || len(ids) == 0 {
		t.Errorf("the prompts are no token IDs: %s", prompts)
	}
}

func TestEndpoints(t *testing.T) {
	chat := func(w net.Conn, _ string, _ map[string]any) bool {
		streamHead(w)
		piece(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":{"prompt_tokens":9,"completion_tokens":0}}`+"\n\n")
		for i := 1; i <= 4; i++ {
			piece(w, fmt.Sprintf(
				`data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`+
					"\n\n", i))
		}
		piece(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}`+"\n\ndata: [DONE]\n\n")
		return streamEnd(w)
	}
	generate := func(w net.Conn, _ string, _ map[string]any) bool {
		streamHead(w)
		for i, n := range []int{1, 3, 3, 4} {
			finish := "null"
			if i == 3 {
				finish = `{"type":"length","length":4}`
			}
			piece(w, fmt.Sprintf(
				`data: {"text":"%s","output_ids":[1],"meta_info":{"id":"r","finish_reason":%s,"prompt_tokens":9,"completion_tokens":%d,"cached_tokens":5}}`+"\n\n", strings.Repeat("x", n), finish, n))
		}
		piece(w, "data: [DONE]\n\n")
		return streamEnd(w)
	}
	tests := []struct {
		endpoint string
		answer   script
		events   int
		check    func(path string, b map[string]any) string
	}{
		{"completions", healthy, 4, func(path string, b map[string]any) string {
			if path != "/v1/completions" || b["prompt"] == nil {
				return "wrong request"
			}
			return ""
		}},
		{"chat", chat, 4, func(path string, b map[string]any) string {
			m, _ := b["messages"].([]any)
			if path != "/v1/chat/completions" || len(m) != 1 || b["max_completion_tokens"] != 4.0 {
				return "wrong request"
			}
			if text := m[0].(map[string]any)["content"].(string); len(text) < 20 {
				return "short text " + text
			}
			return ""
		}},
		{"generate", generate, 3, func(path string, b map[string]any) string {
			p, _ := b["sampling_params"].(map[string]any)
			ids, _ := b["input_ids"].([]any)
			if path != "/generate" || len(ids) != 8 || p["max_new_tokens"] != 4.0 || p["ignore_eos"] != true || p["temperature"] != 0.0 ||
				p["top_k"] != 1.0 {
				return "wrong request"
			}
			return ""
		}},
	}
	for _, tt := range tests {
		t.Run(tt.endpoint, func(t *testing.T) {
			var problem atomic.Value
			s := serve(t, func(w net.Conn, path string, body map[string]any) bool {
				problem.Store(tt.check(path, body) + "")
				return tt.answer(w, path, body)
			})
			w := workload(1)
			w.Endpoint = tt.endpoint
			w.Body = map[string]any{"top_p": 0.9}
			if tt.endpoint == "generate" {
				w.Body["sampling_params"] = map[string]any{"top_k": 1}
			}
			r := mustRun(t, Options{BaseURL: s.URL + "/v1", Model: "m", Workload: w, Seed: 1}).Run.Requests.At(0)
			if p := problem.Load(); p != "" {
				t.Errorf("%v: %v", p, s.seen().bodies)
			}
			if r.Failure != "" || len(r.Events) != tt.events || r.OutputTokens != 4 || r.Events[len(r.Events)-1].Tokens != 4 {
				t.Errorf("%+v", r)
			}
			if s.seen().bodies[0]["top_p"] != 0.9 {
				t.Error("the extra field of the body was not sent")
			}
		})
	}
}

// TestTextWithoutTokenizer: a server without /tokenize gets text, one that fails is an error.
func TestTextWithoutTokenizer(t *testing.T) {
	for _, tt := range []struct {
		name, status, contentType, body string
		fails                           bool
	}{
		{"absent", "404 Not Found", "text/plain", "nope", false},
		{"page", "200 OK", "text/html", "<html>", false},
		{"refused", "401 Unauthorized", "text/plain", "", true},
		{"broken", "500 Internal Server Error", "text/plain", "oops", true},
		{"too few", "200 OK", "application/json", `{"tokens":[1,2,3]}`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serveRaw(t, func(w net.Conn, path string, body map[string]any) bool {
				if path == "/tokenize" {
					return reply(w, tt.status, tt.contentType, tt.body)
				}
				return healthy(w, path, body)
			})
			res, err := Run(t.Context(), Options{BaseURL: s.URL, Model: "m", Workload: workload(1), Seed: 1})
			if (err != nil) != tt.fails {
				t.Fatalf("error %v", err)
			}
			if err == nil {
				if _, text := s.seen().bodies[0]["prompt"].(string); !text || res.Run.Requests.At(0).Failure != "" {
					t.Errorf("prompt %v, %+v", s.seen().bodies[0]["prompt"], res.Run.Requests.At(0))
				}
			}
		})
	}
}

// TestMissingPathIsNamed: a server that lacks the path that is loaded, such as one with chat alone, has it in its failures.
func TestMissingPathIsNamed(t *testing.T) {
	for status, missing := range map[string]bool{"404 Not Found": true, "405 Method Not Allowed": true, "400 Bad Request": false} {
		s := serveRaw(t, func(w net.Conn, _ string, _ map[string]any) bool {
			return reply(w, status, "application/json", `{"detail":"no"}`)
		})
		r := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: workload(1), Seed: 1}).Run.Requests.At(0)
		const text = "at /v1/completions; the endpoint of the benchmark may be another"
		if r.Failure != record.FailStatus || strings.Contains(r.Error, text) != missing {
			t.Errorf("%s: %s %q, want %q: %v", status, r.Failure, r.Error, text, missing)
		}
	}
}

func TestOpenLoopFollowsItsSchedule(t *testing.T) {
	s := serve(t, healthy)
	w := workload(0)
	w.Load = steps.Load{Arrival: Constant, Rate: 200, Duration: 200 * time.Millisecond}
	run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1}).Run
	if run.Requests.Len() != 40 {
		t.Fatalf("%d requests, want 40", run.Requests.Len())
	}
	for i, r := range run.Requests.All() {
		if want := int64(i+1) * 5e6; r.Planned != want || r.Sent < r.Planned {
			t.Errorf("request %d: planned %d (want %d), sent %d", i, r.Planned, want, r.Sent)
		}
	}
	if a := run.Audit; a.PlannedRate != 200 || a.RealisedRate > 200 || a.RealisedRate <= 0 || a.LagMax < a.LagP99 ||
		a.LagP99 < a.LagP50 || a.LagP50 < 0 {
		t.Errorf("audit %+v", a)
	}
}

// TestMaxConcurrency: the bound holds, slots are taken in order, and the wait for one is
// queue and not lag.
func TestMaxConcurrency(t *testing.T) {
	for _, arrival := range []string{Unlimited, Closed} {
		t.Run(arrival, func(t *testing.T) {
			var now, peak atomic.Int64
			release := make(chan struct{}, 100)
			s := serve(t, func(w net.Conn, path string, body map[string]any) bool {
				for n := now.Add(1); ; {
					p := peak.Load()
					if n <= p || peak.CompareAndSwap(p, n) {
						break
					}
				}
				<-release
				now.Add(-1)
				return healthy(w, path, body)
			})
			go func() {
				for range 12 {
					release <- struct{}{}
				}
			}()
			w := workload(12)
			w.Load = steps.Load{Arrival: arrival, Requests: 12, MaxConcurrency: 3}
			run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1}).Run
			if peak.Load() > 3 || run.Audit.PeakConcurrency > 3 || run.Requests.Len() != 12 {
				t.Errorf("peak %d (recorded %d), %d requests", peak.Load(), run.Audit.PeakConcurrency, run.Requests.Len())
			}
			for i, r := range run.Requests.All() {
				if r.Failure != "" {
					t.Errorf("%+v", r)
				}
				if arrival == Unlimited && i > 0 && r.Sent < run.Requests.At(i-1).Sent-int64(time.Second) {
					t.Errorf("request %d was sent long before the one before it", i)
				}
				if (r.Planned == -1) != (arrival == Closed) {
					t.Errorf("planned %d in arrival %s", r.Planned, arrival)
				}
			}
		})
	}
}

func TestClosedLoopByDuration(t *testing.T) {
	s := serve(t, healthy)
	w := workload(0)
	w.Load = steps.Load{Arrival: Closed, MaxConcurrency: 2, Duration: time.Second}
	run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1}).Run
	if run.Requests.Len() < 2 || run.Requests.At(run.Requests.Len()-1).Sent > int64(11*time.Second) {
		t.Errorf("%d requests", run.Requests.Len())
	}
	seen := map[string]bool{}
	for _, text := range s.seen().texts {
		seen[text] = true
	}
	if len(seen) != len(s.seen().texts) {
		t.Errorf("%d different prompts in %d requests", len(seen), len(s.seen().texts))
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	silent := func(done <-chan struct{}) script {
		return func(w net.Conn, path string, body map[string]any) bool {
			streamHead(w)
			piece(w, tokens(4)[0])
			<-done
			return false
		}
	}
	t.Run("timeout", func(t *testing.T) {
		done := make(chan struct{})
		defer close(done)
		s := serve(t, silent(done))
		w := workload(2)
		w.RequestTimeout = 2 * time.Second
		for _, r := range mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1}).Run.Requests.All() {
			if r.Failure != record.FailTimeout || len(r.Events) != 1 || r.Done-r.Sent < int64(2*time.Second) {
				t.Errorf("%+v", r)
			}
		}
	})
	t.Run("cancel", func(t *testing.T) {
		done := make(chan struct{})
		defer close(done)
		s := serve(t, silent(done))
		ctx, cancel := context.WithCancel(t.Context())
		w := workload(0)
		w.Load = steps.Load{Arrival: Constant, Rate: 20, Requests: 20000}
		res, err := Run(ctx, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1, Progress: func(p Progress) {
			if p.InFlight > 1 {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		if n := res.Run.Requests.Len(); n < 2 || n > 1000 {
			t.Errorf("%d requests recorded", n)
		}
		for _, r := range res.Run.Requests.All() {
			if r.Failure != record.FailCancelled || r.Sent < 0 {
				t.Errorf("%+v", r)
			}
		}
	})
	t.Run("cancelled before", func(t *testing.T) {
		s := serve(t, healthy)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Run(ctx, Options{BaseURL: s.URL, Model: "m", Workload: workload(1), Seed: 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestWarmupIsKeptApart(t *testing.T) {
	s := serve(t, healthy)
	w := workload(3)
	w.Warmup = 2
	res := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1})
	if !res.First.Before(res.Start) {
		t.Errorf("the run begins at %s, and its warm-up before %s", res.First, res.Start)
	}
	if res.Warmup.Len() != 2 || res.Run.Requests.Len() != 3 || len(s.seen().texts) != 5 {
		t.Fatalf("%d of warm-up, %d measured, %d sent", res.Warmup.Len(), res.Run.Requests.Len(), len(s.seen().texts))
	}
	for _, r := range res.Warmup.All() {
		if r.Failure != "" || r.OutputTokens != 4 {
			t.Errorf("%+v", r)
		}
	}
	seen := map[string]bool{}
	for _, b := range s.seen().bodies {
		seen[fmt.Sprint(b["prompt"])] = true
	}
	if len(seen) != 5 {
		t.Errorf("the warm-up shares content with the run: %d different prompts of 5", len(seen))
	}
}

// TestConnectionsAreReused, and one that the server closed while idle is replaced
// without a failure.
func TestConnectionsAreReused(t *testing.T) {
	s := serve(t, healthy)
	w := workload(0)
	// A connection is used again once the server has shown that it keeps one.
	w.Load = steps.Load{Arrival: Closed, MaxConcurrency: 2, Requests: 6, ThinkTime: minRest * 5 / 4}
	run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1}).Run
	if s.seen().accepted > 2 || run.Audit.Dials > 2 {
		t.Errorf("%d connections for two users, audit says %d", s.seen().accepted, run.Audit.Dials)
	}

	var n atomic.Int64
	stale := serve(t, func(c net.Conn, path string, body map[string]any) bool {
		healthy(c, path, body)
		return n.Add(1)%2 == 0 // promises keep-alive and closes
	})
	w.Load.ThinkTime = 20 * time.Millisecond // in which the client sees the end of a connection
	run = mustRun(t, Options{BaseURL: stale.URL, Model: "m", Workload: w, Seed: 1}).Run
	for _, r := range run.Requests.All() {
		if r.Failure != "" {
			t.Errorf("%+v", r)
		}
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/tokenize" {
			http.NotFound(w, r)
			return
		}
		if r.ProtoMajor != 1 || r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("Accept-Encoding") != "" ||
			!slices.Equal(r.Header.Values("User-Agent"), []string{"mine"}) {
			http.Error(w, "unexpected request", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range tokens(4) {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	opt := Options{BaseURL: s.URL, Model: "m", Workload: workload(4), Seed: 1, TLS: &tls.Config{RootCAs: roots},
		Headers: map[string]string{"Authorization": "Bearer k", "user-agent": "mine"}}
	for _, r := range mustRun(t, opt).Run.Requests.All() {
		if r.Failure != "" {
			t.Errorf("%+v", r)
		}
	}
	opt.TLS = nil
	if _, err := Run(t.Context(), opt); err == nil {
		t.Error("an unknown certificate was accepted")
	}
}

func TestTimeScale(t *testing.T) {
	s := serve(t, healthy)
	w := workload(0)
	w.Load = steps.Load{Arrival: Constant, Rate: 1, Requests: 10}
	begin := time.Now()
	run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1, TimeScale: 100}).Run
	if wall := time.Since(begin); wall > 9*time.Second {
		t.Errorf("10 s at a hundred times the speed took %v", wall)
	}
	// In model time, from the first send to the last end. The first send may itself be late
	// on a busy machine, a hundredfold in model time, so the plan's 9 s are no bound.
	last := run.Requests.At(9)
	first, end := last.Sent, last.Done
	for _, r := range run.Requests.All() {
		first, end = min(first, r.Sent), max(end, r.Done)
	}
	if last.Planned != 10e9 || last.Sent < last.Planned || run.Duration != end-first || run.Audit.TimeScale != 100 ||
		run.Audit.PlannedRate != 1 {
		t.Errorf("%+v, duration %d, audit %+v", last, run.Duration, run.Audit)
	}
}

func TestProgress(t *testing.T) {
	s := serve(t, healthy)
	var got []Progress
	mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: workload(3), Seed: 1, Progress: func(p Progress) { got = append(got, p) }})
	if len(got) == 0 {
		t.Fatal("never called")
	}
	p := got[len(got)-1]
	if p.Sent != 3 || p.Done != 3 || p.Failed != 0 || p.Total != 3 || p.InFlight != 0 || p.TTFTp50 <= 0 || p.TTFTp99 < p.TTFTp50 {
		t.Errorf("%+v", p)
	}
}

func TestRunRefuses(t *testing.T) {
	base := func() Options { return Options{BaseURL: "http://127.0.0.1:1", Model: "m", Workload: workload(1)} }
	for name, change := range map[string]func(*Options){
		"load":        func(o *Options) { o.Workload.Load = steps.Load{} },
		"endpoint":    func(o *Options) { o.Workload.Endpoint = "embeddings" },
		"url":         func(o *Options) { o.BaseURL = "127.0.0.1:8000" },
		"url query":   func(o *Options) { o.BaseURL = "http://h/?a=b" },
		"credentials": func(o *Options) { o.BaseURL = "http://u:secret@h/" },
		"kind":        func(o *Options) { o.Workload.Dataset.Kind = "sharegpt" },
		"lengths":     func(o *Options) { o.Workload.Dataset.OutputMin = 0 },
		"header":      func(o *Options) { o.Headers = map[string]string{"X": "a\r\nY: b"} },
		"header name": func(o *Options) { o.Headers = map[string]string{"Content-Length": "3"} },
		"body":        func(o *Options) { o.Workload.Body = map[string]any{"max_tokens": 3} },
		"scale":       func(o *Options) { o.TimeScale = -1 },
		"warm-up":     func(o *Options) { o.Workload.Warmup = -1 },
		"nobody":      func(*Options) {},
	} {
		opt := base()
		change(&opt)
		if _, err := Run(t.Context(), opt); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
}

// TestBeforeTheFirstRequest: a burst finds all its connections open, one that begins with few requests opens no more and
// begins soon.
func TestBeforeTheFirstRequest(t *testing.T) {
	every := func(n int, gap time.Duration) []time.Duration {
		out := make([]time.Duration, n)
		for i := range out {
			out[i] = time.Duration(i) * gap
		}
		return out
	}
	for name, tt := range map[string]struct {
		schedule    []time.Duration
		scale       float64
		users       int
		connections int
		most        time.Duration
	}{
		"few":            {every(20, time.Second), 1, 0, 1, 6 * time.Millisecond},
		"many, spread":   {every(1000, 10*time.Millisecond), 1, 0, 5, 6 * time.Millisecond},
		"fast":           {every(10_000, 100*time.Microsecond), 1, 0, 500, 15 * time.Millisecond},
		"fast by scale":  {every(10_000, time.Millisecond), 10, 0, 500, 15 * time.Millisecond},
		"5,000 at once":  {every(5000, 0), 1, 0, 5000, lead},
		"1,000 at once":  {every(1000, 0), 1, 0, 1000, 25 * time.Millisecond},
		"few users":      {every(5000, 0), 1, 8, 8, 6 * time.Millisecond},
		"too many":       {every(50_000, 0), 1, 0, maxWarmConns, lead},
		"loop of a user": {nil, 1, 1, 1, 6 * time.Millisecond},
	} {
		r := &runner{schedule: tt.schedule, scale: tt.scale, work: &work{n: max(1, len(tt.schedule))}}
		r.opt.Workload.Load.MaxConcurrency = tt.users
		if got := r.connections(); got != tt.connections {
			t.Errorf("%s: %d connections are opened before the run, want %d", name, got, tt.connections)
		}
		if got := r.firstLead(); got < leastLead || got > tt.most {
			t.Errorf("%s: the schedule begins %s after the preparation, want at most %s", name, got, tt.most)
		}
	}
}
