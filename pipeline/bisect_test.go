package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBisectExample: the example finds, in virtual time, the first commit of a repository, since
// its simulated servers are slower in every build but that of the good end.
func TestBisectExample(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "examples", "bisect", "bisect.pipeline.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bisect.pipeline.hcl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=n@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "--quiet")
	for _, subject := range []string{"Begin", "First", "Second", "Third"} {
		git("commit", "--quiet", "--allow-empty", "-m", subject)
	}
	out, code := pipeline(t, dir, "bisect", "bisect.pipeline.hcl", "--simulate=virtual", "--good", "HEAD~3", "--bad", "HEAD", "--var", `build=["true"]`)
	if code != 1 || !strings.Contains(out, "First") || strings.Contains(out, "Second  ") {
		t.Errorf("exit status %d: %s", code, out)
	}
}
