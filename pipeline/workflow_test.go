package main

import (
	"os"
	"os/exec"
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

// TestActionsArePinned: every workflow, ours and those that users are given, names actions
// of others by commit, not by a tag that can move, and no branch of our own.
func TestActionsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`uses: [a-z-]+/[a-z/-]+@[0-9a-f]{40} # v[0-9.]+`)
	for _, pattern := range []string{"../.github/workflows/*.yml", "../examples/github/*.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 2 {
			t.Fatalf("%q, %v", files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				own := strings.Contains(line, "uses: servegate/pipeline@PIPELINE_REF")
				if regexp.MustCompile(`^\s*(- )?uses:`).MatchString(line) && !own && !pinned.MatchString(line) || strings.Contains(line, "pipeline@main") {
					t.Errorf("%s: %s is not pinned", file, strings.TrimSpace(line))
				}
			}
		}
	}
}

// TestNotices: the licences of everything that a release links are in its archives.
func TestNotices(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", ".ci/notices")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"github.com/spf13/cobra v", "github.com/hashicorp/hcl/v2 v", "golang.org/x/sys v", "Mozilla Public License", "Apache License", "The Go Authors"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("%q is not in the notices", part)
		}
	}
	if strings.Contains(string(out), "servegate/pipeline v") || strings.Contains(string(out), "pgregory.net/rapid") {
		t.Error("the notices name what a release does not link")
	}
	config, err := os.ReadFile("../.goreleaser.yaml")
	if err != nil || strings.Count(string(config), "THIRD_PARTY_NOTICES") != 2 {
		t.Errorf("archives do not hold the notices: %v", err)
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
