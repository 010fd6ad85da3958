package load_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

func asking(endpoint string) steps.Workload {
	return steps.Workload{
		Endpoint: endpoint, IgnoreEOS: true, Dataset: steps.Dataset{Kind: "sonnet", InputMin: 40, InputMax: 60, OutputMin: 12, OutputMax: 12},
		Load:    steps.Load{Arrival: load.Closed, MaxConcurrency: 2, Requests: 6},
		Answers: &steps.Answers{Logprobs: true},
	}
}

// TestAnswersOfSimulatedServers: over every endpoint answers are streamed, and have the log-probability of each
// token, the same ones from two launches that do not differ, and others from one that is
// corrupted.
func TestAnswersOfSimulatedServers(t *testing.T) {
	vllm := []string{"vllm", "serve", "m"}
	sglang := []string{"python3", "-m", "sglang.launch_server", "--model-path", "m"}
	for _, tt := range []struct {
		endpoint string
		argv     []string
	}{{"completions", vllm}, {"chat", vllm}, {"generate", sglang}} {
		t.Run(tt.endpoint, func(t *testing.T) {
			url := simulated(t, 50, tt.argv...)
			ask := func() record.List {
				res, err := load.Run(t.Context(), load.Options{BaseURL: url, Model: "m", Workload: asking(tt.endpoint), Seed: 3, TimeScale: 50})
				if err != nil {
					t.Fatal(err)
				}
				return res.Run.Requests
			}
			first, second := ask(), ask()
			for i, r := range first.All() {
				a := r.Answer
				if r.Failure != "" || a == nil || a.Text == "" || len(a.Tokens) != 12 || len(a.Logprobs) != 12 || r.Finish != "length" ||
					r.OutputTokens != 12 {
					t.Fatalf("%+v %+v", r, a)
				}
				if b := second.At(i).Answer; a.Text != b.Text || !slices.Equal(a.Tokens, b.Tokens) || !slices.Equal(a.Logprobs, b.Logprobs) {
					t.Errorf("asked twice: %+v and %+v", a, b)
				}
				if i > 0 && a.Text == first.At(0).Answer.Text {
					t.Error("two prompts have one answer")
				}
			}
		})
	}
}

// TestAnswersThatAreNone: what is cut, refused or something else fails, and leaves no answer.
func TestAnswersThatAreNone(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		want record.Failure
	}{
		"cut by a stop":       {`{"choices":[{"text":"a","finish_reason":"stop"}],"usage":{"completion_tokens":1}}`, record.FailShort},
		"no finish reason":    {`{"choices":[{"text":"a"}],"usage":{"completion_tokens":12}}`, record.FailCut},
		"an error":            {`{"error":{"message":"logprobs are not supported"}}`, record.FailStreamError},
		"no JSON":             {`<html>`, record.FailGarbage},
		"no choice":           {`{"choices":[]}`, record.FailCut},
		"no text, no tokens":  {`{"choices":[{"text":"","finish_reason":"length"}]}`, record.FailEmpty},
		"counts as fractions": {`{"choices":[{"text":"a","finish_reason":"length"}],"usage":{"completion_tokens":12.0}}`, ""},
		"without logprobs":    {`{"choices":[{"text":"a","finish_reason":"length","logprobs":null}],"usage":{"completion_tokens":12}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := asking("chat")
			res, err := load.Run(t.Context(), load.Options{BaseURL: answering(t, tt.body), Model: "m", Workload: w, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range res.Run.Requests.All() {
				if r.Failure != tt.want || (r.Answer != nil) != (tt.want == "") {
					t.Errorf("%s: %s, %+v", r.Failure, r.Error, r.Answer)
				}
				if r.Answer != nil && len(r.Answer.Tokens) > 0 {
					t.Errorf("tokens from nowhere: %+v", r.Answer)
				}
			}
		})
	}
}

// answering is a server that gives every request one answer, as a stream of one event where that is
// asked for.
func answering(t *testing.T, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/tokenize") {
			http.NotFound(w, r)
			return
		}
		var asked struct{ Stream bool }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || !asked.Stream || !json.Valid([]byte(body)) {
			_, _ = w.Write([]byte(body))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", strings.Replace(body, `"message"`, `"delta"`, 1))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestEndsOfAnswers: without ignore_eos an answer ends where the model ends it or at the limit, and
// what else has cut it is no answer.
func TestEndsOfAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		body  string
		want  record.Failure
		error string
		ended bool
		text  string
	}{
		"the model's end": {body: `{"choices":[{"text":"a b","finish_reason":"stop","stop_reason":null}],"usage":{"completion_tokens":3}}`,
			ended: true, text: "a b"},
		"a second end token": {body: `{"choices":[{"text":"a b","finish_reason":"stop","stop_reason":151643}],"usage":{"completion_tokens":3}}`,
			ended: true, text: "a b"},
		"at once":   {body: `{"choices":[{"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":0}}`, ended: true},
		"the limit": {body: `{"choices":[{"text":"a b","finish_reason":"length"}],"usage":{"completion_tokens":12}}`, text: "a b"},
		"a stop string": {body: `{"choices":[{"text":"a b","finish_reason":"stop","stop_reason":"\n\n"}],"usage":{"completion_tokens":3}}`,
			want: record.FailShort, error: `stop string "\n\n"`},
		"SGLang's end": {body: `{"text":"a b","meta_info":{"completion_tokens":3,"finish_reason":{"type":"stop","matched":2}}}`,
			ended: true, text: "a b"},
		"SGLang's stop": {body: `{"text":"a b","meta_info":{"completion_tokens":3,"finish_reason":{"type":"stop","matched":"###"}}}`,
			want: record.FailShort, error: `stop string "###"`},
		"a filter": {body: `{"choices":[{"text":"a b","finish_reason":"content_filter"}],"usage":{"completion_tokens":3}}`,
			want: record.FailShort, error: "content_filter"},
		"an abort": {body: `{"choices":[{"text":"a b","finish_reason":"abort"}],"usage":{"completion_tokens":3}}`,
			want: record.FailAborted},
		"an error": {body: `{"choices":[{"text":"a b","finish_reason":"error"}],"usage":{"completion_tokens":3}}`,
			want: record.FailStreamError},
		"reasoning": {body: `{"choices":[{"message":{"reasoning_content":"r","content":"c"},"finish_reason":"stop"}]}`, ended: true,
			text: "<think>r</think>c"},
		"reasoning of later": {body: `{"choices":[{"message":{"reasoning":"r","content":null},"finish_reason":"length"}],"usage":{"completion_tokens":12}}`, text: "<think>r</think>"},
		"a tool":             {body: `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"x1","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, ended: true, text: "f({})"},
	} {
		t.Run(name, func(t *testing.T) {
			w := asking("chat")
			w.IgnoreEOS, w.Load.Requests = false, 1
			res, err := load.Run(t.Context(), load.Options{BaseURL: answering(t, tt.body), Model: "m", Workload: w, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			r := res.Run.Requests.At(0)
			switch {
			case r.Failure != tt.want || !strings.Contains(r.Error, tt.error):
				t.Errorf("%s: %s", r.Failure, r.Error)
			case tt.want != "":
				if r.Answer != nil {
					t.Errorf("an answer: %+v", r.Answer)
				}
			case r.Answer == nil || r.Answer.Ended != tt.ended || r.Answer.Text != tt.text:
				t.Errorf("%+v", r.Answer)
			}
		})
	}
}

// TestTokensOfAnswers: tokens have log-probabilities all, or none; those that are a part of a character are
// told apart by their bytes; and of a text that is too long to keep, a hash tells it from others.
func TestTokensOfAnswers(t *testing.T) {
	ask := func(body string) *record.Answer {
		w := asking("chat")
		w.IgnoreEOS, w.Load.Requests = false, 1
		res, err := load.Run(t.Context(), load.Options{BaseURL: answering(t, body), Model: "m", Workload: w, Seed: 3})
		if err != nil || res.Run.Requests.At(0).Answer == nil {
			t.Fatalf("%v: %+v", err, res.Run.Requests)
		}
		return res.Run.Requests.At(0).Answer
	}
	parts := ask(
		`{"choices":[{"message":{"content":"é"},"finish_reason":"stop","logprobs":{"content":[{"token":"\ufffd","logprob":-1,"bytes":[195]},{"token":"\ufffd","logprob":-2,"bytes":[169]}]}}]}`)
	if !slices.Equal(parts.Tokens, []string{"[195]", "[169]"}) || len(parts.Logprobs) != 2 {
		t.Errorf("%+v", parts)
	}
	for name, body := range map[string]string{
		"one without": `{"choices":[{"text":"a b c","finish_reason":"stop","logprobs":{"tokens":["a"," b"," c"],"token_logprobs":[null,-1,-2]}}]}`,
		"too few":     `{"choices":[{"text":"a b c d","finish_reason":"stop","logprobs":{"tokens":["a"," b"],"token_logprobs":[-1,-2]}}],"usage":{"completion_tokens":4}}`,
	} {
		if a := ask(body); a.Tokens != nil || a.Logprobs != nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
	long := strings.Repeat("w ", 50_000)
	one, other := ask(`{"choices":[{"text":"`+long+`a","finish_reason":"stop"}]}`), ask(`{"choices":[{"text":"`+long+
		`b","finish_reason":"stop"}]}`)
	if one.Text != other.Text || one.Sum == "" || one.Sum == other.Sum || len(one.Text) > 1<<17 {
		t.Errorf("%d bytes, %q and %q", len(one.Text), one.Sum, other.Sum)
	}
}

// TestFormOfAnswers: the text of an answer is the one that was streamed, in the form of a measured request;
// log-probabilities are asked for apart, and only where they are wanted.
func TestFormOfAnswers(t *testing.T) {
	for _, logprobs := range []bool{true, false} {
		var streams, wholes atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var asked map[string]any
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || strings.HasSuffix(r.URL.Path, "/tokenize") {
				http.NotFound(w, r)
				return
			}
			_, named := asked["logprobs"]
			if asked["stream"] == true && !named {
				streams.Add(1)
				_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"str\"}}]}\n\n"+
					"data: {\"choices\":[{\"delta\":{\"content\":\"eamed\"},\"finish_reason\":\"stop\"}],\"usage\":{\"completion_tokens\":2}}\n\ndata: "+
					"[DONE]\n\n")
				return
			}
			wholes.Add(1)
			_, _ = fmt.Fprint(w,
				`{"choices":[{"message":{"content":"whole"},"finish_reason":"stop","logprobs":{"content":[{"token":"whole","logprob":-1}]}}],"usage":{"completion_tokens":1}}`)
		}))
		t.Cleanup(server.Close)
		w := asking("chat")
		w.IgnoreEOS, w.Load.MaxConcurrency, w.Answers.Logprobs = false, 1, logprobs
		res, err := load.Run(t.Context(), load.Options{BaseURL: server.URL, Model: "m", Workload: w, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range res.Run.Requests.All() {
			if r.Answer == nil || r.Answer.Text != "streamed" || (len(r.Answer.Tokens) == 1) != logprobs {
				t.Errorf("%+v %+v", r, r.Answer)
			}
		}
		if want := map[bool]int64{true: 6, false: 0}[logprobs]; streams.Load() != 6 || wholes.Load() != want {
			t.Errorf("%d streams and %d whole answers", streams.Load(), wholes.Load())
		}
	}
}

// TestAnswerOfRepeatedText: the kept answer of SGLang's own endpoint is the whole text, however often its
// events repeat it. These events have more than 4 MiB together, the bound of a kept answer.
func TestAnswerOfRepeatedText(t *testing.T) {
	const tokens = 1200
	var whole strings.Builder
	var events []byte
	for i := 1; i <= tokens; i++ {
		fmt.Fprintf(&whole, "word%d ", i)
		finish := "null"
		if i == tokens {
			finish = `{"type":"length"}`
		}
		events = fmt.Appendf(events, "data: {\"text\":%q,\"meta_info\":{\"completion_tokens\":%d,\"finish_reason\":%s}}\n\n",
			whole.String(), i, finish)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(append(events, "data: [DONE]\n\n"...))
	}))
	t.Cleanup(server.Close)
	w := asking("generate")
	w.Load.Requests, w.Answers.Logprobs = 1, false
	w.Dataset.OutputMin, w.Dataset.OutputMax = tokens, tokens
	res, err := load.Run(t.Context(), load.Options{BaseURL: server.URL, Model: "m", Workload: w, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	r := res.Run.Requests.At(0)
	if r.Failure != "" || r.Answer == nil || r.Answer.Text != whole.String() {
		t.Fatalf("%s %s: the answer is not the whole text: %.200v", r.Failure, r.Error, r.Answer)
	}
}
