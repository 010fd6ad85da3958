package main

import (
	"path/filepath"
	"testing"
)

// TestFilesOfAB checks that the language takes every file that package ab writes in its tests, without a warning.
func TestFilesOfAB(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("internal", "ab", "testdata", "*.hcl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		if out, code := pipeline(t, ".", "fmt", "--check", "--diff", file); code != 0 {
			t.Errorf("%s is not formatted: %s", file, out)
		}
		if out, code := pipeline(t, ".", "validate", file); code != 0 {
			t.Errorf("%s is not valid: %s", file, out)
		}
	}
}
