package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFilesOfAB checks that the language takes every file that package ab writes in its tests, without a warning.
func TestFilesOfAB(t *testing.T) {
	t.Parallel()
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

var (
	// goesOn is the end of a line of a command that goes on in the next.
	goesOn  = regexp.MustCompile(`\\\n\s*`)
	shownAB = regexp.MustCompile(`(?m)^ {4}(?:bin/)?pipeline ab (.+)$`)
	// shellWord is a word of a shell that holds no quotes, or is quoted whole.
	shellWord = regexp.MustCompile(`'[^']*'|\S+`)
)

// TestPagesShowAB runs every comparison that the README and the guide show without its output: as they show it in virtual
// time, and otherwise up to its plan.
func TestPagesShowAB(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]int{filepath.Join("..", "README.md"): 2, filepath.Join("..", "docs", "ab.md"): 3} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := shownAB.FindAllStringSubmatch(goesOn.ReplaceAllString(string(text), ""), -1)
		if len(found) != want {
			t.Errorf("%s shows %d comparisons, want %d", page, len(found), want)
		}
		for _, m := range found {
			args := []string{"ab"}
			for _, w := range shellWord.FindAllString(m[1], -1) {
				args = append(args, strings.Trim(w, "'"))
			}
			status := 1
			if !slices.Contains(args, "--simulate=virtual") {
				args, status = append(args, "--dry-run"), 0
			}
			out, code := pipeline(t, builtTwice(t), append(args, "--progress", "quiet")...)
			if code != status {
				t.Errorf("%s: exit status %d:\n%s", m[0], code, out)
			}
		}
	}
}

// builtTwice makes a folder with two programs, a model, and a repository of two commits.
func builtTwice(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"llama-server-old", "llama-server-new", "model.gguf"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range []string{"init -q", "commit -q --allow-empty -m one", "commit -q --allow-empty -m two"} {
		git := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b.c"},
			strings.Fields(words)...)...)
		if out, err := git.CombinedOutput(); err != nil {
			t.Skipf("git %s: %v: %s", words, err, out)
		}
	}
	return dir
}
