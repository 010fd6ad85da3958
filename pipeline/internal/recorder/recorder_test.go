package recorder

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/dataset"
)

// backend answers as vLLM does; words are tokens. Streams end when more says so.
func backend(t *testing.T, more <-chan struct{}) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var b struct {
			Prompt    string
			Stream    bool
			MaxTokens int `json:"max_tokens"`
			Usage     bool
		}
		if json.Unmarshal(raw, &b) != nil {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		words := strings.Fields(b.Prompt)
		switch {
		case r.URL.Path == "/tokenize":
			ids := make([]int, len(words))
			for i, word := range words {
				for _, c := range word {
					ids[i] = ids[i]*31 + int(c)
				}
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"tokens": ids})
		case r.URL.Path == "/health":
			_, _ = io.WriteString(w, "fine")
		case b.MaxTokens < 0:
			http.Error(w, "no tokens", http.StatusBadRequest)
		case !b.Stream:
			fmt.Fprintf(w, `{"choices":[{"text":"a b"}],"usage":{"prompt_tokens":%d,"completion_tokens":2}}`, len(words))
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range b.MaxTokens {
				fmt.Fprintf(w, "data: {\"choices\":[{\"text\":\"w%d \"}]}\n\n", i)
				_ = http.NewResponseController(w).Flush()
				if more != nil {
					select {
					case <-more:
					case <-r.Context().Done():
						return
					}
				}
			}
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// recording is one in progress; stop ends it as Ctrl-C does.
func recording(t *testing.T, target string, grace time.Duration) (base string, out *bytes.Buffer, stop func() Summary) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out = &bytes.Buffer{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan Summary, 1)
	go func() {
		r := New(Options{Target: u, SessionHeader: "X-Session-Id", BlockSize: 4, Grace: grace, Out: out})
		r.most = 1 << 16
		s, err := r.Serve(ctx, l)
		if err != nil {
			t.Error(err)
		}
		ended <- s
	}()
	return "http://" + l.Addr().String(), out, sync.OnceValue(func() Summary { cancel(); return <-ended })
}

func post(t *testing.T, to, body string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw)
}

// TestRecord: what passes through is the server's own; the trace has lengths, sessions by header
// and by prefix, and no word of any text; and the dataset reads it.
func TestRecord(t *testing.T) {
	s := backend(t, nil)
	base, out, stop := recording(t, s.URL, time.Minute)
	calls := []struct{ body, session string }{
		{`{"prompt":"secret one two three four five","stream":true,"max_tokens":3}`, ""},
		{`{"prompt":"other one two three four five","max_tokens":2}`, ""},
		{`{"prompt":"secret one two three four five w0 w1 w2 go on","stream":true,"max_tokens":2}`, ""},
		{`{"prompt":"secret","stream":true,"max_tokens":1}`, "client-name"},
		{`{"prompt":"secret again","stream":true,"max_tokens":1}`, "client-name"},
		{`{"prompt":"x","max_tokens":-1}`, ""},
		{`not JSON`, ""},
	}
	for _, c := range calls {
		var headers []string
		if c.session != "" {
			headers = []string{"X-Session-Id", c.session}
		}
		status, got := post(t, base+"/v1/completions", c.body, headers...)
		wantStatus, want := post(t, s.URL+"/v1/completions", c.body)
		if got != want || status != wantStatus {
			t.Errorf("%s: %d %q, the server's is %d %q", c.body, status, got, wantStatus, want)
		}
	}
	if status, got := post(t, base+"/health", "{}"); status != http.StatusOK || got != "fine" {
		t.Errorf("another path: %d %q", status, got)
	}
	sum := stop()
	if sum.Calls != 5 || sum.Sessions != 3 || sum.LeftOut["the server refused it"] != 2 {
		t.Errorf("%+v", sum)
	}
	for _, word := range []string{"secret", "one", "client", "w0"} {
		if strings.Contains(out.String(), word) {
			t.Errorf("the trace has the word %q", word)
		}
	}
	checkTrace(t, out)
}

// checkTrace reads what TestRecord recorded, as a dataset.
func checkTrace(t *testing.T, out *bytes.Buffer) {
	t.Helper()
	kind, err := dataset.All().Lookup("trace")
	if err != nil {
		t.Fatal(err)
	}
	table, err := kind.Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, want := range []struct {
		input, output, session int
		after                  []int
	}{{6, 3, 0, nil}, {6, 2, 1, nil}, {11, 2, 0, []int{0}}, {1, 1, 2, nil}, {2, 1, 2, []int{3}}} {
		e := table.Entries[i]
		if e.Input != want.input || e.Output != want.output || e.Turn.Session != want.session ||
			fmt.Sprint(e.Turn.After) != fmt.Sprint(want.after) {
			t.Errorf("call %d: %d and %d tokens of session %d after %v, want %+v", i, e.Input, e.Output, e.Turn.Session, e.Turn.After, want)
		}
	}
	first, other, next := table.Entries[0].Blocks, table.Entries[1].Blocks, table.Entries[2].Blocks
	if len(first) != 2 || len(next) != 3 || first[0] != next[0] || first[0] == other[0] || first[1] == other[1] {
		t.Errorf("blocks %v, %v and %v", first, other, next)
	}
}

// TestStreamsPassUnbuffered: a client sees each event before the server makes the next one.
func TestStreamsPassUnbuffered(t *testing.T) {
	more := make(chan struct{})
	s := backend(t, more)
	base, _, stop := recording(t, s.URL, time.Minute)
	resp, err := http.Post(base+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"a","stream":true,"max_tokens":3}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for i := range 3 {
		for lines.Scan() && lines.Text() == "" {
		}
		if want := fmt.Sprintf(`"w%d "`, i); !strings.Contains(lines.Text(), want) {
			t.Fatalf("event %q, want one with %s", lines.Text(), want)
		}
		more <- struct{}{}
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	if sum := stop(); sum.Calls != 1 {
		t.Errorf("%+v", sum)
	}
}

// TestInterrupted: what is in flight when the recording ends is written as far as it came.
func TestInterrupted(t *testing.T) {
	s := backend(t, make(chan struct{}))
	base, out, stop := recording(t, s.URL, time.Nanosecond)
	resp, err := http.Post(base+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"a b","stream":true,"max_tokens":3}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if sum := stop(); sum.Calls != 1 || !strings.Contains(out.String(), `"input_length":2,"output_length":1,`) {
		t.Errorf("%+v: %s", sum, out)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the client takes the broken answer for a whole one")
	}
}

// TestHostile: requests that are too large are refused, and the rest goes on.
func TestHostile(t *testing.T) {
	s := backend(t, nil)
	base, _, stop := recording(t, s.URL, time.Minute)
	large := io.MultiReader(strings.NewReader(`{"prompt":"`), io.LimitReader(zeros{}, 1<<17))
	resp, err := http.Post(base+"/v1/completions", "application/json", large)
	if err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if status, _ := post(t, base+"/v1/completions", `{"prompt":["a","b"]}`); status != http.StatusBadRequest {
		t.Errorf("several prompts: status %d", status)
	}
	if status, _ := post(t, base+"/v1/completions", `{"prompt":"a b"}`); status != http.StatusOK {
		t.Errorf("after them: status %d", status)
	}
	if sum := stop(); sum.Calls != 1 || sum.LeftOut["the request did not come whole"] != 1 {
		t.Errorf("%+v", sum)
	}
}

// TestNoAnswer: a server that is not there has refused nothing.
func TestNoAnswer(t *testing.T) {
	base, _, stop := recording(t, "http://127.0.0.1:1", time.Minute)
	if status, said := post(t, base+"/v1/completions", `{"prompt":"a"}`); status != http.StatusBadGateway ||
		!strings.Contains(said, "does not answer") {
		t.Errorf("%d: %s", status, said)
	}
	if sum := stop(); sum.Calls != 0 || sum.LeftOut["the server did not answer"] != 1 {
		t.Errorf("%+v", sum)
	}
}

// full takes a number of lines, and then no more.
type full struct{ lines int }

func (f *full) Write(p []byte) (int, error) {
	if f.lines--; f.lines < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

// TestFull: calls pass on when the trace cannot be written, which is said at once, and none of them
// is counted as recorded.
func TestFull(t *testing.T) {
	target, err := url.Parse(backend(t, nil).URL)
	if err != nil {
		t.Fatal(err)
	}
	var failed []error
	r := New(Options{Target: target, BlockSize: 4, Out: &full{lines: 1}, Failed: func(err error) { failed = append(failed, err) }})
	for range 3 {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions", strings.NewReader(`{"prompt":"a b"}`)))
		if w.Code != http.StatusOK {
			t.Errorf("status %d", w.Code)
		}
	}
	r.ended.Wait()
	sum := r.trace.summary
	if sum.Calls != 1 || sum.Sessions != 1 || sum.LeftOut["the trace could not be written"] != 2 || len(failed) != 1 || r.err == nil {
		t.Errorf("%+v, %v", sum, failed)
	}
}

// TestThoughts: what a model thinks is part of its answer, by either name, and once where it has both.
func TestThoughts(t *testing.T) {
	for _, delta := range []string{
		`{"reasoning":"ab","content":"c"}`, `{"reasoning_content":"ab","content":"c"}`,
		`{"reasoning":"ab","reasoning_content":"ab","content":"c"}`,
	} {
		a := &answer{ResponseWriter: httptest.NewRecorder(), stream: true}
		if _, err := io.WriteString(a, `data: {"choices":[{"delta":`+delta+"}]}\n\n"); err != nil {
			t.Fatal(err)
		}
		if got := a.text.String(); got != "abc" {
			t.Errorf("%s is read as %q", delta, got)
		}
	}
}

// TestTokensWithoutUsage: where an answer does not say how many tokens it has, the tokens that its text does not show
// are counted too: the one that ends it, and those that the tokenizer would merge.
func TestTokensWithoutUsage(t *testing.T) {
	const done = "data: [DONE]\n\n"
	completion := func(text, finish string) string {
		return fmt.Sprintf("data: {\"choices\":[{\"text\":%q,\"finish_reason\":%s}]}\n\n", text, finish)
	}
	delta := func(members, finish string) string {
		return fmt.Sprintf("data: {\"choices\":[{\"delta\":{%s},\"finish_reason\":%s}]}\n\n", members, finish)
	}
	role, a, b := delta(`"role":"assistant","content":""`, "null"), delta(`"content":"a"`, "null"), delta(`"content":" b"`, "null")
	for name, tt := range map[string]struct {
		answer string
		want   int
	}{
		"ended by the model": {completion("a", "null") + completion(" b", "null") + completion("", `"stop"`) + done, 3},
		"with the last text": {completion("a", "null") + completion(" b", `"stop"`) + done, 3},
		"cut at its length":  {completion("a", "null") + completion(" b", `"length"`) + done, 2},
		"an empty end":       {completion("a", "null") + completion(" b", "null") + completion("", `"length"`) + done, 2},
		"merged by the tokenizer": {completion("a", "null") + completion("a", "null") + completion("", "null") +
			completion("a b", `"length"`) + done, 4},
		"two tokens in an event":   {completion("a b", "null") + completion(" c d", `"length"`) + done, 4},
		"chat":                     {role + a + b + delta(`"content":""`, `"stop"`) + done, 3},
		"chat at its length":       {role + a + b + delta("", `"length"`) + done, 2},
		"chat with an empty delta": {role + a + b + delta("", `"stop"`) + done, 3},
		"whole":                    {`{"choices":[{"text":"a b","finish_reason":"stop"}]}`, 3},
		"whole at its length":      {`{"choices":[{"message":{"role":"assistant","content":"a b"},"finish_reason":"length"}]}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/tokenize" {
					var asked struct{ Prompt string }
					_ = json.NewDecoder(r.Body).Decode(&asked)
					_ = json.NewEncoder(w).Encode(map[string]any{"tokens": make([]int, len(strings.Fields(asked.Prompt)))})
					return
				}
				if strings.HasPrefix(tt.answer, "data:") {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				_, _ = io.WriteString(w, tt.answer)
			}))
			t.Cleanup(s.Close)
			base, out, stop := recording(t, s.URL, time.Minute)
			post(t, base+"/v1/completions", `{"prompt":"one two"}`)
			if sum := stop(); sum.Calls != 1 || !strings.Contains(out.String(), fmt.Sprintf(`"output_length":%d,`, tt.want)) {
				t.Errorf("%+v, want %d tokens: %s", sum, tt.want, out)
			}
		})
	}
}

// zeros is text without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func FuzzAnswer(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n", true)
	f.Add("data: {\"text\":\"ab\",\"meta_info\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n", true)
	f.Add(`{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}],"usage":null}`, false)
	f.Fuzz(func(t *testing.T, text string, stream bool) {
		w := httptest.NewRecorder()
		a := &answer{ResponseWriter: w, stream: stream}
		for i := 0; i < len(text); i += 7 {
			if _, err := io.WriteString(a, text[i:min(i+7, len(text))]); err != nil {
				t.Fatal(err)
			}
		}
		a.flushLine()
		if w.Body.String() != text {
			t.Errorf("%q became %q", text, w.Body)
		}
	})
}
