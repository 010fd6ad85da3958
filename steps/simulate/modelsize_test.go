package simulate_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
)

func TestWeightFormats(t *testing.T) {
	for argv, want := range map[string]struct {
		gigabytes float64
		products  int
	}{
		"Qwen/Qwen3-32B":                         {65.5, 0},
		"Qwen/Qwen3-32B-FP8":                     {34.3, 8},
		"Qwen/Qwen3-32B-AWQ":                     {19.7, 0},
		"Qwen/Qwen3-32B --quantization fp8":      {34.3, 8},
		"Qwen/Qwen3-32B --dtype float32":         {128.0, 32},
		"RedHatAI/Qwen3-32B-quantized.w8a8":      {34.3, 8},
		"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4":     {5.57, 0},
		"meta-llama/Llama-3.1-405B-Instruct-FP8": {408, 8},
		"deepseek-ai/DeepSeek-R1":                {673, 8},
		"openai/gpt-oss-120b":                    {65.3, 0},
		"nvidia/Llama-3.3-70B-Instruct-FP4":      {43.2, 4},
	} {
		c := configOf(t, simulate.Settings{Version: "0.11.0", Profile: "b200"}, append([]string{"vllm", "serve"}, strings.Fields(argv)...)...)
		if m := c.Shape; math.Abs(m.WeightBytes/1e9/want.gigabytes-1) > 0.02 || m.ProductBits != want.products {
			t.Errorf("%s: %.1f GB multiplied in %d bits, want %.1f in %d", argv, m.WeightBytes/1e9, m.ProductBits, want.gigabytes, want.products)
		}
	}
	full := configOf(t, simulate.Settings{Profile: "h100"}, "vllm", "serve", "Qwen/Qwen3-8B")
	half := configOf(t, simulate.Settings{Profile: "h100"}, "vllm", "serve", "Qwen/Qwen3-8B", "--kv-cache-dtype", "fp8")
	if r := float64(half.KVTokens()) / float64(full.KVTokens()); math.Abs(r-2) > 0.01 {
		t.Errorf("KV in 8 bits holds %.2f times as many tokens", r)
	}
}

// TestModelThatDoesNotFit ends as the engine would: while it loads, or for want of a cache.
func TestModelThatDoesNotFit(t *testing.T) {
	for argv, want := range map[string]string{
		"vllm serve Qwen/Qwen3-235B-A22B -tp 2":                                                 "CUDA out of memory",
		"vllm serve meta-llama/Llama-3.1-70B-Instruct":                                          "CUDA out of memory",
		"vllm serve meta-llama/Llama-3.1-70B-Instruct -pp 2 -tp 1 --gpu-memory-utilization 0.8": "No available memory for the cache blocks",
		"vllm serve Qwen/Qwen3-32B --gpu-memory-utilization 0.7":                                "No available memory for the cache blocks",
		"vllm serve Qwen/Qwen3-32B": "To serve at least one request with the " +
			"model's max seq len (40960)",
		"python3 -m sglang.launch_server --model-path Qwen/Qwen3-235B-A22B --tp-size 2":         "CUDA out of memory",
		"python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --mem-fraction-static 0.7": "Not enough memory",
		"vllm serve Qwen/Qwen3-235B-A22B -tp 8":                                                 "",
		"vllm serve Qwen/Qwen3-32B -tp 2":                                                       "",
	} {
		var log bytes.Buffer
		env := func(name string) string {
			if name == simulate.SettingsEnv {
				return `{"profile": "h100"}`
			}
			return ""
		}
		_, err := simulate.Simulator{}.StartVirtual(strings.Fields(argv), env, &log)
		if (err != nil) != (want != "") || !strings.Contains(log.String(), want) {
			t.Errorf("%s: %v, want %q in\n%s", argv, err, want, log.String())
		}
		seen, err := simulate.Simulator{}.Inspect(strings.Fields(argv), simulate.Settings{Profile: "h100"})
		if err != nil || (seen.Refused != nil) != (want != "") || !seen.Modelled {
			t.Errorf("%s: inspected as %+v, %v", argv, seen, err)
		}
	}
}

// TestSizeThatIsNotKnown: the report says so, and arguments can state the size.
func TestSizeThatIsNotKnown(t *testing.T) {
	for _, tt := range []struct {
		settings simulate.Settings
		model    string
		want     string
		sized    bool
	}{
		{simulate.Settings{Profile: "h100"}, "my/own", "the size of my/own is not known", false},
		{simulate.Settings{Profile: "fast"}, "Qwen/Qwen3-32B", "is not modelled: the profile \"fast\"", false},
		{simulate.Settings{Profile: "h100"}, "Qwen/Qwen3-8B", "the table of known models", true},
		{simulate.Settings{Profile: "h100", Model: &model.ModelSize{Parameters: 8e9}}, "my/own",
			"the simulate block: 8 billion active parameters, 16.0 GB", true},
		{simulate.Settings{Profile: "fast", Model: &model.ModelSize{Parameters: 3e9, WeightBits: 8}}, "my/own",
			"the simulate block: 3 billion active parameters, 3.0 GB", true},
	} {
		got, err := simulate.Simulator{}.Inspect([]string{"vllm", "serve", tt.model}, tt.settings)
		if err != nil || !strings.Contains(got.Size, tt.want) || got.Modelled != tt.sized {
			t.Errorf("%+v %s: %+v, %v, want %q", tt.settings, tt.model, got, err, tt.want)
		}
	}
}
