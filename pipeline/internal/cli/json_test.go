package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// toyJSON is toyPipeline in the JSON syntax.
const toyJSON = `{
  "$schema": "https://example.com/pipeline.schema.json",
  "//": "A comment.",
  "server": {"vllm": {"sut": {
    "for_each": {"base": false, "head": true},
    "executable": "vllm",
    "version": "0.33.0",
    "model": "Qwen/Qwen2.5-7B-Instruct",
    "args": {"enable_chunked_prefill": "${each.value}"},
    "simulate": {"profile": "fast"}
  }}},
  "dataset": {"random": {"d": {"input_len": 64, "output_len": 4}}},
  "benchmark": {"b": {
    "matrix": {"side": ["base", "head"]},
    "target": "${server.vllm.sut[matrix.side]}",
    "dataset": "${dataset.random.d}",
    "load": {"rate": 20, "requests": 10},
    "repeat": {"min": 4, "max": 4}
  }},
  "baseline": {"paired": {"base": {"axis": "side", "value": "base"}}},
  "gate": {"latency": {
    "benchmark": "${benchmark.b}",
    "baseline": "${baseline.paired.base}",
    "metrics": ["${metric.tpot.mean}"],
    "margin": "20%"
  }},
  "report": {"file": {
    "mine": {"formats": ["json"]},
    "kept": {"formats": ["json", "csv"], "path": "kept"}
  }}
}`

// A file has one plan in both syntaxes, from a file, a folder and standard input.
func TestPlanOfBothSyntaxes(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	native := strings.ReplaceAll(toyPipeline, `"toy"`, `"json"`)
	for name, text := range map[string]string{"gate.pipeline.hcl": native, "gate.pipeline.json": toyJSON, "gate.hcl.json": toyJSON,
		"folder/gate.pipeline.json": toyJSON} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(stdin string, args ...string) (int, string) {
		var out bytes.Buffer
		none := func() int { return 0 }
		code := Main(args, Streams{
			In: strings.NewReader(stdin), Out: &out, Err: &out, Log: &out,
			Environ: func() []string { return nil }, Getenv: func(string) string { return "" }, Width: none, OutWidth: none,
		})
		return code, out.String()
	}
	code, want := run("", "plan", "--json", "gate.pipeline.hcl")
	if code != exitOK {
		t.Fatal(want)
	}
	for path, stdin := range map[string]string{"gate.pipeline.json": "", "gate.hcl.json": "", "folder": "", "-": toyJSON} {
		code, got := run(stdin, "plan", "--json", path)
		if code != exitOK {
			t.Fatalf("%s: %s", path, got)
		}
		if diff := cmp.Diff(planLines(want), planLines(got)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if code, got := run("", "fmt", "gate.pipeline.json"); code != exitUsage || !strings.Contains(got, "is in the JSON syntax") {
		t.Errorf("fmt: exit code %d, %s", code, got)
	}
	if code, got := run("", "run", "--simulate=virtual", "--out", "out", "gate.pipeline.json"); code != exitOK {
		t.Errorf("run: exit code %d, %s", code, got)
	}
	if code, got := run("", "gate", "out"); code != exitOK {
		t.Errorf("gate on the stored file: exit code %d, %s", code, got)
	}
}

// planLines are the lines of a plan that do not say where the file is.
func planLines(plan string) []string {
	var out []string
	for line := range strings.Lines(plan) {
		switch name, _, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case `"file"`, `"fingerprint"`, `"line"`, `"col"`, `"end_line"`:
		default:
			out = append(out, line)
		}
	}
	return out
}
