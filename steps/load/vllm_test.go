package load_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

// sampleRun has two successes and a failure.
func sampleRun() record.Run {
	ms := int64(1e6)
	return record.Run{Duration: 2000 * ms, Requests: record.ListOf([]record.Request{
		{Index: 0, Planned: 100 * ms, Sent: 101 * ms, Headers: 110 * ms, Done: 410 * ms, PromptTokens: 100, WantTokens: 3, OutputTokens: 3,
			Status: 200, Finish: "length",
			Events: []record.Event{{At: 201 * ms, Tokens: 1}, {At: 301 * ms, Tokens: 2}, {At: 402 * ms, Tokens: 3}}},
		{Index: 1, Planned: 200 * ms, Sent: 210 * ms, Headers: 220 * ms, Done: 2101 * ms, PromptTokens: 50, WantTokens: 2, OutputTokens: 2,
			Status: 200, Finish: "length",
			Events: []record.Event{{At: 290 * ms, Tokens: 1}, {At: 2100 * ms, Tokens: 2}}},
		{Index: 2, Planned: 300 * ms, Sent: 300 * ms, Headers: 301 * ms, Done: 301 * ms, WantTokens: 2,
			Status: 503, Failure: record.FailStatus,
			Error: "status 503"},
	}...)}
}

func TestVLLMBlock(t *testing.T) {
	for name, opt := range map[string]load.VLLMOptions{
		"block.txt": {},
		"block-all.txt": {MaxConcurrency: 8, RequestRate: 10, Percentiles: []float64{50, 99, 99.9},
			Metrics: []string{"ttft", "tpot", "itl", "e2el", "client_queue_time", "e2el_including_client_queue"}},
	} {
		var b bytes.Buffer
		if err := load.WriteVLLMBlock(&b, sampleRun(), opt); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/"+name, b.Bytes())
	}
	var b bytes.Buffer
	if err := load.WriteVLLMBlock(&b, record.Run{}, load.VLLMOptions{}); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Bytes(), []byte("NaN")) || bytes.Contains(b.Bytes(), []byte("Inf")) {
		t.Errorf("a run without requests prints\n%s", b.String())
	}
}

// vectorRun is sampleRun of embeddings.
func vectorRun() record.Run {
	run := sampleRun()
	run.Requests.Edit(func(r *record.Request) {
		r.WantTokens, r.OutputTokens = 0, 0
		if r.Failure == "" {
			r.Events = []record.Event{{At: r.Done}}
		}
	})
	return run
}

// limited is a run with limits that one request keeps.
func limited(run record.Run) record.Run {
	run.Goodput = steps.Goodput{TTFT: 90e6, TPOT: 2e9, E2EL: 12500e6}
	return run
}

func TestGoodputAndEmbeddings(t *testing.T) {
	for name, run := range map[string]record.Run{"goodput": limited(sampleRun()), "embeddings": vectorRun()} {
		var block, other bytes.Buffer
		if err := load.WriteVLLMBlock(&block, run, load.VLLMOptions{}); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/block-"+name+".txt", block.Bytes())
		opt := load.SGLangOptions{Backend: "sglang-embedding", RequestRate: 4, MaxConcurrency: 8}
		if err := load.WriteSGLangBlock(&other, run, opt); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/sglang-"+name+".txt", other.Bytes())
		got, err := load.VLLMJSON(run, load.VLLMOptions{Detailed: true})
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/result-"+name+".json", got)
	}
}

func TestSGLangBlock(t *testing.T) {
	for name, opt := range map[string]load.SGLangOptions{
		"sglang.txt": {Backend: "vllm"}, "sglang-native.txt": {Backend: "sglang", RequestRate: 0.25},
		"sglang-trace.txt": {Backend: "vllm", Trace: true},
	} {
		var b bytes.Buffer
		run := sampleRun()
		run.Requests.Edit(func(r *record.Request) {
			if r.Index == 0 {
				r.Events = []record.Event{{At: 201e6, Tokens: 1}, {At: 402e6, Tokens: 3}} // two tokens at once
			}
		})
		if err := load.WriteSGLangBlock(&b, run, opt); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/"+name, b.Bytes())
	}
	var b bytes.Buffer
	if err := load.WriteSGLangBlock(&b, record.Run{}, load.SGLangOptions{}); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Bytes(), []byte("NaN")) || bytes.Contains(b.Bytes(), []byte("Inf")) {
		t.Errorf("a run without requests prints\n%s", b.String())
	}
}

func TestVLLMJSON(t *testing.T) {
	for name, opt := range map[string]load.VLLMOptions{
		"result.json": {Date: "20260102-150405", Backend: "vllm", EndpointType: "vllm", ModelID: "m", Burstiness: 1},
		"result-detailed.json": {Date: "20260102-150405", Backend: "vllm", EndpointType: "vllm", ModelID: "m", Burstiness: 1,
			RequestRate:    10,
			MaxConcurrency: 8, Detailed: true, Metrics: []string{"ttft", "e2el", "client_queue_time"}},
	} {
		got, err := load.VLLMJSON(sampleRun(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(got) {
			t.Fatal("not JSON")
		}
		golden.Equal(t, "testdata/"+name, got)
	}
}
