package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/series"
)

// toy is a format that nothing but this file knows.
var toy = reports.Format{
	Name: "toy", Extension: ".toy",
	Document: func(w io.Writer, doc *result.Document, _ reports.Options) error {
		_, err := fmt.Fprintf(w, "exit code %d of %d gates\n", doc.ExitCode, len(doc.Gates))
		return err
	},
}

const toyPipeline = `
server "vllm" "sut" {
  for_each   = { base = false, head = true }
  executable = "vllm"
  version    = "0.33.0"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { enable_chunked_prefill = each.value }
  simulate {
    profile = "fast"
  }
}
dataset "random" "d" {
  input_len  = 64
  output_len = 4
}
benchmark "b" {
  matrix {
    side = ["base", "head"]
  }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.d
  load {
    rate     = 20
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
gate "latency" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.tpot.mean]
  margin    = "20%"
}
report "file" "mine" {
  formats = ["toy"]
}
report "file" "kept" {
  formats = ["toy", "csv"]
  path    = "kept"
}
`

// toyRunner returns a function that carries out a command of a program with more in its tables
// than comes with it, checks the exit code and returns what was printed: its messages, too,
// where it fails.
func toyRunner(t *testing.T, add func(*app)) func(wanted int, args ...string) string {
	t.Helper()
	return func(wanted int, args ...string) string {
		t.Helper()
		var out, messages bytes.Buffer
		none := func() int { return 0 }
		a := newApp(Streams{
			In: strings.NewReader(""), Out: &out, Err: &messages, Log: &messages,
			Environ: func() []string { return nil }, Getenv: func(string) string { return "" }, Width: none, OutWidth: none,
		})
		add(a)
		root := a.root()
		root.SetArgs(args)
		code := a.exitCode(root.ExecuteContext(t.Context()))
		for _, w := range a.writers {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if code != wanted {
			t.Fatalf("%v: exit code %d, want %d:\n%s%s", args, code, wanted, out.String(), messages.String())
		}
		if code != exitOK {
			return out.String() + messages.String()
		}
		return out.String()
	}
}

// A format that is only in the table is allowed in a report block, written by a run,
// offered by --format and listed in the schema.
func TestFormatIsOneRowOfOneTable(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("toy.pipeline.hcl", []byte(toyPipeline), 0o600); err != nil {
		t.Fatal(err)
	}
	run := toyRunner(t, func(a *app) { a.formats = append(a.formats, toy) })
	const want = "exit code 0 of 1 gates\n"
	run(exitOK, "run", "toy.pipeline.hcl", "--simulate=virtual", "--out", "out")
	for _, path := range []string{filepath.Join("out", "mine-report.toy"), filepath.Join("kept", "report.toy")} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", path, got, err)
		}
	}
	if got := run(exitOK, "report", "out", "--format", "toy"); got != want {
		t.Errorf("report --format toy prints %q", got)
	}
	if got := run(exitUsage, "report", "out", "--format", "pdf"); !strings.Contains(got,
		"must be one of "+strings.Join(append(reports.AllFormats().OfDocuments().Names(), "toy"), ", ")) {
		t.Errorf("an unknown format: %s", got)
	}
	if got := run(exitOK, "schema"); !strings.Contains(got, `"toy"`) {
		t.Error("the schema does not list the format")
	}
	if got := run(exitUsage, "compare", "out", "out", "--format", "toy"); !strings.Contains(got,
		"draws verdicts: add --test, or use one of json, markdown, text, html, csv, latex, curves") {
		t.Errorf("a format without comparisons: %s", got)
	}
}

// What a run writes and what results of other tools become follows the published schema.
func TestResultsFollowTheirSchema(t *testing.T) {
	data, err := filepath.Abs("../convert/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	run := toyRunner(t, func(a *app) { a.formats = append(a.formats, toy) })
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(run(exitOK, "schema", "results")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("results.schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("results.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, text string) {
		t.Helper()
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile("toy.pipeline.hcl", []byte(toyPipeline), 0o600); err != nil {
		t.Fatal(err)
	}
	run(exitOK, "run", "toy.pipeline.hcl", "--simulate=virtual", "--out", "out")
	check("a run", run(exitOK, "report", "out", "--format", "json"))
	for _, pattern := range []string{"published/*", "real/*", "tools/*"} {
		files, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range files {
			switch filepath.Base(path) {
			case "README.md":
			case "vllm-offline.jsonl": // results of three programs, of which one names no model
				check(path, run(exitOK, "import", path, "--by", "tool", "--format", "json"))
			default:
				check(path, run(exitOK, "import", path, "--format", "json"))
			}
		}
	}
}

// A report that cannot be made whole leaves the one before as it was.
func TestReportsAreReplacedWhole(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	path := filepath.Join(dir, "pages", "history.broken")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("yesterday"), 0o600)); err != nil {
		t.Fatal(err)
	}
	broken := reports.Format{Name: "broken", Extension: ".broken", History: func(w io.Writer, _ *series.History, _ reports.Options) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, errors.New("no more"))
	}}
	run := toyRunner(t, func(a *app) { a.formats = append(a.formats, broken) })
	if text := run(exitInfrastructure, "history", "report", "--history", "past", "--out", "pages"); !strings.Contains(text, "no more") {
		t.Errorf("messages %s", text)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "yesterday" {
		t.Errorf("%q, %v", text, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "pages", ".*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left, %v", left, err)
	}
}
