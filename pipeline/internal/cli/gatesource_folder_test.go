package cli

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

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/store"
)

// neighboursFile reads a file of every kind beside itself. Its head is 25 % slower.
const neighboursFile = `
pipeline {
  variance {
    calibration = "cal.json"
  }
}
variable "requests" {
  type    = number
  default = 1
}
server "vllm" "sut" {
  for_each   = { base = "0%", head = "25%" }
  executable = "vllm"
  model      = "./tiny"
  args       = { max_num_seqs = tonumber(trimspace(file("seqs.txt"))) }
  env        = { SIDE = each.key }
  simulate {
    profile  = "fast"
    startup  = "1s"
    slowdown = each.value
    noise    = "1%"
  }
}
dataset "file" "prompts" {
  path       = "prompts.jsonl"
  output_len = 8
}
dataset "trace" "recorded" {
  path = "trace.jsonl"
}
benchmark "b" {
  matrix {
    side = ["base", "head"]
  }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.file.prompts
  load {
    rate     = 20
    requests = var.requests
  }
  repeat {
    min = 4
    max = 4
  }
}
benchmark "c" {
  matrix {
    side = ["base", "head"]
  }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.trace.recorded
  load {
    arrival  = "trace"
    requests = 10
  }
  repeat {
    min = 4
    max = 4
  }
}
baseline "paired" "base" {
  axis  = "side"
  value = "base"
}
baseline "stored" "nights" {}
baseline "file" "release" {
  path = "release.json"
}
gate "latency" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.mean]
  margin    = trimspace(file("margin.txt"))
}
gate "replayed" {
  benchmark = benchmark.c
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.mean]
  margin    = "5%"
}
gate "nights" {
  benchmark = benchmark.b
  baseline  = baseline.stored.nights
  metrics   = [metric.e2el.mean]
  margin    = "10%"
}
gate "release" {
  benchmark     = benchmark.b
  baseline      = baseline.file.release
  metrics       = [metric.e2el.mean]
  on_regression = "warn"
  margin        = "5%"
}
`

// neighbours are the files beside neighboursFile, with what a hostile change could write there. Those that the test
// makes itself are not here.
var neighbours = map[string][]string{
	"margin.txt": {"5%", "90%"},
	"prompts.jsonl": {strings.Repeat("{\"prompt\": \"one two three four five six seven eight nine ten\"}\n", 20),
		strings.Repeat("{\"prompt\": \"one\"}\n", 20)},
	"trace.jsonl": {strings.Repeat("{\"timestamp\": 100, \"input_length\": 64, \"output_length\": 16}\n", 10),
		strings.Repeat("{\"timestamp\": 1, \"input_length\": 1, \"output_length\": 2}\n", 10)},
	"ci.pvars":         {"requests = 20\n", "requests = 1\n"},
	"tiny/config.json": {tinyModel(8), tinyModel(1)},
	"seqs.txt":         {"64\n", "1\n"},
}

func tinyModel(layers int) string {
	return fmt.Sprintf(
		`{"architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": %d, "vocab_size": 128256, "torch_dtype": "bfloat16"}`, layers)
}

// twoFolders are the checkouts of a base and a head.
type twoFolders struct {
	*baseJudge
	base, head string
	runs       int
}

// judged runs the head's file with the base's folder and returns the exit status and what was measured and decided.
func (f *twoFolders) judged(t *testing.T) (code int, outcome string) {
	t.Helper()
	f.runs++
	a, said := f.app()
	out := filepath.Join(f.dir, fmt.Sprint("out-", f.runs))
	code = a.runAs(t.Context(), []string{
		"run", "--simulate=virtual", "--progress", "quiet", "--out", out, "--var-file", "ci.pvars",
		"--gate-source", "base", "--base-file", filepath.Join(f.base, "gate.pipeline.hcl"), "gate.pipeline.hcl",
	})
	doc, err := store.ReadDocument(out)
	if err != nil {
		return code, said.String()
	}
	for i := range doc.Gates {
		doc.Gates[i].Range.File = "" // the path of the checkout
	}
	text, err := json.Marshal([]any{doc.Gates, doc.Benchmarks})
	if err != nil {
		t.Fatal(err)
	}
	return code, string(text)
}

// put writes a file of a folder, after removing what is there.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(path)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fileChanges are what a change can do to a file beside its own, given other content that is as valid.
var fileChanges = []struct {
	name string
	do   func(t *testing.T, dir, name, other string)
}{
	{"other content", put},
	{"a link to another file", func(t *testing.T, dir, name, other string) {
		t.Helper()
		put(t, dir, "linked", other)
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "linked"), path); err != nil {
			t.Fatal(err)
		}
	}},
	{"no content", func(t *testing.T, dir, name, _ string) { t.Helper(); put(t, dir, name, "") }},
	{"no file", func(t *testing.T, dir, name, _ string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}},
	{"no right to read it", func(t *testing.T, dir, name, _ string) {
		t.Helper()
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}},
}

// newTwoFolders makes both checkouts alike, with the calibration, the release and the sessions that the file reads.
func newTwoFolders(t *testing.T) (f *twoFolders, files map[string][]string) {
	t.Helper()
	f = &twoFolders{baseJudge: newBaseJudge(t, ""), base: t.TempDir(), head: t.TempDir()}
	files = maps.Clone(neighbours)
	t.Chdir(f.base)
	put(t, f.base, "gate.pipeline.hcl", neighboursFile)
	for name, texts := range files {
		put(t, f.base, name, texts[0])
	}
	calibrated := func(file, name string) string {
		a, said := f.app()
		args := []string{"calibrate", "--simulate=virtual", "--progress", "quiet", "--history", filepath.Join(f.dir, "past"), "--save", name,
			"--var-file", "ci.pvars", file}
		if code := a.runAs(t.Context(), args); code != exitOK {
			t.Fatalf("calibrate: exit status %d\n%s", code, said)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	plain := strings.Replace(neighboursFile, `calibration = "cal.json"`, "", 1)
	put(t, f.base, "plain.hcl", plain)
	put(t, f.base, "noisy.hcl", strings.Replace(plain, `"1%"`, `"40%"`, 1))
	files["cal.json"] = []string{calibrated("plain.hcl", "cal.json"), calibrated("noisy.hcl", "noisy.json")}

	a, said := f.app()
	measured := filepath.Join(f.dir, "measured")
	a.runAs(t.Context(), []string{"run", "--simulate=virtual", "--progress", "quiet", "--out", measured, "--var-file", "ci.pvars", "--gate",
		"latency", "gate.pipeline.hcl"})
	doc, err := store.ReadDocument(measured)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	release, err := os.ReadFile(filepath.Join(measured, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	files["release.json"] = []string{string(release), "{}"}
	store, err := history.Open(t.Context(), filepath.Join(f.base, ".pipeline", "history"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 { // sessions in which the head was faster
		r, err := history.FromDocument(doc, history.Source{})
		if err != nil {
			t.Fatal(err)
		}
		r.ID, r.Time = fmt.Sprintf("%s-%d", r.ID, i), r.Time.Add(-time.Duration(20-i)*time.Hour)
		for c := range r.Cells {
			r.Cells[c].Metrics = maps.Clone(r.Cells[c].Metrics)
			for name := range r.Cells[c].Metrics {
				r.Cells[c].Metrics[name] *= 0.7 * (1 + 0.002*float64(i%3))
			}
		}
		name, err := history.Add(t.Context(), store, r)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			name = filepath.Join(".pipeline", "history", "records", name)
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = []string{string(text), "{}"}
		}
	}
	for name, texts := range files {
		put(t, f.base, name, texts[0])
	}
	if err := os.CopyFS(f.head, os.DirFS(f.base)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(f.head)
	return f, files
}

// TestFolderOfTheBaseJudges changes each file beside the pipeline file in turn. In the head's checkout nothing changes
// what is measured and decided, but for what the head's own server is: there the head stays red. In the base's checkout
// each file counts.
func TestFolderOfTheBaseJudges(t *testing.T) {
	f, files := newTwoFolders(t)
	code, unchanged := f.judged(t)
	if code != exitRegression {
		t.Fatalf("nothing is changed: exit status %d\n%s", code, unchanged)
	}
	own := []string{"seqs.txt"} // an argument of the head's server
	step := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		texts := files[name]
		for i, change := range fileChanges {
			if step++; !*full && i > 0 && step%3 > 0 {
				continue
			}
			change.do(t, f.head, name, texts[1])
			code, outcome := f.judged(t)
			if code != exitRegression && code != exitUsage || code == exitRegression && outcome != unchanged && !slices.Contains(own, name) {
				t.Errorf("the head has %s in the place of %s: exit status %d, and the outcome is the same: %t", change.name, name, code,
					outcome == unchanged)
			}
			put(t, f.head, name, texts[0])
		}
		put(t, f.base, name, texts[1])
		if code, outcome := f.judged(t); code == exitRegression && outcome == unchanged {
			t.Errorf("%s of the base does not count: the test shows nothing of it", name)
		}
		put(t, f.base, name, texts[0])
	}
}
