package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pagesStep returns the script of the step that publishes the pages of the history, with simulated sessions among them.
func pagesStep(t *testing.T) string {
	t.Helper()
	_, step, found := strings.Cut(shownFile(t, "nightly.yml"), "- name: Pages\n")
	_, step, run := strings.Cut(step, "        run: |\n")
	if !found || !run {
		t.Fatal("nightly.yml has no step Pages")
	}
	var script strings.Builder
	for line := range strings.Lines(step) {
		text, inside := strings.CutPrefix(line, "          ")
		if !inside {
			break
		}
		script.WriteString(text)
	}
	out := strings.Replace(script.String(), "pipeline site --out", "pipeline site --simulated --out", 1)
	if out == script.String() || !strings.Contains(out, "git push --force origin") {
		t.Fatalf("the step is another one:\n%s", out)
	}
	return out
}

// TestNightlyPages runs the step of the nightly workflow that publishes the pages, twice, against a bare repository: the
// branch has one commit with the pages alone, and keeps the report of the night before.
func TestNightlyPages(t *testing.T) {
	for _, program := range []string{"git", "bash", "base64"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	t.Parallel()
	dir := t.TempDir()
	script := pagesStep(t)
	path, err := exec.LookPath("pipeline")
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+dir, "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"), "GITHUB_TOKEN=token",
		"GITHUB_SERVER_URL=https://github.com", "PIPELINE_HISTORY=git:origin#pipeline-history", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=a@a", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=a@a", "USER=ann")
	do := func(in string, words ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...) //nolint:gosec // words of this test
		cmd.Dir, cmd.Env = filepath.Join(dir, in), env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	do("", "git", "init", "-q", "--bare", "-b", "main", "origin.git")
	do("", "git", "init", "-q", "-b", "main", "code")
	if err := os.WriteFile(filepath.Join(dir, "code", "gate.pipeline.hcl"), []byte(shownFile(t, "gate.pipeline.hcl")), 0o600); err != nil {
		t.Fatal(err)
	}
	do("code", "git", "add", "gate.pipeline.hcl")
	do("code", "git", "commit", "-q", "-m", "code")
	do("code", "git", "push", "-q", "../origin.git", "main")
	for _, night := range []string{"one", "two"} {
		do("", "git", "clone", "-q", "--depth=1", "file://"+dir+"/origin.git", night)
		do(night, "pipeline", "run", "gate.pipeline.hcl", "--simulate=virtual", "--var", "requests=20", "--var", "repeats=4", "--progress",
			"quiet", "--out", "pipeline-results/first")
		do(night, "pipeline", "baseline", "save", "pipeline-results/first")
		do(night, "bash", "-e", "-o", "pipefail", "-c", script)
	}
	if parents := do("origin.git", "git", "rev-list", "--count", "gh-pages"); parents != "1" {
		t.Errorf("%s commits", parents)
	}
	files := do("origin.git", "git", "ls-tree", "-r", "--name-only", "gh-pages")
	for _, want := range []string{".nojekyll", "index.html", "gates.html", "runs.html", "machines.html"} {
		if !strings.Contains("\n"+files+"\n", "\n"+want+"\n") {
			t.Errorf("no %s among\n%s", want, files)
		}
	}
	if n := strings.Count(files, "/report.html"); n != 2 || strings.Contains(files, ".hcl") {
		t.Errorf("%d reports, want 2:\n%s", n, files)
	}
	if runs := do("origin.git", "git", "show", "gh-pages:runs.html"); !strings.Contains(runs, "2 runs") {
		t.Errorf("the page of the runs:\n%s", runs)
	}
	if main := do("origin.git", "git", "ls-tree", "-r", "--name-only", "main"); main != "gate.pipeline.hcl" {
		t.Errorf("main has %s", main)
	}
}
