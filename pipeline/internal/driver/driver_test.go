package driver_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/driver"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const vllmJSON = `{"backend": "openai", "model_id": "m", "num_prompts": 4, "request_rate": 2.0, "duration": 2.0, "completed": 3, "failed": 1, "total_input_tokens": 48, "total_output_tokens": 24, "request_throughput": 1.5, "output_throughput": 12.0, "total_token_throughput": 36.0, "mean_ttft_ms": 20.5, "median_ttft_ms": 20.0, "p99_ttft_ms": 30.0}`

const block = `============ Serving Benchmark Result ============
Successful requests:                     4
Failed requests:                         0
Benchmark duration (s):                  2.00
Total input tokens:                      48
Total generated tokens:                  24
Request throughput (req/s):              2.00
---------------Time to First Token----------------
Median TTFT (ms):                        25.00
==================================================
`

// try runs a shell script as the load generator.
func try(t *testing.T, ctx context.Context, d steps.Driver, log io.Writer) (result.Run, string, error) {
	t.Helper()
	spawner := spawn.New(spawn.Options{Environ: os.Environ()})
	t.Cleanup(spawner.Close)
	out, dir := t.TempDir(), t.TempDir()
	d.Kind = steps.DriverExec
	if d.Output == "" {
		d.Output = "results.json"
	}
	keep := func(name string) (string, error) {
		folder := filepath.Join(out, name)
		return folder, os.MkdirAll(folder, 0o700)
	}
	run, err := driver.Driver{Spawner: spawner, Dir: dir, Keep: keep, Redact: event.NewRedactor([]string{"top-secret"}), Grace: time.Minute}.
		Run(ctx, driver.Options{Driver: &d, Name: "r1", Log: log, Values: map[string]string{"base_url": "http://127.0.0.1:8000", "seed": "42"}})
	return run, filepath.Join(out, "r1"), err
}

func sh(script string, args ...string) []string {
	return append([]string{"sh", "-ec", script, "sh"}, args...)
}

// The program learns where to write and what to measure, and what it writes becomes the run.
func TestRun(t *testing.T) {
	var log bytes.Buffer
	command := sh(
		`test "$1" = http://127.0.0.1:8000; test "$2" = --seed=42; test "$TOKEN" = top-secret; echo measuring; printf '%s' "$DOC" > "$3"; test -d "$4"`,
		steps.DriverVar("base_url"), "--seed="+steps.DriverVar("seed"), steps.DriverVar("output"), steps.DriverVar("dir"))
	run, kept, err := try(t, t.Context(), steps.Driver{Command: command, Env: []steps.EnvVar{
		{Name: "TOKEN", Value: "top-secret", Secret: true}, {Name: "DOC", Value: strings.Replace(vllmJSON, `"m"`, `"top-secret"`, 1)},
	}}, &log)
	if err != nil {
		t.Fatal(err)
	}
	if run.Status != result.RunOK || run.Sent != 4 || run.Failed != 1 || run.Metrics["ttft.p50"] != 0.02 ||
		run.Metrics["request_throughput.mean"] != 1.5 {
		t.Errorf("%+v", run)
	}
	if run.Audit["input_tokens"] != 48.0 || run.Audit["tool"] != "vllm" || !strings.HasPrefix(run.Audit["source"].(string), kept) {
		t.Errorf("audit %v", run.Audit)
	}
	if !strings.Contains(log.String(), "measuring") {
		t.Errorf("log %q", log.String())
	}
	text, err := os.ReadFile(filepath.Join(kept, "results.json"))
	if err != nil || bytes.Contains(text, []byte("top-secret")) || !bytes.Contains(text, []byte("median_ttft_ms")) {
		t.Errorf("kept %s, %v", text, err)
	}
}

// Without a file, what was printed is the result.
func TestPrinted(t *testing.T) {
	run, _, err := try(t, t.Context(), steps.Driver{Command: sh(`echo noise`), Tool: "vllm"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "no result found") {
		t.Errorf("noise alone: %+v, %v", run, err)
	}
	run, kept, err := try(t, t.Context(), steps.Driver{Command: sh(`echo noise; printf '%s\n' "$1"; echo done >&2`, block), Tool: "vllm"},
		io.Discard)
	if err != nil || run.Metrics["ttft.p50"] != 0.025 || run.Sent != 4 {
		t.Fatalf("%+v, %v", run, err)
	}
	if _, err := os.Stat(filepath.Join(kept, "printed.txt")); err != nil {
		t.Error(err)
	}
}

func TestRunFails(t *testing.T) {
	for name, tt := range map[string]struct {
		command []string
		output  string
		want    string
	}{
		"exit status": {sh(`echo "connection refused" >&2; exit 3`), "", "the load generator sh failed: exit status 3"},
		"no program":  {[]string{"no-such-program-here"}, "", "could not be started"},
		"no result":   {sh(`: > "$1"`, steps.DriverVar("output")), "", "it is empty or not text"},
		"cut off":     {sh(`printf '{"completed": 3, "median_ttft_ms": 2' > "$1"`, steps.DriverVar("output")), "", "results.json:1"},
		"two results": {sh(`printf '%s\n%s\n' "$2" "$3" > "$1"`, steps.DriverVar("output"), vllmJSON, strings.ReplaceAll(vllmJSON, "20.0",
			"21.0")), "", "has 2 results, and a run is one"},
		"in a folder":  {sh(`printf '{}' > "$1"`, steps.DriverVar("output")), "artifacts/out.json", "out.json"},
		"not a figure": {sh(`printf '%s' "$2" > "$1"`, steps.DriverVar("output"), strings.Replace(vllmJSON, "30.0", `"fast"`, 1)), "", "fast"},
	} {
		t.Run(name, func(t *testing.T) {
			run, _, err := try(t, t.Context(), steps.Driver{Command: tt.command, Output: tt.output}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v, %v; want %s", run, err, tt.want)
			}
		})
	}
}

// A program that goes on is ended with everything it started, and the cause is reported.
func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("the server has ended")
	started := make(chan struct{})
	go func() { <-started; cancel(late) }()
	_, _, err := try(t, ctx, steps.Driver{Command: sh(`sleep 600 & echo started; wait`)}, writer(func() { close(started) }))
	if !errors.Is(err, late) {
		t.Errorf("%v", err)
	}
}

// writer calls do at the first write.
type writer func()

func (w writer) Write(p []byte) (int, error) { w(); return len(p), nil }
