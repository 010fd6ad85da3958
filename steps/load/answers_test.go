package load_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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

// TestAnswersOfSimulatedServers: over every endpoint answers come whole, with the log-probability of each
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
			ask := func() []record.Request {
				res, err := load.Run(t.Context(), load.Options{BaseURL: url, Model: "m", Workload: asking(tt.endpoint), Seed: 3, TimeScale: 50})
				if err != nil {
					t.Fatal(err)
				}
				return res.Run.Requests
			}
			first, second := ask(), ask()
			for i, r := range first {
				a := r.Answer
				if r.Failure != "" || a == nil || a.Text == "" || len(a.Tokens) != 12 || len(a.Logprobs) != 12 || r.Finish != "length" || r.OutputTokens != 12 {
					t.Fatalf("%+v %+v", r, a)
				}
				if b := second[i].Answer; a.Text != b.Text || !slices.Equal(a.Tokens, b.Tokens) || !slices.Equal(a.Logprobs, b.Logprobs) {
					t.Errorf("asked twice: %+v and %+v", a, b)
				}
				if i > 0 && a.Text == first[0].Answer.Text {
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
		"cut by a stop":      {`{"choices":[{"text":"a","finish_reason":"stop"}],"usage":{"completion_tokens":1}}`, record.FailShort},
		"no finish reason":   {`{"choices":[{"text":"a"}],"usage":{"completion_tokens":12}}`, record.FailCut},
		"an error":           {`{"error":{"message":"logprobs are not supported"}}`, record.FailStreamError},
		"no JSON":            {`<html>`, record.FailGarbage},
		"no choice":          {`{"choices":[]}`, record.FailCut},
		"no text, no tokens": {`{"choices":[{"text":"","finish_reason":"length"}]}`, record.FailEmpty},
		"without logprobs":   {`{"choices":[{"text":"a","finish_reason":"length","logprobs":null}],"usage":{"completion_tokens":12}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/tokenize") {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write([]byte(tt.body))
			}))
			t.Cleanup(server.Close)
			w := asking("chat")
			res, err := load.Run(t.Context(), load.Options{BaseURL: server.URL, Model: "m", Workload: w, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range res.Run.Requests {
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
