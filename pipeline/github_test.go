package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/github/githubtest"
)

const headSHA = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"

// gate is a real run: two sides whose servers are this program's simulator started as a real
// program. Its load generator is a script with figures of its own, so that neither time nor
// verdict depends on the machine.
var gate = gateOf(`
  driver "exec" {
    command = ["sh", "-c", "printf '{\"backend\":\"openai\",\"num_prompts\":40,\"completed\":40,\"failed\":0,\"duration\":2,\"total_input_tokens\":640,\"total_output_tokens\":320,\"median_e2el_ms\":%s00.%d}' $0 $(($1 % 10)) >$2", matrix.side == "base" ? "1" : "6", driver.seed, driver.output]
  }`, `differ = ["driver"]`)

// loadedGate is the same with requests of our own, so that its verdict depends on the machine.
var loadedGate = gateOf(ownLoad, "")

// ownLoad sends requests of our own, with limits that a busy machine keeps.
const ownLoad = `
  dataset = dataset.random.short
  load {
    rate     = 50
    requests = var.requests
  }
  limits {
    lag_p99    = "5s"
    rate_share = "1%"
  }`

func gateOf(measured, differ string) string {
	return `
variable "head_model" { default = "tiny" }
variable "token" {
  default   = "unset-unset"
  sensitive = true
}
variable "requests" { default = 20 }
server "vllm" "sut" {
  for_each   = { base = 1, head = 6 } # times slower
  executable = ["pipeline", "simulate", "--", "vllm"]
  model      = var.head_model
  ready { interval = "20ms" }
  env = {
    PIPELINE_SIMULATE = jsonencode({ profile = "fast", startup_seconds = 0.1, slowdown = each.value })
    API_TOKEN         = var.token
  }
}
dataset "random" "short" {
  input_len  = 64
  output_len = 16
}
benchmark "b" {
  matrix { side = ["base", "head"] }
  target = server.vllm.sut[matrix.side]` + measured + `
  repeat { min = 3 }
}
baseline "paired" "base" {
  axis  = "side"
  value = "base"
  ` + differ + `
}
gate "latency" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.p50]
  margin    = "30%"
}
report "github" "pr" {
  status = "pipeline/status"
}
report "file" "all" {
  formats = ["html", "junit", "csv"]
}
`
}

// lineOfGate is the line of a file on which its gate begins.
func lineOfGate(file string) int {
	return 1 + strings.Count(file[:strings.Index(file, `gate "latency"`)], "\n")
}

// job is the environment of a GitHub job on a pull request, at a fake GitHub.
type job struct {
	dir  string
	hub  *githubtest.Server
	env  []string
	args []string
}

func newJob(t *testing.T, args ...string) *job {
	t.Helper()
	j := &job{dir: t.TempDir(), hub: githubtest.New(), args: args}
	t.Cleanup(j.hub.Close)
	j.hub.AddPullRequest(githubtest.PullRequest{Number: 7, HeadSHA: headSHA, HeadRepo: "o/r", HeadBranch: "fix"})
	j.hub.SetFiles("gate.pipeline.hcl")
	j.write(t, "gate.pipeline.hcl", gate)
	j.write(t, "event.json", `{"number":7,"pull_request":{"number":7,"head":{"sha":"`+headSHA+`","ref":"fix","repo":{"full_name":"o/r"}}}}`)
	j.env = append(os.Environ(),
		"HOME="+j.dir, "NO_COLOR=1", "GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=pull_request", "GITHUB_EVENT_PATH="+
			filepath.Join(j.dir, "event.json"),
		"GITHUB_REPOSITORY=o/r", "GITHUB_RUN_ID=8123", "GITHUB_RUN_ATTEMPT=1", "GITHUB_API_URL="+j.hub.URL, "GITHUB_TOKEN="+githubtest.Token,
		"GITHUB_STEP_SUMMARY="+filepath.Join(j.dir, "summary.md"), "GITHUB_OUTPUT="+filepath.Join(j.dir, "output"), "RUNNER_TEMP="+j.dir,
		"PIPELINE_ACTION_FILE=gate.pipeline.hcl", "PIPELINE_ACTION_RESULTS=results",
	)
	return j
}

func (j *job) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(j.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// command is one of the program's, with what it prints.
func (j *job) command(t *testing.T, env []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	path, err := exec.LookPath("pipeline")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = j.dir, append(j.env, env...), &out, &out
	return cmd, &out
}

// run runs a command and demands its exit status.
func (j *job) run(t *testing.T, want int, env []string, args ...string) string {
	t.Helper()
	cmd, out := j.command(t, env, args...)
	if got := exitStatus(t, cmd.Run()); got != want {
		t.Fatalf("exit status %d, want %d:\n%s", got, want, out)
	}
	return out.String()
}

func exitStatus(tb testing.TB, err error) int {
	tb.Helper()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return 0
}

func (j *job) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPullRequestGetsTheResult: a real run in a job posts everything on its pull request, its
// outputs agree, and no secret of the environment is in any of it.
func TestPullRequestGetsTheResult(t *testing.T) {
	const canary = "hf_Canary|*+/0123456789<&>"
	const second = "second-canary-of-the-file"
	j := newJob(t)
	// Requests of our own are sent, too, and judged by no gate: how long they take depends on the machine.
	file := gate + `
benchmark "own" {
  matrix { side = ["base", "head"] }
  target = server.vllm.sut[matrix.side]` + ownLoad + `
  repeat { min = 3 }
}
`
	j.write(t, "gate.pipeline.hcl", file)
	// The secret gets into a model name, and with it into logs, error bodies and metrics.
	printed := j.run(t, 1, []string{"HF_TOKEN=" + canary, "PIPELINE_VAR_token=" + second, "PIPELINE_VAR_head_model=org/" + canary}, "action")

	comments := j.hub.Comments()
	if len(comments) != 1 {
		t.Fatalf("%d comments:\n%s", len(comments), printed)
	}
	checks, statuses := j.hub.Checks(), j.hub.Statuses()
	if len(checks) != 1 || checks[0].Conclusion != "failure" || checks[0].Name != "pipeline/pr" || len(checks[0].Annotations) != 1 {
		t.Fatalf("%+v", checks)
	}
	if a := checks[0].Annotations[0]; a.Path != "gate.pipeline.hcl" || a.Start != lineOfGate(file) {
		t.Errorf("annotation %+v", a)
	}
	if len(statuses) != 2 || statuses[0].State != "pending" || statuses[1].State != "failure" {
		t.Errorf("%+v", statuses)
	}
	output := j.read(t, "output")
	for _, part := range []string{"\nregression\n", "\n1\n", `[{"gate":"gate.latency","verdict":"regression","fails":true}]`,
		"#issuecomment-", "/runs/"} {
		if !strings.Contains(output, part) {
			t.Errorf("%q is not in the outputs:\n%s", part, output)
		}
	}
	for _, part := range []string{"1 gate regressed", "changes what judges it: `gate.pipeline.hcl`"} {
		if !strings.Contains(comments[0].Body, part) {
			t.Errorf("%q is not in the comment:\n%s", part, comments[0].Body)
		}
	}

	texts := map[string]string{"stdout and stderr": printed, "comment": comments[0].Body}
	sent, err := json.Marshal([]any{checks, checks[0].Summary, checks[0].Annotations, statuses})
	if err != nil {
		t.Fatal(err)
	}
	texts["check"] = string(sent)
	readAll(t, j.dir, texts)
	if !strings.Contains(texts["file results/results.json"], "org/(redacted)") {
		t.Error("the model's name, of which the secret is a part, is not in the results")
	}
	for name, text := range texts {
		for _, secret := range []string{canary, second, `hf_Canary|*+/0123456789\u003c\u0026\u003e`, "hf_Canary%7C%2A%2B%2F0123456789",
			"Canary&#124;&#42;", "Canary|*", `Canary\|`, "hf_Canary|*+/0123456789&lt;&amp;&gt;"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds the secret as %q", name, secret)
			}
		}
	}
}

// TestLoosenedGates: what a pull request does to its own gates is said, and does not help it
// where those of the base judge.
func TestLoosenedGates(t *testing.T) {
	t.Parallel()
	j := newJob(t)
	j.write(t, "base.pipeline.hcl", gate)
	j.write(t, "gate.pipeline.hcl", strings.Replace(gate, `margin    = "30%"`, "margin    = \"90%\"\n  on_regression = \"warn\"", 1))
	j.env = append(j.env, "PIPELINE_ACTION_BASE_FILE=base.pipeline.hcl")
	const changes = "changes the gates that judge it: `gate.latency` margin `30 %` → `90 %`, `gate.latency` on_regression `fail` → `warn`."
	for source, want := range map[string]int{"head": 0, "base": 1} {
		j.run(t, want, []string{"PIPELINE_ACTION_GATE_SOURCE=" + source, "PIPELINE_ACTION_RESULTS=" + source}, "action")
		c := j.hub.Comments()
		if len(c) != 1 || !strings.Contains(c[0].Body, changes) ||
			strings.Contains(c[0].Body, "The file of the base judged") != (source == "base") {
			t.Errorf("%s: %+v", source, c)
		}
	}
	if out := j.run(t, 3, nil, "run", "--out", "x", "--base-file", "none.pipeline.hcl", "--gate-source=base",
		"gate.pipeline.hcl"); !strings.Contains(out, "the pipeline before the change cannot be") {
		t.Error(out)
	}
}

// TestCommentOffersTheSearch: where the file can be searched with, the comment on a regression has
// the command with both ends.
func TestCommentOffersTheSearch(t *testing.T) {
	t.Parallel()
	j := newJob(t)
	j.write(t, "gate.pipeline.hcl", `
pipeline {
  bisect {
    good      = "old"
    candidate = "new"
  }
}
variable "old" { default = "" }
variable "new" { default = "" }
`+gate)
	const base = "0123456789abcdef0123456789abcdef01234567"
	j.run(t, 1, []string{"PIPELINE_ACTION_BASE_COMMIT=" + base}, "action")
	c := j.hub.Comments()
	want := "pipeline bisect gate.pipeline.hcl --good " + base[:7] + " --bad " + headSHA[:7]
	if len(c) != 1 || !strings.Contains(c[0].Body, want) {
		t.Errorf("%q is not in %+v", want, c)
	}
}

// readAll reads every file below a folder, unpacking what is compressed.
func readAll(t *testing.T, dir string, into map[string]string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name := "file " + strings.TrimPrefix(path, dir+"/")
		if strings.HasSuffix(path, ".gz") {
			text, err := exec.CommandContext(t.Context(), "gzip", "-dc", path).Output()
			into[name] = string(text)
			return err
		}
		text, err := os.ReadFile(path)
		into[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// begin starts a long run and waits until its first requests are under way.
func (j *job) begin(t *testing.T) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	j.write(t, "gate.pipeline.hcl", loadedGate)
	cmd, out := j.command(t, []string{"PIPELINE_VAR_requests=6000"}, "action")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !within(time.Minute, 10*time.Millisecond, fileHolds(filepath.Join(j.dir, "results", "events.jsonl"), `"type":"run_start"`)) {
		t.Fatalf("no run has begun:\n%s", out)
	}
	return cmd, out
}

// TestRunnerCancels cancels a job as a GitHub runner does: SIGINT, after 7.5 s SIGTERM,
// after 2.5 s SIGKILL, to the step's first process alone.
func TestRunnerCancels(t *testing.T) {
	j := newJob(t)
	cmd, out := j.begin(t)
	j.cancel(t, cmd, out)
}

// TestRunnerCancelsAWait: a stopped server's GPU does not give its memory back, which would
// be waited for.
func TestRunnerCancelsAWait(t *testing.T) {
	t.Parallel()
	j := newJob(t)
	j.write(t, "gate.pipeline.hcl", strings.NewReplacer("  ready {", "  gpus = 1\n  ready {", "API_TOKEN",
		"CUDA_VISIBLE_DEVICES = \"0\"\n    API_TOKEN").Replace(loadedGate))
	// It notes each question for the memory of the GPU that is held.
	j.write(t, "nvidia-smi", `#!/bin/sh
memory=0
if grep -q '"type":"run_end"' "$NVIDIA_STATE/results/events.jsonl" 2>/dev/null; then memory=20000; fi
case "$1" in
--query-gpu=index,*clocks_event_reasons.active)
	echo "0, GPU-aaaa, NVIDIA H100 80GB HBM3, 580.82.07, 81559, $memory, 97, 1755, 1980, 2619, 682.41, 700.00, 61, Enabled, 0, Disabled, 0x0000000000000004"
	if [ "$memory" != 0 ]; then echo x >>"$NVIDIA_STATE/asked"; fi
	;;
--query-gpu=name,*) echo "NVIDIA H100 80GB HBM3, 81559, 580.82.07, 700.00, 1980, 5, 16, Disabled, Enabled, Enabled" ;;
--query-compute-apps=*) ;;
*) exit 2 ;;
esac
`)
	if err := os.Chmod(filepath.Join(j.dir, "nvidia-smi"), 0o755); err != nil {
		t.Fatal(err)
	}
	j.env = append(j.env, "NVIDIA_STATE="+j.dir, "PATH="+j.dir+":"+os.Getenv("PATH"), "PIPELINE_LOCK_DIR="+filepath.Join(j.dir, "locks"))
	cmd, out := j.command(t, nil, "action")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !within(time.Minute, 10*time.Millisecond, func() bool { return strings.Count(j.soFar("asked"), "x") >= 4 }) {
		t.Fatalf("the run does not wait:\n%s", out)
	}
	if text := j.soFar("results/events.jsonl"); strings.Count(text, `"type":"launch_start"`) != 1 {
		t.Errorf("the next launch has not waited:\n%s", text)
	}
	j.cancel(t, cmd, out)
}

// soFar is what a file holds by now, which may be nothing.
func (j *job) soFar(name string) string {
	text, _ := os.ReadFile(filepath.Join(j.dir, name))
	return string(text)
}

// cancel cancels a job as a runner does, and demands that it ends in time and leaves nothing.
func (j *job) cancel(t *testing.T, cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	sent := time.Now()
	var err error
cancel:
	for _, s := range []struct {
		signal os.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 7500 * time.Millisecond}, {syscall.SIGTERM, 2500 * time.Millisecond}, {syscall.SIGKILL, time.Minute}} {
		if err := cmd.Process.Signal(s.signal); err != nil {
			t.Fatal(err)
		}
		select {
		case err = <-done:
			break cancel
		// real time: a runner waits for a process no longer
		case <-time.After(s.wait):
		}
	}
	took := time.Since(sent)
	if got := exitStatus(t, err); got != 130 || took > 7*time.Second {
		t.Errorf("exit status %d after %v, want 130 within 7 s:\n%s", got, took, out)
	}
	if k := j.hub.Checks(); len(k) != 1 || k[0].Conclusion != "cancelled" {
		t.Errorf("checks %+v", k)
	}
	if n := len(j.hub.Comments()); n > 0 {
		t.Errorf("%d comments on an interrupted run", n)
	}
	if left := processes(j.dir); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// TestKilled: what a killed run could not do, the step that always runs does.
func TestKilled(t *testing.T) {
	j := newJob(t)
	cmd, _ := j.begin(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if k := j.hub.Checks(); len(k) != 1 || k[0].Status != "in_progress" {
		t.Fatalf("checks %+v", k)
	}
	j.run(t, 0, []string{"PIPELINE_ACTION_COMMAND=cleanup"}, "action")
	if k := j.hub.Checks(); len(k) != 1 || k[0].Conclusion != "cancelled" {
		t.Errorf("checks %+v", k)
	}
	if st := j.hub.Statuses(); len(st) != 2 || st[1].State != "error" {
		t.Errorf("statuses %+v", st)
	}
	if left := processes(j.dir); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// TestDeadGitHub: the verdict alone sets the exit status.
func TestDeadGitHub(t *testing.T) {
	t.Parallel()
	j := newJob(t)
	j.hub.FailAlways("POST check", githubtest.Forbidden)
	j.hub.FailAlways("POST status", githubtest.Fault{Status: http.StatusUnprocessableEntity})
	j.hub.FailAlways("POST comments", githubtest.NotFound)
	out := j.run(t, 1, nil, "action")
	for _, line := range []string{"add `checks: write`", "answered 422", "add `pull-requests: write`"} {
		if strings.Count(out, line) != 1 {
			t.Errorf("%q is said %d times:\n%s", line, strings.Count(out, line), out)
		}
	}
	if s := j.read(t, "summary.md"); !strings.Contains(s, "1 gate regressed") {
		t.Error("the step summary does not hold the report")
	}
}

// TestForkIsPublishedByAnotherJob: the job on the fork posts nothing, the one of workflow_run
// posts what it measured, and nothing that is not a result.
func TestForkIsPublishedByAnotherJob(t *testing.T) {
	t.Parallel()
	j := newJob(t)
	j.hub.AddPullRequest(githubtest.PullRequest{Number: 8, HeadSHA: headSHA, HeadRepo: "stranger/r", HeadBranch: "fix"})
	j.write(t, "event.json", `{"number":8,"pull_request":{"number":8,"head":{"sha":"`+headSHA+
		`","ref":"fix","repo":{"full_name":"stranger/r"}}}}`)
	out := j.run(t, 1, []string{"RUNNER_ENVIRONMENT=github-hosted"}, "action")
	for _, part := range []string{"comes from a fork",
		fmt.Sprintf("::error file=gate.pipeline.hcl,line=%d,endLine=%[1]d,title=gate.latency%%3A regression::regression: ", lineOfGate(gate))} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in:\n%s", part, out)
		}
	}
	if n := len(j.hub.Requests()); n > 0 {
		t.Fatalf("%d requests from a job without rights", n)
	}
	j.write(t, "event.json", `{"workflow_run":{"id":8123,"run_attempt":1,"name":"performance","head_sha":"`+headSHA+
		`","head_branch":"fix","head_repository":{"full_name":"stranger/r"}}}`)
	privileged := []string{"GITHUB_EVENT_NAME=workflow_run", "PIPELINE_ACTION_COMMAND=comment"}
	j.run(t, 0, privileged, "action")
	c := j.hub.Comments()
	if len(c) != 1 || c[0].Number != 8 || !strings.Contains(c[0].Body, "1 gate regressed") ||
		!strings.Contains(c[0].Body, "the figures are its own") {
		t.Fatalf("%+v", c)
	}
	before := len(j.hub.Requests())
	// Whoever wants to see the comment first sees the same, but for links and what is only known there.
	preview := j.run(t, 0, nil, "comment", "--dry-run", "--results", "results")
	for line := range strings.Lines(c[0].Body) {
		known := strings.ContainsAny(line, "[]") || strings.Contains(line, "<!--") || strings.Contains(line, "figures are its own") ||
			strings.Contains(line, "pipeline run")
		if line = strings.TrimSpace(line); !known && !strings.Contains(preview, line) {
			t.Errorf("the comment has %q, which is not in what --dry-run prints:\n%s", line, preview)
		}
	}
	for _, part := range []string{"check run: failure, status: failure, exit status of the run: 1", "annotation: gate.pipeline.hcl:"} {
		if !strings.Contains(preview, part) {
			t.Errorf("%q is not in what --dry-run prints:\n%s", part, preview)
		}
	}
	results := j.read(t, "results/results.json")
	for name, bad := range map[string]string{
		"no JSON": "<html>", "other schema": strings.Replace(results, "pipeline/result/1.0", "pipeline/result/9.0", 1),
		"deep": strings.Repeat("[", 100_000), "huge number": strings.Replace(results, `"alpha": 0.05`, `"alpha": 1e999`, 1),
		"unknown verdict": strings.Replace(results, `"verdict": "regression"`, `"verdict": "<b>"`, 1),
		"simulated":       strings.Replace(results, `"status": "complete"`, `"status": "complete", "simulated": "process"`, 1),
		"green over red": strings.Replace(strings.Replace(results, `"verdict": "regression"`, `"verdict": "pass"`, 1), `"exit_code": 1`,
			`"exit_code": 0`, 1),
		"all green": strings.NewReplacer(`"verdict": "regression"`, `"verdict": "pass"`, `"exit_code": 1`,
			`"exit_code": 0`).Replace(results),
		"a wide margin": strings.ReplaceAll(results, `"margin": 0.3`, `"margin": 30`),
	} {
		if bad == results {
			t.Fatalf("%s changes nothing", name)
		}
		j.write(t, "results/results.json", bad)
		j.run(t, 3, privileged, "action")
	}
	if err := errors.Join(os.Remove(filepath.Join(j.dir, "results", "results.json")),
		os.Symlink("../event.json", filepath.Join(j.dir, "results", "results.json"))); err != nil {
		t.Fatal(err)
	}
	if out := j.run(t, 3, privileged, "action"); !strings.Contains(out, "is not a regular file") {
		t.Error(out)
	}
	if n := len(j.hub.Requests()); n != before {
		t.Errorf("%d requests for what is no result", n-before)
	}
}

// TestCommands: a comment is carried out for those who can push, and no job fails for one that
// is not.
func TestCommands(t *testing.T) {
	j := newJob(t)
	j.hub.SetPermission("wim", "write")
	j.hub.AddRun(githubtest.WorkflowRun{ID: 8123, Attempt: 1, File: "performance-pull-request.yml", Event: "pull_request", SHA: headSHA,
		Status: "completed", Conclusion: "failure"})
	env := []string{"GITHUB_EVENT_NAME=issue_comment", "GITHUB_SHA=" + headSHA, "PIPELINE_ACTION_COMMAND=respond"}
	for _, tt := range []struct{ author, body, says string }{
		{"mallory", "/pipeline run", "mallory cannot write"}, {"wim", "/pipeline run please", "the comment must be one of"},
		{"wim", "/pipeline run", "goes again as attempt 2"},
	} {
		j.write(t, "event.json",
			fmt.Sprintf(`{"action":"created","issue":{"number":7,"pull_request":{}},"comment":{"id":5,"created_at":"2100-01-01T00:00:00Z",`+
				`"body":%q,"user":{"login":%q}}}`,
				tt.body, tt.author))
		if out := j.run(t, 0, env, "action"); !strings.Contains(out, tt.says) {
			t.Errorf("%s of %s: %s", tt.body, tt.author, out)
		}
	}
	if r := j.hub.Runs(); r[0].Attempt != 2 {
		t.Errorf("%+v", r)
	}
}

// TestSimulatedIsNotPosted: a simulated run is posted only on request.
func TestSimulatedIsNotPosted(t *testing.T) {
	j := newJob(t)
	j.write(t, "gate.pipeline.hcl", loadedGate)
	out := j.run(t, 0, []string{"PIPELINE_ACTION_ARGS=--simulate=virtual\n--fail-on=never"}, "action")
	if n := len(j.hub.Requests()); n > 0 || !strings.Contains(out, "the run is simulated") {
		t.Errorf("%d requests:\n%s", n, out)
	}
	j.run(t, 0, nil, "comment", "--results", "results", "--allow-simulated")
	if c := j.hub.Comments(); len(c) != 1 || !strings.Contains(c[0].Body, "Virtual time:") {
		t.Errorf("%+v", c)
	}
}

// TestServersDoNotCommandTheRunner: of what a server prints, and of the names in a file,
// the runner carries out nothing, on standard output and error alike.
func TestServersDoNotCommandTheRunner(t *testing.T) {
	j := newJob(t)
	j.write(t, "gate.pipeline.hcl", `
server "vllm" "sut" {
  executable = ["sh", "-c", "printf '::error::one\n \t::add-mask::e\nxx##[error]two\r::stop-commands::three\n'; printf '::warning::four\n' >&2; exit 1"]
  model      = "::set-output name=verdict::pass"
}
dataset "random" "short" {
  input_len  = 16
  output_len = 16
}
benchmark "b" {
  description = "::debug::a ##[debug]b"
  target      = server.vllm.sut
  dataset     = dataset.random.short
  load {
    rate     = 10
    requests = 20
  }
}
`)
	own := []string{"::group::last lines of the log", "::endgroup::", "::warning::"}
	for name, args := range map[string][]string{
		"lines":    {"run", "--progress", "plain", "--out", "a", "gate.pipeline.hcl"},
		"events":   {"run", "--json", "--out", "b", "gate.pipeline.hcl"},
		"no file":  {"run", "--out", "c", "::error::\n##[error]"},
		"bad flag": {"run", "--\r::error::x"},
		"plan":     {"plan", "--json", "gate.pipeline.hcl"},
	} {
		cmd, out := j.command(t, nil, args...)
		if code := exitStatus(t, cmd.Run()); (code == 0) != (name == "plan") {
			t.Errorf("%s: exit status %d:\n%s", name, code, out)
		}
		for line := range strings.FieldsFuncSeq(out.String(), func(r rune) bool { return r == '\n' || r == '\r' }) {
			ours := slices.ContainsFunc(own, func(s string) bool { return strings.HasPrefix(line, s) })
			if !ours && strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("%s: the runner would carry out %q", name, line)
			}
		}
		for _, word := range []string{"one", "add-mask", "three", "four"} { // what a carriage return overwrites is not shown
			if (name == "lines" || name == "events") && !strings.Contains(out.String(), word) {
				t.Errorf("%s: the word %q of the log is lost:\n%s", name, word, out)
			}
		}
	}
}
