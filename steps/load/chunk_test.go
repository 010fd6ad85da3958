package load

import (
	"encoding/json"
	"strings"
	"testing"
)

const (
	vllmToken = `{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":" Hello","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":{"prompt_tokens":8,"total_tokens":9,"completion_tokens":1}}`
	vllmLast  = `{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":8,"total_tokens":12,"completion_tokens":4}}`
	vllmUsage = `{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":8,"total_tokens":12,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":3}},"metrics":{"time_to_first_token_ms":11.2}}`
	sglToken  = `{"text":" Hel","output_ids":[15],"meta_info":{"id":"r1","finish_reason":null,"prompt_tokens":8,"weight_version":"default","num_retractions":0,"completion_tokens":1,"cached_tokens":0}}`
	sglLast   = `{"text":" Hello there","output_ids":[15,16,17],"meta_info":{"id":"r1","finish_reason":{"type":"length","length":3},"prompt_tokens":8,"completion_tokens":3,"cached_tokens":0,"e2e_latency":0.31}}`
)

func TestScanChunk(t *testing.T) {
	none := chunk{prompt: -1, completion: -1, cached: -1}
	with := func(f func(*chunk)) chunk { c := none; f(&c); return c }
	tests := []struct {
		name, data string
		want       chunk
	}{
		{"vLLM token", vllmToken, chunk{choices: true, text: true, prompt: 8, completion: 1, cached: -1}},
		{"vLLM last", vllmLast, chunk{choices: true, finish: []byte("length"), prompt: 8, completion: 4, cached: -1}},
		{"vLLM usage", vllmUsage, chunk{prompt: 8, completion: 4, cached: 3}},
		{"SGLang token", sglToken, chunk{choices: true, text: true, prompt: 8, completion: 1, cached: 0}},
		{"SGLang last", sglLast, chunk{choices: true, text: true, finish: []byte("length"), prompt: 8, completion: 3, cached: 0}},
		{"spaces", `{ "choices" : [ { "text" : "a" , "finish_reason" : "stop" } ] , "usage" : null }`,
			with(func(c *chunk) { c.choices, c.text, c.finish = true, true, []byte("stop") })},
		{"text that looks like fields",
			`{"choices":[{"text":"\"finish_reason\":\"stop\",\"error\":1}]","logprobs":{"top_logprobs":[{"error":-1,"usage":-2}]}}]}`,
			with(func(c *chunk) { c.choices, c.text = true, true })},
		{"escaped backslashes", `{"choices":[{"text":"\\"}],"error":null}`, with(func(c *chunk) { c.choices, c.text = true, true })},
		{"error", `{"error":{"message":"boom","code":500}}`, with(func(c *chunk) { c.failure = []byte(`{"message":"boom","code":500}`) })},
		{"error object", `{"object":"error","message":"boom","code":400}`,
			with(func(c *chunk) { c.failure = []byte(`{"object":"error","message":"boom","code":400}`) })},
		{"error in an error object", `{"error":{"message":"boom"},"object":"error"}`,
			with(func(c *chunk) { c.failure = []byte(`{"message":"boom"}`) })},
		{"chat opening", `{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
			with(func(c *chunk) { c.choices, c.opening = true, true })},
		{"chat token", `{"choices":[{"delta":{"content":"a"}}]}`, with(func(c *chunk) { c.choices, c.text = true, true })},
		{"chat token with role", `{"choices":[{"delta":{"role":"assistant","content":"a"}}]}`,
			with(func(c *chunk) { c.choices, c.text = true, true })},
		{"chat empty token", `{"choices":[{"delta":{"content":""}}]}`, with(func(c *chunk) { c.choices = true })},
		{"chat reasoning", `{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`,
			with(func(c *chunk) { c.choices, c.text = true, true })},
		{"chat tool call", `{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, with(func(c *chunk) { c.choices, c.text = true, true })},
		{"chat no tool call", `{"choices":[{"delta":{"tool_calls":[]}}]}`, with(func(c *chunk) { c.choices, c.bare = true, true })},
		{"chat end", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, with(func(c *chunk) {
			c.choices, c.bare, c.finish = true, true,
				[]byte("stop")
		})},
		{"usage that the server does not fill", `{"choices":[{"text":"a"}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`,
			with(func(c *chunk) { c.choices, c.text = true, true })},
		{"numbers with a point", `{"usage":{"completion_tokens":12.0,"prompt_tokens":8.00}}`,
			with(func(c *chunk) { c.prompt, c.completion = 8, 12 })},
		{"numbers with an exponent", `{"usage":{"completion_tokens":1.2e1,"prompt_tokens":8E0}}`,
			with(func(c *chunk) { c.prompt, c.completion = 8, 12 })},
		{"counts of details",
			`{"usage":{"prompt_tokens":8,"completion_tokens":4,` +
				`"prompt_tokens_details":{"completion_tokens":9,"prompt_tokens":9,"cached_tokens":3}}}`,
			chunk{prompt: 8, completion: 4, cached: 3}},
		{"odd numbers", `{"usage":{"completion_tokens":1.5,"prompt_tokens":-3}}`, none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got chunk
			if !scanChunk([]byte(tt.data), &got) {
				t.Fatal("not taken for an object")
			}
			if string(got.finish) != string(tt.want.finish) || string(got.failure) != string(tt.want.failure) {
				t.Errorf("finish %q, error %q; want %q, %q", got.finish, got.failure, tt.want.finish, tt.want.failure)
			}
			if (got.finish == nil) != (tt.want.finish == nil) || (got.failure == nil) != (tt.want.failure == nil) {
				t.Error("presence of finish or error is wrong")
			}
			got.finish, got.failure, tt.want.finish, tt.want.failure = nil, nil, nil, nil
			if got.choices != tt.want.choices || got.text != tt.want.text || got.opening != tt.want.opening || got.bare != tt.want.bare ||
				got.prompt != tt.want.prompt || got.completion != tt.want.completion || got.cached != tt.want.cached {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestScanChunkRefuses(t *testing.T) {
	for _, data := range []string{
		`{"choices":[{"delta":{"tool_calls":[`, `{"text":{`, `{"choices":[{"text":"`,
		"", "x", "[]", `"a"`, "null", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":1}}`, `{"a":"x}`,
		`{"choices":[{]}`, `{"a":[1,2}`[:9], `{"usage":{"x"`, `{a:1}`, `<html>`, "{\"a\":1}\n{\"b\":2}",
	} {
		var c chunk
		if scanChunk([]byte(data), &c) {
			t.Errorf("took %q for an object", data)
		}
	}
}

func TestBearsToken(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		e          endpoint
		seen       int
		want       bool
	}{
		{"completions token", vllmToken, endpointCompletions, 0, true},
		{"empty text is a token", vllmLast, endpointCompletions, 3, true},
		{"usage is not", vllmUsage, endpointCompletions, 4, false},
		{"by its own count none yet", `{"choices":[{"text":""}],"usage":{"completion_tokens":0}}`, endpointCompletions, 0, false},
		{"generate token", sglToken, endpointGenerate, 0, true},
		{"generate repeats", sglToken, endpointGenerate, 1, false},
		{"generate without counts", `{"text":"a"}`, endpointGenerate, 5, true},
		{"chat opening", `{"choices":[{"delta":{"role":"assistant","content":""}}]}`, endpointChat, 0, false},
		{"chat empty", `{"choices":[{"delta":{"content":""},"finish_reason":"length"}]}`, endpointChat, 3, true},
		{"chat end", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, endpointChat, 3, false},
	} {
		var c chunk
		if !scanChunk([]byte(tt.data), &c) {
			t.Fatalf("%s: not an object", tt.name)
		}
		if got := c.bearsToken(tt.e, tt.seen); got != tt.want {
			t.Errorf("%s: bears a token: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// FuzzScanChunk compares the scanner with encoding/json on everything valid.
func FuzzScanChunk(f *testing.F) {
	for _, s := range []string{vllmToken, vllmLast, vllmUsage, sglToken, sglLast, `{"error":{}}`,
		`{"choices":[{"delta":{"content":"\u0000"}}]}`, `{"text":"\\\\"}`, `{"us\u0061ge":{"completion_tokens":1}}`,
		`{"usage":{"completion_tokens":1},"usage":{"completion_tokens":2}}`, `{"usage":{"completion_tokens":-0}}`,
		`{"usage":{"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":1e0}}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var c chunk
		ok := scanChunk([]byte(data), &c)
		var obj map[string]json.RawMessage
		if json.Unmarshal([]byte(data), &obj) != nil || obj == nil {
			return // it may accept what is not quite JSON; rare events are checked in full
		}
		if !ok {
			t.Fatalf("refused the object %q", data)
		}
		if strings.Contains(data, `\`) {
			return // keys may be spelt with escapes, which servers do not do
		}
		for k := range obj {
			if strings.Count(data, `"`+k+`"`) > 1 {
				return // repeated names
			}
		}
		if e, has := obj["error"]; has && string(obj["object"]) != `"error"` && (string(e) == "null") != (c.failure == nil) {
			t.Fatalf("error %q, scanned %q", e, c.failure)
		}
		var usage struct {
			Completion *json.Number    `json:"completion_tokens"`
			Prompt     json.RawMessage `json:"prompt_tokens"`
		}
		if json.Unmarshal(obj["usage"], &usage) == nil && usage.Completion != nil && len(usage.Prompt) == 0 && obj["meta_info"] == nil &&
			strings.Count(data, "completion_tokens") == 1 {
			if n, err := usage.Completion.Int64(); err == nil && n >= 0 && n < 1e15 && usage.Completion.String()[0] != '-' &&
				c.completion != int(n) {
				t.Fatalf("completion_tokens %d, scanned %d", n, c.completion)
			}
		}
	})
}
