package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExamplesAreWhatInitWrites: examples/github shows what users get.
func TestExamplesAreWhatInitWrites(t *testing.T) {
	own, err := filepath.Glob(filepath.Join("starter", "*"))
	if err != nil || len(own) != 5 {
		t.Fatalf("%q, %v", own, err)
	}
	for _, file := range own {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "github", filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-init +example):\n%s", file, diff)
		}
	}
}

// TestNothingIsOverwritten: not even a link that leads nowhere. What is missing is written.
func TestNothingIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	workflows := filepath.Join(dir, ".github", "workflows")
	if err := os.MkdirAll(workflows, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(workflows, "performance-comment.yml")); err != nil {
		t.Fatal(err)
	}
	if written, kept, err := writeStarters(dir, false, ""); err != nil || len(written) != 1 || len(kept) > 0 {
		t.Errorf("%q, %q, %v", written, kept, err)
	}
	if written, kept, err := writeStarters(dir, true, "v1"); err != nil || len(written) != 3 || len(kept) != 2 {
		t.Errorf("%q, %q, %v", written, kept, err)
	}
	if link, err := os.Readlink(filepath.Join(workflows, "performance-comment.yml")); err != nil || link != "nowhere" {
		t.Errorf("%q, %v", link, err)
	}
	if written, _, err := writeStarters(dir, true, ""); err == nil || len(written) > 0 {
		t.Errorf("the second time: %q, %v", written, err)
	}
}
