package offline_test

import (
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/offline"
	"github.com/servegate/pipeline/steps/simulate"
)

// simulated returns the figures of a benchmark on a quiet H100 that is slower by a factor.
func simulated(t *testing.T, command, slowdown string) (map[string]any, error) {
	t.Helper()
	settings := `{"engine": "offline", "profile": "h100", "noise_sd": 0, "step_sd": 0, "startup_seconds": 20, "slowdown": ` + slowdown + `}`
	env := func(name string) string {
		if name == simulate.SettingsEnv {
			return settings
		}
		return ""
	}
	written, took, err := offline.Simulate(strings.Fields(command), env, 0, io.Discard)
	if err != nil {
		return nil, err
	}
	if took <= 0 {
		t.Errorf("it took %s", took)
	}
	var out map[string]any
	return out, json.Unmarshal(written, &out)
}

// TestSimulate: each program writes its figures, and they follow the engine's step times.
func TestSimulate(t *testing.T) {
	for command, figure := range map[string]string{
		"vllm bench latency --input-len 256 --output-len 32 --num-iters 3 --output-json o --model Qwen/Qwen2.5-7B-Instruct": "avg_latency",
		"vllm bench throughput --num-prompts=20 --input-len 64 --output-len 8 --model Qwen/Qwen2.5-7B-Instruct":             "elapsed_time",
		"vllm bench startup " +
			"--model Qwen/Qwen2.5-7B-Instruct --max-model-len 2048": "avg_cold_startup_time",
		"python3 -m sglang.bench_one_batch --batch-size 4 --input-len 256 --output-len 8 --model Qwen/Qwen2.5-7B-Instruct": "total_latency",
		"python3 -m sglang.bench_offline_throughput --num-prompts 20 --dataset-name random --random-input 64 --random-output 8 " +
			"--model-path Qwen/Qwen2.5-7B-Instruct": "total_latency",
	} {
		base, err := simulated(t, command, "1")
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		head, err := simulated(t, command, "1.08")
		if err != nil {
			t.Fatal(err)
		}
		b, _ := base[figure].(float64)
		h, _ := head[figure].(float64)
		if b <= 0 || math.Abs(h/b-1.08) > 0.01 {
			t.Errorf("%s: %s %g, 8 %% slower %g", command, figure, b, h)
		}
	}
	for command, want := range map[string]string{
		"vllm serve m":                                "not a benchmark that can be simulated",
		"vllm bench latency":                          "--model is missing",
		"vllm bench latency --input-len":              "needs a value",
		"vllm bench latency --batch-size 0 --model m": "--batch-size must be a positive integer",
	} {
		if _, err := simulated(t, command, "1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}
