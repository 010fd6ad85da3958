package adopt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/adopt"
)

// sweepOf is a sweep whose file of parameters has a content.
func sweepOf(serve, parameters string) adopt.Source {
	return adopt.Source{
		Data: []byte("vllm bench sweep serve --serve-cmd '" + serve + "' --bench-cmd 'vllm bench serve --model m' --serve-params p.json"),
		Open: func(string) ([]byte, error) { return []byte(parameters), nil },
	}
}

func TestRead(t *testing.T) {
	for name, tt := range map[string]struct {
		source       adopt.Source
		has, hasNot  string // of the file
		err, without string // of the error
	}{
		"a variable with a message is set by nobody": {
			source: adopt.Source{Data: []byte("services: {llm: {image: vllm/vllm-openai:v0.11.0, command: '--model m --seed ${SEED:?set-it}'}}")},
			has:    "the source does not set it: set the variable seed", hasNot: "set-it",
		},
		"a variable with a default": {
			source: adopt.Source{Data: []byte("services: {llm: {image: vllm/vllm-openai:v0.11.0, command: '--model m --seed ${SEED:-7}'}}")},
			has:    `default     = "7"`,
		},
		"a sweep replaces each flag of a name": {
			source: sweepOf("vllm serve m --max-model-len 1 --max-model-len 2 --seed 3", `[{"max_model_len": 4096}]`),
			has:    "max_model_len = 4096", hasNot: "the flag is given again",
		},
		"the number of a loop is named": {
			source: adopt.Source{Data: []byte("vllm serve m\n" +
				"for c in 1 8; do vllm bench serve --model m --max-concurrency $c --num-prompts $((c*10)); done")},
			has: "Not carried over: max_concurrency = $c", hasNot: "max_concurrency = 0",
		},
		"a number with a default is that": {
			source: adopt.Source{Data: []byte("vllm serve m --port ${PORT:-8123}\n" +
				"vllm bench serve --model m --num-prompts ${N:-64} > ${LOG:-x.log}")},
			has: "requests = 64", hasNot: "\uFDD0",
		},
		"a port with a default is that": {source: adopt.Source{Data: []byte("vllm serve m --port ${PORT:-8123}")}, has: "port       = 8123"},
		"a log in a variable": {
			source: adopt.Source{Data: []byte("vllm serve m > ${LOG:-x.log}")}, has: "> $log", hasNot: "\uFDD0",
		},
		"few requests have no median": {
			source: adopt.Source{Data: []byte("vllm serve m\nvllm bench serve --model m --num-prompts 16")},
			has:    "[metric.ttft.mean, metric.tpot.mean, metric.e2el.mean]",
		},
		"embeddings have no first token": {
			source: adopt.Source{Data: []byte("vllm serve m\nvllm bench serve --model m --backend openai-embeddings --num-prompts 100")},
			has:    "[metric.e2el.p50]",
		},
		"one token of output has none behind it": {
			source: adopt.Source{Data: []byte("vllm serve m\nvllm bench serve --model m --random-output-len 1 --num-prompts 100")},
			has:    "[metric.ttft.p50, metric.e2el.p50]",
		},
		"a sweep over an empty file": {source: sweepOf("vllm serve m", "# none"), err: "has neither a list", without: "%!"},
		"a recipe of workers that no deployment models": {
			source: adopt.Source{Data: []byte("model: {path: m}\nbackend: {type: trtllm, trtllm_config: {prefill: {}, decode: {}}}\n" +
				"resources: {gpus_per_node: 8, prefill_workers: 1, decode_workers: 1, gpus_per_prefill: 1, gpus_per_decode: 1}")},
			err: "does not model the prefill and decode workers of trtllm",
		},
		"a sweep over an empty object": {source: sweepOf("vllm serve m", "{}"), err: "has neither a list"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := adopt.Read(tt.source)
			if err == nil && tt.err != "" {
				err = errors.New("none")
			}
			if err != nil {
				if text := err.Error(); tt.err == "" || !strings.Contains(text, tt.err) || tt.without != "" && strings.Contains(text, tt.without) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			file := string(d.HCL("gate.pipeline.hcl"))
			if !strings.Contains(file, tt.has) || tt.hasNot != "" && strings.Contains(file, tt.hasNot) {
				t.Errorf("want %q and not %q in\n%s", tt.has, tt.hasNot, file)
			}
		})
	}
}

// TestReadIsRepeatable reads sources whose parts are not all carried over: what is left has one order and one place.
func TestReadIsRepeatable(t *testing.T) {
	for name, text := range map[string]string{
		"srt-slurm": `
model: {path: m}
resources: {gpus_per_node: 8, prefill_workers: 1, decode_workers: 1, gpus_per_prefill: 1, gpus_per_decode: 1}
backend: {type: vllm, further: 1, vllm_config: {prefill: {seed: 1}, decode: {seed: 2}}}
`,
		"perf-eval": `
name: w
gpu: H100
vllm: {model: m}
vllm_bench: {configs: [{name: b, dataset: sharegpt, input_len: 1, output_len: 2, num_prompts: 3, max_concurrency: 4}]}
`,
	} {
		first := ""
		for range 30 {
			d, err := adopt.Read(adopt.Source{Data: []byte(text)})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			file := string(d.HCL("gate.pipeline.hcl"))
			if first == "" {
				first = file
			}
			if file != first {
				t.Fatalf("%s: read twice, it is\n%s\nand\n%s", name, first, file)
			}
		}
	}
}
