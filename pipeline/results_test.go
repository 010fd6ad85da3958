package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// resultGates judge results that were handed over, by the label side.
const resultGates = `
benchmark "nightly" {
  matrix { side = ["base", "head"] }
  driver "results" {}
}

baseline "paired" "base" {
  axis   = "side"
  value  = "base"
  differ = [%s]
}

gate "night" {
  benchmark = benchmark.nightly
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = "5%%"
}
`

// vllmResult is what vllm bench serve --save-result writes of one launch: base and head
// alternate, ten minutes apart.
func vllmResult(side string, launch int) map[string]any {
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC).Add(time.Duration(launch) * 20 * time.Minute)
	ttft := 100 + float64(launch%3)/10
	if side == "head" {
		at = at.Add(10 * time.Minute)
		ttft += 0.05
	}
	return map[string]any{
		"date": at.Format("20060102-150405"), "endpoint_type": "openai", "backend": "openai", "model_id": "m", "tokenizer_id": "m",
		"num_prompts": 200, "request_rate": 4.0, "burstiness": 1.0, "max_concurrency": nil, "duration": 50.0,
		"completed": 200, "failed": 0, "total_input_tokens": 204800, "total_output_tokens": 25600,
		"mean_ttft_ms": ttft, "median_ttft_ms": ttft, "p99_ttft_ms": 2 * ttft,
	}
}

// sglangResult is what sglang.bench_serving writes of the same.
func sglangResult(launch int) map[string]any {
	return map[string]any{
		"tag": nil, "backend": "vllm", "dataset_name": "random", "request_rate": 4.0, "max_concurrency": nil, "random_input_len": 1024,
		"random_output_len": 128, "random_range_ratio": 1.0, "duration": 50.0, "completed": 200, "total_input_tokens": 204800,
		"total_output_tokens": 25600, "total_output_tokens_retokenized": 25600, "median_ttft_ms": 150 + float64(launch%3)/10, "mean_ttft_ms": 150,
	}
}

// writeResult writes one file of a launch.
func writeResult(t *testing.T, path string, content map[string]any) {
	t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeGates writes the pipeline file, in which the sides may differ in what is given.
func writeGates(t *testing.T, dir string, differ ...string) {
	t.Helper()
	for i, name := range differ {
		differ[i] = fmt.Sprintf("%q", name)
	}
	if err := os.WriteFile(filepath.Join(dir, "gates.hcl"), fmt.Appendf(nil, resultGates, strings.Join(differ, ", ")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func gateResults(t *testing.T, dir string, more ...string) (string, int) {
	t.Helper()
	args := []string{"gate", "gates.hcl", "--one-launch-per-file", "--results", "side=base:base*.json", "--results", "side=head:head*.json"}
	return pipeline(t, dir, append(args, more...)...)
}

// A side that did other work, or that another load generator measured, gets no verdict,
// whatever the figures are: both values are named.
func TestResultsOfOtherWorkAreInvalid(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change map[string]any // of the head; nil removes
		differ []string
		want   string // in the output; "" for a pass
	}{
		"the same":               {nil, nil, ""},
		"a rate":                 {map[string]any{"request_rate": 2.0}, nil, "request rate: base 4, head 2"},
		"a declared rate":        {map[string]any{"request_rate": 2.0}, []string{"request_rate"}, ""},
		"a model":                {map[string]any{"model_id": "n"}, nil, "model: base m, head n"},
		"a tokenizer":            {map[string]any{"tokenizer_id": "n"}, nil, "tokenizer: base m, head n"},
		"a burstiness":           {map[string]any{"burstiness": 0.5}, nil, "burstiness: base 1, head 0.5"},
		"a bound on concurrency": {map[string]any{"max_concurrency": 8}, nil, "max concurrency: base unlimited (not given), head 8"},
		"a number of prompts": {map[string]any{"num_prompts": 100, "completed": 100, "total_input_tokens": 102400,
			"total_output_tokens": 12800}, nil, "number of prompts: base 200, head 100"},
		"a chat endpoint": {map[string]any{"backend": "openai-chat", "endpoint_type": "openai-chat"}, nil,
			"endpoint: base completions, head chat"},
		"shorter answers": {map[string]any{"total_output_tokens": 12800}, nil, "output tokens per request: base 128, head 64"},
		"a slower head":   {map[string]any{"median_ttft_ms": 150.0, "request_rate": 2.0}, nil, "request rate: base 4, head 2"},
		"a head that fails, slow": {map[string]any{"completed": 100, "failed": 100, "request_rate": 2.0, "total_input_tokens": 102400,
			"total_output_tokens": 12800}, nil, "request rate: base 4, head 2"},
		"a version of vLLM":        {map[string]any{"vllm_version": "0.33"}, nil, ""},
		"another load generator":   {map[string]any{"sglang": true}, nil, "load generator: base vllm, head sglang"},
		"two declared differences": {map[string]any{"model_id": "n", "tokenizer_id": "n"}, []string{"model", "tokenizer"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeGates(t, dir, tt.differ...)
			for launch := range 5 {
				writeResult(t, filepath.Join(dir, fmt.Sprintf("base%d.json", launch+1)), vllmResult("base", launch))
				head := vllmResult("head", launch)
				maps.Copy(head, tt.change)
				if head["sglang"] != nil {
					head = sglangResult(launch)
				}
				writeResult(t, filepath.Join(dir, fmt.Sprintf("head%d.json", launch+1)), head)
			}
			out, code := gateResults(t, dir)
			if tt.want == "" && code != 0 || tt.want != "" && (code != 5 || !strings.Contains(strings.Join(strings.Fields(out), " "), tt.want)) {
				t.Errorf("exit status %d, want %q:\n%s", code, tt.want, out)
			}
		})
	}
}

// pairingTest is a session of files, and what is judged of it.
type pairingTest struct {
	base, head func(launch int) (file string, content map[string]any) // "" is not there
	launches   int
	exit       int
	want, not  []string // in results
}

// Files of launches are paired by time where they state it, by their numbers or by their
// order; what is lost on the way is said, and is no pass.
func TestResultsArePairedByTheirLaunches(t *testing.T) {
	t.Parallel()
	timeless := func(r map[string]any) map[string]any { delete(r, "date"); return r }
	usual := func(side string) func(int) (string, map[string]any) {
		return func(launch int) (string, map[string]any) {
			return fmt.Sprintf("%s%d.json", side, launch+1), vllmResult(side, launch)
		}
	}
	without := func(side string, lost ...int) func(int) (string, map[string]any) {
		return func(launch int) (string, map[string]any) {
			if slices.Contains(lost, launch+1) {
				return "", nil
			}
			return usual(side)(launch)
		}
	}
	untimed := func(files func(int) (string, map[string]any)) func(int) (string, map[string]any) {
		return func(launch int) (string, map[string]any) {
			file, content := files(launch)
			return file, timeless(content)
		}
	}
	drift := func(side string, files func(int) (string, map[string]any)) func(int) (string, map[string]any) {
		return func(launch int) (string, map[string]any) {
			file, content := files(launch)
			if file != "" {
				content["median_ttft_ms"] = content["median_ttft_ms"].(float64) * (1 + 0.1*float64(launch))
			}
			return file, content
		}
	}
	zero := func(launch int) (string, map[string]any) {
		file, content := usual("head")(launch)
		if launch == 2 {
			content["median_ttft_ms"], content["mean_ttft_ms"], content["p99_ttft_ms"] = 0.0, 0.0, 0.0
		}
		return file, content
	}
	later := func(launch int) (string, map[string]any) {
		file, content := usual("head")(launch)
		content["date"] = time.Date(2026, 11, 21, 8, launch, 0, 0, time.UTC).Format("20060102-150405")
		return file, content
	}
	shuffled := func(launch int) (string, map[string]any) {
		_, content := usual("head")(launch)
		return fmt.Sprintf("head%d.json", 12-launch), content
	}
	for name, tt := range map[string]pairingTest{
		"all are there": {usual("base"), usual("head"), 12, 0,
			[]string{"12 of 12 repeats", "paired by the time of their measurement, alternated"}, []string{"no partner"}},
		"names say another order": {drift("base", usual("base")), drift("head", shuffled), 12, 0, []string{"12 of 12 repeats"}, nil},
		"heads are missing": {usual("base"), without("head", 3, 5), 6, 5, []string{"4 of 6 repeats", "base3.json, base5.json", "missing"},
			[]string{"1 gate passed"}},
		"missing under drift": {drift("base", usual("base")), drift("head", without("head", 2)), 6, 5,
			[]string{"5 of 6 repeats", "base2.json"}, []string{"regression (fails)", "+4"}},
		"a half is missing": {usual("base"), without("head", 9, 10, 11, 12, 13, 14, 15, 16), 16, 5,
			[]string{"8 of 16 repeats", "8 launches have no partner"}, nil},
		"untimed, all there": {untimed(usual("base")), untimed(usual("head")), 12, 0, []string{"12 of 12 repeats", "have no times",
			"by the number in their name"}, nil},
		"untimed, drift": {untimed(drift("base", usual("base"))), untimed(drift("head", usual("head"))), 12, 0,
			[]string{"1 gate passed"}, nil},
		"untimed, one missing": {untimed(drift("base", usual("base"))), untimed(drift("head", without("head", 2))), 6, 5,
			[]string{"5 of 6 repeats", "base2.json"}, nil},
		"one side after another": {usual("base"), later, 6, 0, []string{"not alternated"}, nil},
		"a value of 0":           {usual("base"), zero, 6, 5, []string{"repeat 3 of the head", "missing"}, []string{"1 gate passed"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeGates(t, dir)
			for launch := range tt.launches {
				for _, files := range []func(int) (string, map[string]any){tt.base, tt.head} {
					if file, content := files(launch); file != "" {
						writeResult(t, filepath.Join(dir, file), content)
					}
				}
			}
			out, code := gateResults(t, dir)
			flat := strings.Join(strings.Fields(out), " ")
			if code != tt.exit {
				t.Errorf("exit status %d, want %d", code, tt.exit)
			}
			for _, want := range tt.want {
				if !strings.Contains(flat, want) {
					t.Errorf("%q is not said", want)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(flat, not) {
					t.Errorf("%q is said", not)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// A baseline file of other work is invalid, with both values; one of the same work, or of
// another load generator, is described.
func TestBaselineFilesOfOtherWorkAreInvalid(t *testing.T) {
	gates := strings.NewReplacer(`"paired" "base"`, `"file" "base"`, `axis   = "side"`, "", `value  = "base"`, `path = "base1.json"`,
		"baseline.paired", "baseline.file",
		`matrix { side = ["base", "head"] }`, "").Replace(resultGates)
	for name, tt := range map[string]struct {
		change map[string]any
		differ string
		exit   int
		want   string
	}{
		"the same":        {nil, "", 0, "described, not decided"},
		"a rate":          {map[string]any{"request_rate": 2.0}, "", 5, "request rate: file 2, head 4"},
		"a declared rate": {map[string]any{"request_rate": 2.0}, `"request_rate"`, 0, "described, not decided"},
		"a model":         {map[string]any{"model_id": "n"}, "", 5, "model: file n, head m"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "gates.hcl"), fmt.Appendf(nil, gates, tt.differ), 0o600); err != nil {
				t.Fatal(err)
			}
			base := vllmResult("base", 0)
			maps.Copy(base, tt.change)
			writeResult(t, filepath.Join(dir, "base1.json"), base)
			for launch := range 3 {
				writeResult(t, filepath.Join(dir, fmt.Sprintf("head%d.json", launch+1)), vllmResult("head", launch))
			}
			out, code := pipeline(t, dir, "gate", "gates.hcl", "--one-launch-per-file", "--results", "head*.json")
			if flat := strings.Join(strings.Fields(out), " "); code != tt.exit || !strings.Contains(flat, tt.want) {
				t.Errorf("exit status %d, want %d with %q:\n%s", code, tt.exit, tt.want, out)
			}
		})
	}
}
