package load

import (
	"encoding/json"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
)

const vectorAnswer = `{"object":"list","model":"m","data":[{"object":"embedding","index":0,"embedding":[0.1,-2e-3,4]}],"usage":{"prompt_tokens":8,"total_tokens":8}}`

func TestEmbeddings(t *testing.T) {
	whole := func(status, contentType, body string) script {
		return func(w net.Conn, _ string, _ map[string]any) bool { return reply(w, status, contentType, body) }
	}
	tests := []struct {
		name   string
		answer script
		want   record.Failure
		text   string
	}{
		{"healthy", whole("200 OK", "application/json", vectorAnswer), "", ""},
		{"base64", whole("200 OK", "application/json", `{"data":[{"embedding":"AACAPw=="}]}`), "", ""},
		{"in pieces", func(w net.Conn, _ string, _ map[string]any) bool {
			_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
			for b := range slices.Chunk([]byte(vectorAnswer), 7) {
				piece(w, string(b))
			}
			return streamEnd(w)
		}, "", ""},
		{"no embedding", whole("200 OK", "application/json", `{"data":[],"usage":{"prompt_tokens":8}}`), record.FailEmpty,
			"without an embedding"},
		{"an empty one", whole("200 OK", "application/json", `{"data":[{"embedding":[]}]}`), record.FailEmpty, ""},
		{"error in a 200", whole("200 OK", "application/json", `{"error":{"message":"no pooling","type":"BadRequest"}}`),
			record.FailStreamError, "BadRequest: no pooling"},
		{"page", whole("200 OK", "text/html", "<html>Welcome</html>"), record.FailGarbage, "text/html"},
		{"half a document", whole("200 OK", "application/json", vectorAnswer[:60]), record.FailGarbage, "not the JSON of an answer"},
		{"status", whole("404 Not Found", "application/json", `{"message":"not here"}`), record.FailStatus, "status 404: not here"},
		{"cut", func(w net.Conn, _ string, _ map[string]any) bool {
			_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"+vectorAnswer[:40])
			return false
		}, record.FailCut, "broke off"},
		{"not HTTP", func(w net.Conn, _ string, _ map[string]any) bool {
			_, _ = io.WriteString(w, "SSH-2.0\r\n")
			return false
		}, record.FailGarbage, "SSH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.answer)
			w := workload(1)
			w.Endpoint = "embeddings"
			w.Body = map[string]any{"truncate_prompt_tokens": -1}
			run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1}).Run
			r := run.Requests.At(0)
			if r.Failure != tt.want || !strings.Contains(r.Error, tt.text) {
				t.Fatalf("failure %q (%s), want %q (…%s…)", r.Failure, r.Error, tt.want, tt.text)
			}
			body := s.seen().bodies[0]
			if ids, _ := body["input"].([]any); len(ids) != 8 || body["stream"] != nil || body["max_tokens"] != nil ||
				body["truncate_prompt_tokens"] != -1.0 {
				t.Errorf("sent %v", body)
			}
			m := record.Reduce(run)
			_, late := m["e2el.p50"]
			if _, first := m["ttft.p50"]; first || late != (tt.want == "") {
				t.Errorf("metrics %v", m)
			}
			if tt.want == "" && (r.Text == nil || r.Text.Chars != 3 && tt.name != "base64" || r.Text.Chars != 1 && tt.name == "base64") {
				t.Errorf("text %+v", r.Text)
			}
			if tt.want == "" && (r.PromptTokens != 8 || r.WantTokens != 0 || len(r.Events) != 1 || r.Events[0].At != r.Done || r.Done <= r.Sent) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestRanking: a ranking is vLLM's object or SGLang's list, and has no tokens.
func TestRanking(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		want   record.Failure
		tokens int
	}{
		"vLLM":      {`{"id":"x","results":[{"index":1,"document":{"text":"a"},"relevance_score":0.5},{"index":0,"relevance_score":-1e-3}],"usage":{"prompt_tokens":12,"total_tokens":12}}`, "", 12},
		"SGLang":    {`[{"score":0.5,"document":"a","index":0,"meta_info":{"id":"x"}}]`, "", 0},
		"no scores": {`{"results":[],"usage":{"prompt_tokens":12}}`, record.FailEmpty, 0},
		"an error":  {`{"error":{"message":"no pooling","type":"BadRequest"}}`, record.FailStreamError, 0},
		"a page":    {`<html>`, record.FailGarbage, 0},
	} {
		s := serve(t, func(w net.Conn, _ string, _ map[string]any) bool {
			return reply(w, "200 OK", "application/json", tt.answer)
		})
		w := workload(1)
		w.Endpoint = "rerank"
		w.Dataset = steps.Dataset{Kind: "rerank", InputMin: 8, InputMax: 8, Options: map[string]any{"documents": 2.0}}
		run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1}).Run
		r := run.Requests.At(0)
		if r.Failure != tt.want || tt.want == "" && tt.tokens > 0 && r.PromptTokens != tt.tokens {
			t.Errorf("%s: %+v", name, r)
		}
		body := s.seen().bodies[0]
		if documents, _ := body["documents"].([]any); len(documents) != 2 || body["query"] == "" || body["stream"] != nil {
			t.Errorf("%s: sent %v", name, body)
		}
		m := record.Reduce(run)
		if _, first := m["ttft.p50"]; first {
			t.Errorf("%s: metrics %v", name, m)
		}
	}
}

// FuzzScanEmbeddings compares the scanner with encoding/json on everything valid.
func FuzzScanEmbeddings(f *testing.F) {
	for _, s := range []string{vectorAnswer, `{"data":null}`, `{"data":[1,{"embedding":null},{"embedding":[0],"x":{}}]}`, `{"error":"x"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		a, ok := scanEmbeddings([]byte(data))
		var want struct {
			Data []struct {
				Embedding []float64 `json:"embedding"`
			} `json:"data"`
		}
		if json.Unmarshal([]byte(data), &want) != nil || !strings.HasPrefix(strings.TrimSpace(data), "{") {
			return
		}
		if !ok {
			t.Fatalf("refused %q", data)
		}
		if strings.Contains(data, `\`) || strings.Count(data, `"data"`) != 1 || strings.Count(strings.ToLower(data), `data"`) != 1 ||
			strings.Count(strings.ToLower(data), `embedding"`) != strings.Count(data, `"embedding"`) {
			return // encoding/json matches names in any case, and the last of equal ones
		}
		n := 0
		for _, d := range want.Data {
			if len(d.Embedding) > 0 {
				n++
			}
		}
		if strings.Count(data, `"embedding"`) == len(want.Data) && a.values != n {
			t.Fatalf("%d vectors in %q, want %d", a.values, data, n)
		}
	})
}
