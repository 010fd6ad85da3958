package calibrate

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/process"
	"github.com/servegate/pipeline/steps/record"
)

// The comparison with `vllm bench serve` on a real server.
const (
	realRequests = 60
	realRate     = 8
	realInput    = 64
	realOutput   = 32
)

// againstVLLM is the number of repeats of TestAgainstVLLM.
var againstVLLM = flag.Int("against-vllm", 0, "repeats of the comparison with vllm bench serve, whose table -v prints")

// medians of a run in milliseconds: TTFT, TPOT, ITL.
type medians [3]float64

var medianNames = [3]string{"TTFT", "TPOT", "ITL"}

// TestAgainstVLLM puts the load generator beside `vllm bench serve` on one real vLLM
// server, alternating, and prints the medians of each repeat and whether their difference
// is inside the spread of the repeats. That is for reading: it depends on the machine, so that it
// is made by -against-vllm alone. TestRealVLLM of the whole program demands of both clients that
// they send the same work and that every request succeeds.
func TestAgainstVLLM(t *testing.T) {
	if *againstVLLM == 0 {
		t.Skip("prints a table for reading: -against-vllm=4 -v")
	}
	dir := realVLLM(t)
	url := serveVLLM(t, dir)
	if _, err := oursOn(t, url, 100); err != nil { // the first requests of a server are slow
		t.Fatal(err)
	}
	var ours, theirs []medians
	for i := range *againstVLLM {
		var a, b medians
		var err error
		if i%2 == 0 {
			a, err = oursOn(t, url, uint64(i))
		}
		if err == nil {
			b, err = vllmOn(t, dir, url, i)
		}
		if err == nil && i%2 == 1 {
			a, err = oursOn(t, url, uint64(i))
		}
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs = append(ours, a), append(theirs, b)
	}
	t.Log("\n" + compared(ours, theirs))
}

// compared is the table of two clients' repeats.
func compared(ours, theirs []medians) string {
	var b strings.Builder
	fmt.Fprintf(&b, "load average %s; Poisson %d/s, %d requests of %d tokens to %d, %d alternating repeats\n", loadAverage(), realRate,
		realRequests, realInput, realOutput, len(ours))
	fmt.Fprintf(&b, "%-12s %-44s %-44s %10s %10s\n", "median, ms", "pipeline load", "vllm bench serve", "difference", "spread")
	for k, name := range medianNames {
		x, y := column(ours, k), column(theirs, k)
		diff := mid(x) - mid(y)
		spread := max(slices.Max(x)-slices.Min(x), slices.Max(y)-slices.Min(y))
		verdict := "inside"
		if diff > spread || -diff > spread {
			verdict = "outside"
		}
		fmt.Fprintf(&b, "%-12s %-44s %-44s %+10.3f %10.3f  %s\n", name, spaced(x), spaced(y), diff, spread, verdict)
	}
	return b.String()
}

func column(m []medians, k int) []float64 {
	out := make([]float64, len(m))
	for i := range m {
		out[i] = m[i][k]
	}
	return out
}

func mid(v []float64) float64 { return record.Quantile(slices.Sorted(slices.Values(v)), 0.5) }

func spaced(v []float64) string {
	words := make([]string, len(v))
	for i, x := range v {
		words[i] = fmt.Sprintf("%.3f", x)
	}
	return strings.Join(words, " ")
}

func TestCompared(t *testing.T) {
	text := compared([]medians{{1, 2, 3}, {2, 2, 3.5}}, []medians{{1.4, 9, 3}, {1.6, 9, 3}})
	for _, want := range []string{"1.000 2.000", "+0.000      1.000  inside", "-7.000      0.000  outside", "+0.250      0.500  inside"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func oursOn(t *testing.T, url string, seed uint64) (medians, error) {
	t.Helper()
	w := steps.Workload{
		Endpoint: "completions", IgnoreEOS: true, RequestTimeout: time.Minute,
		Load:    steps.Load{Arrival: load.Poisson, Rate: realRate, Requests: realRequests},
		Dataset: steps.Dataset{Kind: "random", InputMin: realInput, InputMax: realInput, OutputMin: realOutput, OutputMax: realOutput},
	}
	res, err := load.Run(t.Context(), load.Options{BaseURL: url, Model: "tiny", Workload: w, Seed: seed})
	if err != nil {
		return medians{}, err
	}
	n := record.Count(res.Run)
	if n.Succeeded != realRequests || n.OutputTokens != realRequests*realOutput || n.InputTokens != realRequests*realInput {
		return medians{}, fmt.Errorf("pipeline load: %+v", n)
	}
	m := record.Reduce(res.Run)
	return medians{1e3 * m["ttft.p50"], 1e3 * m["tpot.p50"], 1e3 * m["itl.p50"]}, nil
}

func vllmOn(t *testing.T, dir, url string, seed int) (m medians, err error) {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "vllm"), "bench", "serve", "--backend", "openai", "--base-url", url,
		"--endpoint", "/v1/completions", "--model", "tiny", "--tokenizer", filepath.Join(dir, "model"), "--dataset-name", "random",
		"--random-input-len", strconv.Itoa(realInput), "--random-output-len", strconv.Itoa(realOutput), "--num-prompts",
		strconv.Itoa(realRequests),
		"--request-rate", strconv.Itoa(realRate), "--seed", strconv.Itoa(seed), "--temperature", "0", "--ignore-eos", "--disable-tqdm",
		"--save-result", "--result-dir", folder, "--result-filename", "r.json")
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1")
	if text, err := cmd.CombinedOutput(); err != nil {
		return m, fmt.Errorf("vllm bench serve: %w: %s", err, text[max(len(text)-1500, 0):])
	}
	raw, err := os.ReadFile(filepath.Join(folder, "r.json"))
	if err != nil {
		return m, err
	}
	var r struct {
		Completed int     `json:"completed"`
		Output    int     `json:"total_output_tokens"`
		TTFT      float64 `json:"median_ttft_ms"`
		TPOT      float64 `json:"median_tpot_ms"`
		ITL       float64 `json:"median_itl_ms"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return m, err
	}
	if r.Completed != realRequests || r.Output != realRequests*realOutput {
		return m, fmt.Errorf("vllm bench serve: %+v", r)
	}
	return medians{r.TTFT, r.TPOT, r.ITL}, nil
}

// realVLLM returns an installation of vLLM, made by examples/vllm-cpu-pd/setup.sh.
func realVLLM(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PIPELINE_VLLM_CPU")
	if _, err := os.Stat(filepath.Join(dir, "bin", "vllm")); dir == "" || err != nil {
		t.Fatal("needs PIPELINE_VLLM_CPU, a folder that examples/vllm-cpu-pd/setup.sh has filled")
	}
	return dir
}

// serveVLLM starts a server and waits until it answers.
func serveVLLM(t *testing.T, dir string) (url string) {
	t.Helper()
	free, release, err := new(process.Ports).TakeRow("127.0.0.1", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	port := strconv.Itoa(free)
	log, err := os.Create(filepath.Join(t.TempDir(), "vllm.log"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "bin", "vllm"), "serve", filepath.Join(dir, "model"), "--served-model-name", "tiny",
		"--host", "127.0.0.1", "--port", port, "--dtype", "bfloat16", "--max-model-len", "2048", "--enforce-eager", "--no-enable-prefix-caching")
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_NO_USAGE_STATS=1")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // its engine is a process of its own
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { cancel(); <-ended; _ = log.Close() })
	url = "http://127.0.0.1:" + port
	// real time: the client is measured on this machine's clock
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	// real time: the client is measured on this machine's clock
	for deadline := time.After(4 * time.Minute); ; {
		if res, err := http.Get(url + "/health"); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				http.DefaultClient.CloseIdleConnections()
				return url
			}
		}
		select {
		case <-tick.C:
		case err := <-ended:
			ended <- err
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("vllm serve ended: %v\n%s", err, text[max(len(text)-3000, 0):])
		case <-deadline:
			t.Fatal("vllm serve was not ready within 4 minutes")
		}
	}
}
