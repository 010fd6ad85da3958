package load

import (
	"encoding/json"
	"maps"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// TestModels: requests go to the models by their weights, to the same ones whatever the content, and in
// each protocol as the engines' own clients name an adapter: as the model, or over SGLang's own protocol as
// lora_path.
func TestModels(t *testing.T) {
	const n = 4000
	for _, name := range []string{"completions", "chat", "generate", "embeddings", "rerank"} {
		e, err := parseEndpoint(name)
		if err != nil {
			t.Fatal(err)
		}
		w := steps.Workload{Endpoint: name, Models: map[string]float64{"base": 1, "sql": 2, "chat": 0.5}}
		enc := &encoder{endpoint: e, model: "base", workload: w}
		counts, again := map[string]int{}, 0
		for i := range n {
			b := enc.of(i, 7).body(dataset.Prompt{Text: "a", Output: 1})
			field := "model"
			if e == endpointGenerate {
				field = "lora_path"
			}
			got, ok := b[field].(string)
			if !ok {
				got = "base" // SGLang's own protocol does not name the model
			}
			counts[got]++
			if enc.of(i, 7).model == enc.of(i, 8).model {
				again++
			}
		}
		for model, share := range map[string]float64{"base": 1 / 3.5, "sql": 2 / 3.5, "chat": 0.5 / 3.5} {
			if got := float64(counts[model]) / n; got < share-0.03 || got > share+0.03 {
				t.Errorf("%s: %.3f of the requests go to %s, want %.3f", name, got, model, share)
			}
		}
		if again > n*6/10 {
			t.Errorf("%s: %d of %d requests go to the same model with another seed", name, again, n)
		}
	}
}

// TestShapes: what a file says with body, models and messages is sent as it is, and nothing else: response_format with
// a JSON schema, tools, pictures as data URLs and sound as input_audio, as OpenAI's protocol has them.
func TestShapes(t *testing.T) {
	const (
		picture = `{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/4AAQ"}}`
		sound   = `{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}`
		schema  = `{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","properties":{"x":{"type":"integer"}}}}}`
		tools   = `[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`
	)
	object := func(text string) (v any) {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for name, tt := range map[string]struct {
		content string
		body    map[string]any
	}{
		"response_format": {`"What?"`, map[string]any{"response_format": object(schema)}},
		"tools":           {`"What?"`, map[string]any{"tools": object(tools), "tool_choice": "auto"}},
		"picture":         {`[{"type":"text","text":"What?"},` + picture + `]`, nil},
		"sound":           {`[{"type":"text","text":"What?"},` + sound + `]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			line := `{"messages":[{"role":"user","content":` + tt.content + `}],"output_tokens":4}`
			if err := os.WriteFile(filepath.Join(dir, "prompts.jsonl"), []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			s := serve(t, func(w net.Conn, _ string, _ map[string]any) bool { return reply(w, "503 Busy", "text/plain", "busy") })
			mustRun(t, Options{BaseURL: s.URL, Model: "m", Seed: 1, Files: &dataset.Files{Dir: dir}, Workload: steps.Workload{
				Endpoint: "chat", Body: tt.body, Models: map[string]float64{"adapter": 1}, Load: steps.Load{Arrival: Unlimited, Requests: 1},
				Dataset: steps.Dataset{Kind: "file", Path: "prompts.jsonl", Options: map[string]any{"rotate": false}},
			}})
			want := map[string]any{
				"model": "adapter", "messages": []any{map[string]any{"role": "user", "content": object(tt.content)}}, "max_completion_tokens": 4.0,
				"temperature": 0.0, "stream": true, "stream_options": map[string]any{"include_usage": true, "continuous_usage_stats": true},
			}
			maps.Copy(want, tt.body)
			if diff := cmp.Diff(want, s.seen().bodies[0]); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}
