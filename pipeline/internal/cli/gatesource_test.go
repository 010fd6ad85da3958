package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// judgedFile has an argument of every kind that decides. Its head is 25 % slower, by a
// variable, by the map of for_each and by the settings of a simulated server.
const judgedFile = `
pipeline {
  description = "head against base"
  alpha       = "5%"
}
variable "slowdown" {
  type    = string
  default = "25%"
}
variable "margin" {
  default = "5%"
}
locals {
  rates    = [20, 40]
  requests = 20
  metrics  = "e2el"
}
server "vllm" "common" {
  abstract   = true
  executable = "vllm"
  model      = "tiny"
}
server "vllm" "sut" {
  extends  = server.vllm.common
  for_each = { base = "0%", head = var.slowdown }
  gpus     = 1
  args     = { max_num_seqs = 64 }
  env      = { BUILD = each.key }
  ready {
    timeout = "5m"
  }
  simulate {
    profile  = "fast"
    slowdown = each.value
    noise    = "1%"
  }
}
server "vllm" "other" {
  executable = "vllm-of-another-day"
  model      = "tiny"
  simulate {
    profile = "fast"
  }
}
dataset "random" "short" {
  input_len  = 512
  output_len = 16
}
dataset "random" "shorter" {
  input_len  = 8
  output_len = 2
}
benchmark "b" {
  matrix {
    side = ["base", "head"]
    rate = local.rates
    exclude {
      when = matrix.rate > 30
    }
  }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  seed    = 7
  warmup {
    requests = 2
  }
  load {
    rate       = matrix.rate
    requests   = local.requests
    burstiness = 2
  }
  limits {
    lag_p99 = "1s"
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
  target  = server.vllm.other
  dataset = dataset.random.shorter
  load {
    rate     = 20
    requests = 2
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
  benchmark     = benchmark.b
  baseline      = baseline.paired.base
  metrics       = [metric.e2el.p50, metric.tpot.mean]
  where         = matrix.rate < 30
  margin        = var.margin
  alpha         = "4%"
  test          = "paired_t"
  strict        = false
  on_regression = "fail"
}
report "file" "all" {
  formats = ["json"]
}
`

// mutant is a file with one change.
type mutant struct{ name, text string }

// mutants change every argument of every block of a file in turn, remove it, remove every
// block, and add what the file does not have.
func mutants(t *testing.T, src string) []mutant {
	t.Helper()
	f, diags := hclsyntax.ParseConfig([]byte(src), "f.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var out []mutant
	put := func(name string, r hcl.Range, text string) {
		out = append(out, mutant{name, src[:r.Start.Byte] + text + src[r.End.Byte:]})
	}
	var visit func(path string, body *hclsyntax.Body)
	visit = func(path string, body *hclsyntax.Body) {
		for name, a := range body.Attributes {
			at := path + name
			r := a.Expr.Range()
			for i, value := range otherValues(src[r.Start.Byte:r.End.Byte]) {
				put(fmt.Sprintf("%s = %s (%d)", at, value, i), r, value)
			}
			put("no "+at, a.SrcRange, "")
		}
		for _, b := range body.Blocks {
			name := path + strings.Join(append([]string{b.Type}, b.Labels...), ".")
			put("no "+name, b.Range(), "")
			visit(name+".", b.Body)
		}
	}
	visit("", f.Body.(*hclsyntax.Body))
	for _, added := range []struct{ after, text string }{
		{`gate "latency" {`, "allow_overload = true\n"}, {`gate "latency" {`, "on_invalid = \"ignore\"\n"},
		{`gate "latency" {`, "on_missing = \"ignore\"\n"},
		{`gate "latency" {`, "suite_margin = \"50%\"\n"},
		{`pipeline {`, "timeout = \"1h\"\n"}, {`benchmark "b" {`, "passes = 2\n"}, {`load {`, "max_concurrency = 1\n"},
		{`ready {`, "interval = \"1s\"\n"}, {`simulate {`, "launch_noise = \"90%\"\n"}, {`simulate {`, "fail = [\"oom\"]\n"},
		{`simulate {`, "startup = \"1ms\"\n"},
		{`server "vllm" "sut" {`, "served_name = \"m\"\n"}, {`server "vllm" "sut" {`, "url = \"http://127.0.0.1:1\"\n"},
		{`locals {`, "more = 1\n"},
		{"", "gate \"more\" {\n  benchmark = benchmark.b\n  assert {\n    condition = true\n    error_message = \"no\"\n  }\n}\n"},
		{"", "report \"github\" \"pr\" {\n}\n"}, {"", "variable \"new\" {\n  default = 1\n}\n"},
	} {
		i := strings.Index(src, added.after) + len(added.after)
		out = append(out, mutant{"new " + added.text, src[:i] + "\n" + added.text + src[i:]})
	}
	slices.SortFunc(out, func(a, b mutant) int { return strings.Compare(a.name, b.name) })
	return out
}

// otherValues are what a hostile change could write in the place of an expression.
func otherValues(expr string) []string {
	out := []string{"null", "0", "1000000", `"0%"`, `"90%"`, `""`}
	for _, swap := range [][2]string{
		{"base", "head"}, {"head", "base"}, {"fail", "ignore"}, {"fail", "warn"}, {"false", "true"}, {"paired_t", "mann_whitney"},
		{"matrix.side", `"base"`}, {"matrix.side", `"head"`},
		{"server.vllm.sut[matrix.side]", "server.vllm.other"}, {"random.short", "random.shorter"}, {"benchmark.b", "benchmark.c"},
		{"matrix.rate < 30", "false"}, {"> 30", "> 10"}, {"> 30", "< 30"}, {"metric.e2el.p50, metric.tpot.mean",
			"metric.request_throughput.value"}, {"metric.e2el.p50, metric.tpot.mean", "metric.ttft.p50"},
		{"each.value", `"0%"`}, {"each.value", `"1%"`}, {"var.slowdown", `"0%"`}, {"var.slowdown", "var.margin"}, {"25%", "0%"}, {"0%", "25%"},
		{"each.key", `"base"`},
		{"20, 40", "1"}, {"[", "[\"more\", "}, {"tiny", "Qwen/Qwen3-0.6B"}, {"fast", "h100"}, {"local.requests", "1"}, {"4", "2"},
	} {
		if changed := strings.Replace(expr, swap[0], swap[1], 1); changed != expr {
			out = append(out, changed)
		}
	}
	return out
}

// baseJudge judges a file by another one, in virtual time. Files that come to the same plan for
// the same servers are run once: a session in virtual time is a function of both.
type baseJudge struct {
	t     *testing.T
	dir   string
	codes map[string]int // exit statuses of plans
	runs  int
}

func newBaseJudge(t *testing.T, base string) *baseJudge {
	t.Helper()
	j := &baseJudge{t: t, dir: t.TempDir(), codes: map[string]int{}}
	j.write("base.pipeline.hcl", base)
	return j
}

func (j *baseJudge) write(name, text string) {
	j.t.Helper()
	if err := os.WriteFile(filepath.Join(j.dir, name), []byte(text), 0o600); err != nil {
		j.t.Fatal(err)
	}
}

// app with what it prints.
func (j *baseJudge) app() (*app, *bytes.Buffer) {
	var said bytes.Buffer
	streams := Streams{
		In: strings.NewReader(""), Out: io.Discard, Err: &said, Log: &said, Getenv: func(string) string { return "" },
		Environ: func() []string { return nil },
		Width:   func() int { return 0 }, OutWidth: func() int { return 0 },
	}
	a := newApp(streams) // with the tables of the program
	a.noColor, a.Streams = true, streams
	return a, &said
}

// judge returns the exit status of a run of a head's file, and what it says.
func (j *baseJudge) judge(head string, flags ...string) (code int, printed string) {
	j.t.Helper()
	j.write("head.pipeline.hcl", head)
	planned, said := j.planned(flags)
	if code, known := j.codes[planned]; known && planned != "" {
		return code, said
	}
	j.runs++
	a, out := j.app()
	dir := filepath.Join(j.dir, fmt.Sprint("out-", j.runs))
	args := append([]string{"run", "--simulate=virtual", "--progress", "quiet", "--out", dir, "--gate-source", "base", "--base-file",
		filepath.Join(j.dir, "base.pipeline.hcl")}, flags...)
	code = a.runAs(j.t.Context(), append(args, filepath.Join(j.dir, "head.pipeline.hcl")))
	if planned != "" {
		j.codes[planned] = code
	}
	text, _ := os.ReadFile(filepath.Join(dir, "report.md")) // there is none where the run is refused
	return code, out.String() + string(text)
}

// planned is everything that a session in virtual time depends on, "" where the file is
// refused, with the notes on what has no effect.
func (j *baseJudge) planned(flags []string) (text, notes string) {
	j.t.Helper()
	a, _ := j.app()
	var config configFlags
	for i, f := range flags {
		if f == "--var" {
			config.vars = append(config.vars, flags[i+1])
		}
	}
	path := filepath.Join(j.dir, "head.pipeline.hcl")
	cfg, diags, err := a.read(config, []string{path})
	if err != nil || diags.HasErrors() {
		return "", ""
	}
	by, err := a.judgedBy(sourceFlags{base: filepath.Join(j.dir, "base.pipeline.hcl"), source: gatesOfBase}, config, cfg)
	if err != nil {
		return "", ""
	}
	p, err := a.plan(by.Config, planFlags{simulate: "virtual", timeScale: 1}, []string{path})
	if err != nil {
		return "", ""
	}
	for i := range p.Gates {
		p.Gates[i].Range = result.Range{}
	}
	for i := range p.Targets {
		p.Targets[i].Range = result.Range{}
	}
	var servers []steps.ServerSpec
	for _, s := range by.Servers {
		servers = append(servers, s.Spec)
	}
	whole, err := json.Marshal(struct {
		Plan    *plan.Plan
		Servers []steps.ServerSpec
	}{p, servers})
	if err != nil {
		j.t.Fatal(err)
	}
	return string(whole), strings.Join(by.notes, "\n")
}

// sameGate are mutants whose gates mean what they meant: they write a default, or less.
var sameGate = []string{
	"gate.latency.on_regression = null (0)", "gate.latency.strict = null (0)", "gate.latency.test = null (0)",
	"no gate.latency.on_regression", "no gate.latency.strict", "no gate.latency.test", "no gate.latency.where",
}

// TestChangeCannotJudgeItself: whatever a change does to its own file, a head that is 25 %
// slower stays red, or is refused, where the file of the base judges. Whatever it does
// without effect is reported.
func TestChangeCannotJudgeItself(t *testing.T) {
	j := newBaseJudge(t, judgedFile)
	if code, out := j.judge(judgedFile); code != exitRegression {
		t.Fatalf("the file itself: exit status %d\n%s", code, out)
	}
	least, step := 25, 4
	if *full {
		least, step = 100, 1
	}
	judged, refused := 0, 0
	for i, m := range mutants(t, judgedFile) {
		if i%step != 0 {
			continue
		}
		switch code, out := j.judge(m.text); code {
		case exitRegression:
			judged++
			if told := strings.Contains(out, "the file before the change judges"); !told && !slices.Contains(sameGate, m.name) {
				t.Errorf("%s: nothing is told", m.name)
			}
		case exitUsage:
			refused++
		default:
			t.Errorf("%s: exit status %d\n%s", m.name, code, out)
		}
	}
	if judged < least || refused < least {
		t.Errorf("%d mutants were judged and %d refused: the test shows little", judged, refused)
	}
}

// TestHeadSays: what a change may say in a file that does not judge it: what its own server
// is, and the values of variables that reach only that.
func TestHeadSays(t *testing.T) {
	even := strings.Replace(judgedFile, `default = "25%"`, `default = "0%"`, 1)
	tests := []struct {
		name, base, old, new string
		flags                []string
		want                 int
		told                 string
	}{
		{"nothing", even, "", "", nil, exitOK, ""},
		{"a planted slow-down", even, `default = "0%"`, `default = "25%"`, nil, exitRegression,
			"var.slowdown default: 0% before the change, 25% now"},
		{"a variable of the job", even, "", "", []string{"--var", "slowdown=25%"}, exitRegression, ""},
		{"a margin of the job", judgedFile, "", "", []string{"--var", "margin=80%"}, exitOK, ""},
		{"a margin of its own", judgedFile, `default = "5%"`, `default = "80%"`, nil, exitRegression,
			"var.margin default: 5% before the change, 80% now"},
		{"a variable that the base does not have", judgedFile, "locals {", "variable \"more\" {}\nlocals {", []string{"--var", "more=1"},
			exitRegression, "var.more new"},
		{"arguments", even, "max_num_seqs = 64", "max_num_seqs = 1", nil, exitRegression, "server.vllm.sut args"},
		{"an executable", even, `executable = "vllm"`, `executable = "vllm-new"`, nil, exitOK, "server.vllm.common executable"},
		{"what made it differ", even, "BUILD = each.key", `BUILD = "base"`, nil, exitUsage, "from which it differed"},
		{"another model", even, `model      = "tiny"`, `model = "tinier"`, nil, exitUsage, "another model"},
		{"more GPUs", even, "gpus     = 1", "gpus = 2", nil, exitUsage, "another gpus"},
		{"more GPUs by an argument", strings.Replace(even, "  gpus     = 1\n", "", 1), "max_num_seqs = 64", "tensor-parallel-size = 2", nil,
			exitUsage, "another tensor_parallel_size"},
		{"a smaller model by an argument", even, "max_num_seqs = 64", "hf_overrides = { num_hidden_layers = 1 }", nil, exitUsage,
			"another hf_overrides"},
		{"a smaller model by a key of an argument", even, "max_num_seqs = 64", "\"hf_overrides.num_hidden_layers\" = 1", nil, exitUsage,
			"another hf_overrides"},
		{"a smaller model by an abbreviation", even, "max_num_seqs = 64", "hf_over = jsonencode({ num_hidden_layers = 1 })", nil, exitUsage,
			"another hf_overrides"},
		{"another source of the model", even, "BUILD = each.key", `BUILD = each.key, HF_ENDPOINT = "http://127.0.0.1:1"`, nil, exitUsage,
			"another HF_ENDPOINT"},
		{"another GPU", even, "BUILD = each.key", `BUILD = each.key, CUDA_VISIBLE_DEVICES = "1"`, nil, exitUsage, "another CUDA_VISIBLE_DEVICES"},
		{"a gate less", judgedFile, `gate "latency"`, `gate "other"`, nil, exitRegression, "gate.latency removed"},
	}
	for _, tt := range tests {
		j := newBaseJudge(t, tt.base)
		code, out := j.judge(strings.Replace(tt.base, tt.old, tt.new, 1), tt.flags...)
		if code != tt.want || !strings.Contains(out, tt.told) {
			t.Errorf("%s: exit status %d, want %d with %q:\n%s", tt.name, code, tt.want, tt.told, out[:min(len(out), 3000)])
		}
	}
}

// TestChangeBringsItsOwnHistory: a stored baseline is not read from the checkout of the
// change, and neither is a file of variables.
func TestChangeBringsItsOwnHistory(t *testing.T) {
	j := newBaseJudge(t, strings.Replace(judgedFile, "baseline \"paired\" \"base\" {\n  axis  = \"side\"\n  value = \"base\"\n}",
		"baseline \"stored\" \"base\" {\n}", 1))
	a, out := j.app()
	head := filepath.Join(j.dir, "base.pipeline.hcl")
	args := []string{"run", "--simulate=virtual", "--out", filepath.Join(j.dir, "out"), "--gate-source", "base", "--base-file", head, head}
	text, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	j.write("base.pipeline.hcl", strings.ReplaceAll(string(text), "baseline.paired", "baseline.stored"))
	if code := a.runAs(t.Context(), args); code != exitUsage || !strings.Contains(out.String(), "could write its own sessions") {
		t.Errorf("exit status %d: %s", code, out)
	}
	files, err := baseVarFiles([]string{filepath.Join(j.dir, "ci", "x.tfvars"), "/etc/job.tfvars"}, j.dir, "/base")
	if want := []string{"/base/ci/x.tfvars", "/etc/job.tfvars"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("%q, %v; want %q", files, err, want)
	}
	if _, err := baseVarFiles([]string{"../x.tfvars"}, j.dir, "/base"); err == nil {
		t.Error("a relative file outside of the folder is taken")
	}
}
