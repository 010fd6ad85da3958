package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNothingIsPastedIntoScripts: what a pull request can write never becomes a part of a
// script, in our action, our workflows and those that users are given. And what an action
// starts last it becomes (exec), so that the runner's signals reach it.
func TestNothingIsPastedIntoScripts(t *testing.T) {
	files := []string{filepath.Join("..", "action.yml")}
	for _, pattern := range []string{"../.github/workflows/*.yml", "../examples/github/*.yml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %q, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range scripts(string(text)) {
			if strings.Contains(script, "${{") {
				t.Errorf("%s pastes into a script: %s", file, script)
			}
			if strings.HasSuffix(file, "action.yml") && strings.Contains(script, `pipeline" action`) && !strings.Contains(script, "exec ") {
				t.Errorf("%s starts the program without exec: %s", file, script)
			}
		}
	}
}

// TestActionsOfOthersArePinned: the workflows that users are given name actions of others
// by commit, not by a tag that can move.
func TestActionsOfOthersArePinned(t *testing.T) {
	files, err := filepath.Glob("../examples/github/*.yml")
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	pinned := regexp.MustCompile(`uses: [a-z-]+/[a-z-]+@[0-9a-f]{40} # v[0-9.]+`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "uses:") && !strings.Contains(line, "uses: servegate/pipeline@") && !pinned.MatchString(line) {
				t.Errorf("%s: %s is not pinned", file, strings.TrimSpace(line))
			}
		}
	}
}

// scripts are the values of every run key of a workflow.
func scripts(text string) []string {
	var out []string
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		rest := strings.TrimPrefix(strings.TrimSpace(line), "- ")
		if !strings.HasPrefix(rest, "run: ") {
			continue
		}
		indent := strings.Index(line, "run: ")
		end := slices.IndexFunc(lines[i+1:], func(l string) bool {
			return strings.TrimSpace(l) != "" && len(l)-len(strings.TrimLeft(l, " ")) <= indent
		})
		if end < 0 {
			end = len(lines) - i - 1
		}
		out = append(out, strings.TrimRight(strings.Join(lines[i:i+1+end], "\n"), "\n"))
	}
	return out
}

func TestScriptsAreFound(t *testing.T) {
	got := scripts("a:\n  - run: |\n      one ${{ x }}\n\n      two\n    env: x\n  - name: y\n    run: three\n")
	if len(got) != 2 || !strings.Contains(got[0], "two") || strings.Contains(got[0], "env") || got[1] != "    run: three" {
		t.Errorf("%q", got)
	}
}
