package main_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/github/githubtest"
)

// TestAct runs the workflows of examples/github with act, a runner without GitHub: our own
// action.yml as its users call it, with the simulator, offline, and a fake GitHub.
func TestAct(t *testing.T) {
	if !*full && !slices.Contains(required(), "act") {
		t.Skip("needs act in PIPELINE_TEST_REQUIRE, or -full: it builds the program anew")
	}
	act, err := exec.LookPath("act")
	if err != nil {
		skipOrFail(t, "act", "act is not installed: go install github.com/nektos/act@v0.2.89")
	}
	w := newActRepo(t, act)
	hub := githubtest.New()
	defer hub.Close()
	base, head := w.commits(t)
	hub.AddPullRequest(githubtest.PullRequest{Number: 8, HeadSHA: head, HeadRepo: "stranger/r", HeadBranch: "fix"})
	hub.SetFiles("gate.pipeline.hcl")

	// A fork's, which is measured only after an approval. The rehearsal's head is six times
	// slower: the gate fails the job, and the steps that always run still do.
	w.write(t, "event.json", `{"number":8,"pull_request":{"number":8,"base":{"sha":"`+base+`"},"head":{"sha":"`+head+
		`","ref":"fix","repo":{"full_name":"stranger/r"}}}}`)
	out, code := w.run(t, hub, "pull_request", "pull-request.yml")
	if code != 0 || strings.Contains(out, "Run Main") {
		t.Fatalf("exit status %d: code of a fork runs without approval:\n%s", code, out)
	}
	out, code = w.run(t, hub, "pull_request", "pull-request.yml", "--var", "PIPELINE_FORKS=approved", "--var",
		"PIPELINE_ARGS=--simulate=virtual\n--var\nrehearsal=500%\n--var\nrequests=20\n--var\nrepeats=4")
	if code == 0 {
		t.Errorf("the job of a regression is green:\n%s", out)
	}
	for _, part := range []string{
		"1 gate regressed", "Virtual time", // the step summary
		"::set-output:: verdict=regression", "::set-output:: exit-code=1", "::set-output:: regressions=1",
		"the run is simulated", // why nothing is posted
		"Success - Main Clean up", "nothing is left",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in the log:\n%s", part, out)
		}
	}
	if n := len(hub.Requests()); n > 0 {
		t.Errorf("%d requests of a simulated run", n)
	}

	// The privileged workflow takes the artifact and comments on the pull request.
	w.write(t, "event.json", `{"workflow_run":{"id":8123,"run_attempt":1,"name":"performance","event":"pull_request","head_sha":"`+head+
		`","head_branch":"fix","head_repository":{"full_name":"stranger/r"}},"repository":{"full_name":"o/r"}}`)
	out, code = w.run(t, hub, "workflow_run", "comment.yml", "--var", "PIPELINE_COMMENT_ARGS=--allow-simulated")
	if code != 0 || !strings.Contains(out, "::set-output:: comment-url=https://github.com/o/r/pull/8#issuecomment-") {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	c := hub.Comments()
	if len(c) != 1 || c[0].Number != 8 || !strings.Contains(c[0].Body, "1 gate regressed") {
		t.Fatalf("%+v", c)
	}
	if strings.Contains(out, githubtest.Token) {
		t.Error("the token is in the log")
	}
}

// actRef is the commit of the action in the workflows.
const actRef = "0123456789abcdef0123456789abcdef01234567"

// actRepo is a checkout of a user's repository, with our action and stubs beside it.
type actRepo struct{ act, dir, bin, artifacts string }

// newActRepo lays out the files: the examples as `pipeline init --github` writes them,
// programs that the workflows call and this machine may lack, and actions of others.
func newActRepo(t *testing.T, act string) *actRepo {
	t.Helper()
	top := t.TempDir()
	w := &actRepo{act: act, dir: filepath.Join(top, "repo"), bin: filepath.Join(top, "bin"), artifacts: filepath.Join(top, "artifacts")}
	if out, code := pipeline(t, ".", "init", "--github", "--action-ref", actRef, w.dir); code != 0 {
		t.Fatal(out)
	}
	// act 0.2.89 does not know the newest key of concurrency.
	for _, name := range []string{"pull-request.yml", "comment.yml"} {
		file := filepath.Join(w.dir, ".github", "workflows", "performance-"+name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w.put(t, file, string(bytes.ReplaceAll(text, []byte("  queue: max\n"), nil)))
	}
	// Images are named by their hash, as docker build does it.
	w.put(t, filepath.Join(w.bin, "docker"), "#!/bin/sh\n[ \"$1\" = build ] && printf 'sha256:%064d' 1 > \"$3\"\n")
	stub := func(name, inputs, run string) {
		w.put(t, filepath.Join(top, name, "action.yml"), "name: stub\ninputs: {"+inputs+
			"}\nruns:\n  using: composite\n  steps:\n    - shell: bash\n      run: "+run+"\n")
	}
	stub("checkout", "ref: {}, fetch-depth: {}, persist-credentials: {}", "git clone -q "+w.dir+" .")
	stub("setup-go", "go-version: {}", "go version")
	stub("upload-artifact", "name: {}, path: {}, retention-days: {}, if-no-files-found: {}, overwrite: {}", "mkdir -p "+w.artifacts+
		" && cp -r pipeline-results/. "+w.artifacts)
	stub("download-artifact", "name: {}, run-id: {}, github-token: {}, path: {}", "mkdir -p untrusted && cp -r "+w.artifacts+"/. untrusted")
	return w
}

func (w *actRepo) put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (w *actRepo) write(t *testing.T, name, text string) {
	t.Helper()
	w.put(t, filepath.Join(filepath.Dir(w.dir), name), text)
}

// commits makes a history of two commits and returns their hashes.
func (w *actRepo) commits(t *testing.T) (base, head string) {
	t.Helper()
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Dir = w.dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("remote", "add", "origin", "https://github.com/o/r.git")
	git("add", "-A")
	git("commit", "-qm", "base")
	base = git("rev-parse", "HEAD")
	w.put(t, filepath.Join(w.dir, "server.py"), "# slower\n")
	git("add", "-A")
	git("commit", "-qm", "head")
	return base, git("rev-parse", "HEAD")
}

// run runs one workflow and returns its log and exit status.
func (w *actRepo) run(t *testing.T, hub *githubtest.Server, event, workflow string, args ...string) (string, int) {
	t.Helper()
	top := filepath.Dir(w.dir)
	ours, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	file := filepath.Join(".github", "workflows", "performance-"+workflow)
	args = append(args, w.stubs(t, file)...)
	cmd := exec.CommandContext(ctx, w.act, append([]string{
		event, "-W", file, "-e", filepath.Join(top, "event.json"),
		"-P", "ubuntu-latest=-self-hosted", "-P", "self-hosted=-self-hosted", "-P", "linux=-self-hosted", "-P", "gpu=-self-hosted",
		"-s", "GITHUB_TOKEN=" + githubtest.Token, "--env", "GITHUB_API_URL=" + hub.URL,
		"--env", "TMPDIR=" + t.TempDir(), // without what killed programs left, which the cleanup of the action removes
		"--local-repository", "servegate/pipeline@" + actRef + "=" + ours,
	}, args...)...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(top, "home"), "PATH="+w.bin+":"+os.Getenv("PATH"), "GOCACHE="+goEnv(t, "GOCACHE"),
		"GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	code := exitStatus(t, cmd.Run())
	return out.String(), code
}

// otherAction is an action of GitHub's own, pinned to a commit.
var otherAction = regexp.MustCompile(`uses: (actions/([a-z-]+)@[0-9a-f]{40})\b`)

// stubs are the flags that put our stubs in the place of the actions that a workflow uses.
func (w *actRepo) stubs(t *testing.T, workflow string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, workflow))
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	for _, m := range otherAction.FindAllStringSubmatch(string(text), -1) {
		flags = append(flags, "--local-repository", m[1]+"="+filepath.Join(filepath.Dir(w.dir), m[2]))
	}
	return flags
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
