package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
)

// examples lists the pipeline files that the repository shows.
func examples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "examples", "*", "*.pipeline.hcl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	return files
}

// TestExamples: every example has a README, is formatted, plans as its plan.txt says, and
// can be rehearsed as it is.
func TestExamples(t *testing.T) {
	t.Setenv("PIPELINE_HISTORY", filepath.Join(t.TempDir(), "none")) // what whoever tried an example has left is not read
	for _, file := range examples(t) {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			dir := filepath.Dir(file)
			if _, err := os.Stat(filepath.Join(dir, "README.md")); err != nil {
				t.Errorf("no README: %v", err)
			}
			if out, code := pipeline(t, dir, "fmt", "--check", filepath.Base(file)); code != 0 {
				t.Errorf("not formatted: %s", out)
			}
			got, code := pipeline(t, dir, "plan", filepath.Base(file))
			if code != 0 {
				t.Fatalf("plan: exit status %d: %s", code, got)
			}
			golden.Equal(t, filepath.Join(dir, "plan.txt"), got)
			rehearsal := "--simulate=virtual"
			if virtualExamples[filepath.Base(dir)].sockets {
				rehearsal = "--simulate"
			}
			if out, code := pipeline(t, dir, "plan", rehearsal, filepath.Base(file)); code != 0 {
				t.Errorf("plan %s: exit status %d: %s", rehearsal, code, out)
			}
		})
	}
}

// skipOrFail skips a test that lacks what it needs, unless PIPELINE_TEST_REQUIRE names it.
func skipOrFail(t *testing.T, need, why string) {
	t.Helper()
	if slices.Contains(required(), need) {
		t.Fatalf("%s is required: %s", need, why)
	}
	t.Skipf("needs %s: %s", need, why)
}

// required are the words of PIPELINE_TEST_REQUIRE, separated by commas or spaces.
func required() []string {
	return strings.FieldsFunc(os.Getenv("PIPELINE_TEST_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' })
}

// inCI reports whether something is required, as CI does: then each kind of failure is played once.
func inCI() bool { return len(required()) > 0 }

// pipeline runs the program in a folder and returns its output and exit status.
func pipeline(tb testing.TB, dir string, args ...string) (string, int) {
	tb.Helper()
	path, err := exec.LookPath("pipeline") // TestMain puts it there
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), path, args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), exitStatus(tb, err)
}
