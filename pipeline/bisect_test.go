package main_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/history"
)

// exampleIn copies the example of bisect into a new repository with a commit for each subject,
// and returns the commits.
func exampleIn(t *testing.T, dir string, subjects ...string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "examples", "bisect", "bisect.pipeline.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bisect.pipeline.hcl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=n@example.com"},
			args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("init", "--quiet")
	for _, subject := range subjects {
		git("commit", "--quiet", "--allow-empty", "-m", subject)
	}
	return strings.Fields(git("rev-list", "--reverse", "HEAD"))
}

// TestBisectExample: the example finds, in virtual time, the first commit of a repository, since
// its simulated servers are slower in every build but that of the good end.
func TestBisectExample(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exampleIn(t, dir, "Begin", "First", "Second", "Third")
	profiled(t, dir)
	out, code := pipeline(t, dir, "bisect", "bisect.pipeline.hcl", "--simulate=virtual", "--good", "HEAD~3", "--bad", "HEAD",
		"--var", `build=["true"]`)
	if code != 1 || !strings.Contains(out, "First") || strings.Contains(out, "Second  ") {
		t.Errorf("exit status %d: %s", code, out)
	}
	for _, path := range under(t, dir) {
		if strings.Contains(path, "profile-") {
			t.Errorf("a search profiles: %s", path)
		}
	}
}

// profiled has the example of a folder profile what regresses.
func profiled(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "bisect.pipeline.hcl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("pipeline {\n"), []byte("pipeline {\n  profile {}\n"), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// under lists everything below a folder.
func under(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		out = append(out, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNightlyBisect: a night in which a series regressed writes into its issue which commit it was,
// once.
func TestNightlyBisect(t *testing.T) {
	t.Parallel()
	j := nightly(t)
	var subjects []string
	for night := range 25 {
		subjects = append(subjects, fmt.Sprintf("Night %d", night))
	}
	commits := exampleIn(t, j.dir, subjects...)
	s, err := history.Open(t.Context(), filepath.Join(j.dir, "past"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for night, commit := range commits {
		level := 0.02 + 0.0001*float64(night%3)
		if night >= 20 {
			level *= 1.2
		}
		if _, err := history.Add(t.Context(), s, history.Record{
			ID: fmt.Sprintf("night-%03d", night), Kind: history.Session, Time: time.Date(2026, 8, 1, 2, 17, 0, 0, time.UTC).AddDate(0, 0, night),
			Simulated: "virtual",
			Source:    history.Source{Commit: commit, Branch: "main"}, Machine: map[string]string{"gpu_count": "1", "gpu_name": "NVIDIA H100"},
			Cells: []history.Cell{{Benchmark: "benchmark.serving", Hash: "c1", Label: "x=1", Runs: 5, Sent: 5000,
				Metrics: map[string]float64{"tpot.p50": level}}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	night := []string{"history", "issues", "--simulated", "--bisect", "bisect.pipeline.hcl", "--launches", "40"}
	env := []string{`PIPELINE_VAR_build=["true"]`}
	wants(t, j.ends(t, env, 0, append(night, "--dry-run")...), "would be opened")
	wants(t, j.ends(t, env, 0, night...), "opened: Performance regression", "searched: Performance regression", "from the history: --good "+
		commits[18][:12]+" --bad "+commits[21][:12])
	if out := j.ends(t, env, 0, night...); strings.Contains(out, "searched") {
		t.Errorf("it is searched for again: %s", out)
	}
	said := j.hub.Comments()
	if len(said) != 1 {
		t.Fatalf("%d comments", len(said))
	}
	// The example is slower in every build but that of the good end.
	wants(t, said[0].Body, "Which commit it was:", "by `"+commits[19][:10]+"`", "Night 19")
}
