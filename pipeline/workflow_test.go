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

// TestNothingIsPastedIntoScripts: what a pull request can write never becomes a part of a
// script, in our action, our workflows and those that users are given. And what an action
// starts last it becomes (exec), so that it gets the runner's signals.
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
				if regexp.MustCompile(`^\s*(- )?uses:`).MatchString(line) && !own && !pinned.MatchString(line) ||
					strings.Contains(line, "pipeline@main") {
					t.Errorf("%s: %s is not pinned", file, strings.TrimSpace(line))
				}
			}
		}
	}
}

// TestNotices: the licences of everything that a release links are in its archives.
func TestNotices(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", ".ci/notices")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"github.com/spf13/cobra v", "github.com/hashicorp/hcl/v2 v", "golang.org/x/sys v",
		"Mozilla Public License", "Apache License", "The Go Authors"} {
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

// step is the script of a named step of action.yml.
func step(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "- name: "+name+"\n")
	if !ok {
		t.Fatalf("there is no step %q", name)
	}
	_, script, ok := strings.Cut(scripts(rest)[0], "run: |\n")
	if !ok {
		t.Fatalf("step %q has no script", name)
	}
	return script
}

// TestActionInstalls: on a runner that lacks what the installation needs it says what to do,
// two uses in one job do not get in each other's way, and the program knows the ref that the
// action was named by.
func TestActionInstalls(t *testing.T) {
	script, temp := step(t, "Install pipeline"), t.TempDir()
	tools := filepath.Join(temp, "tools")
	link := func(name, target string) {
		t.Helper()
		if err := os.MkdirAll(tools, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"mktemp", "ln", "sed", "sh", "cat", "touch"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		link(name, path)
	}
	output := filepath.Join(temp, "output")
	install := func(want int, install, ref string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/bin/bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script)
		cmd.Dir = ".."
		cmd.Env = []string{"PATH=" + tools, "RUNNER_TEMP=" + temp, "GITHUB_OUTPUT=" + output, "PIPELINE_ACTION_INSTALL=" + install,
			"PIPELINE_ACTION_REF=" + ref}
		out, err := cmd.CombinedOutput()
		if got := exitStatus(t, err); got != want {
			t.Errorf("%s: exit status %d, want %d: %s", install, got, want, out)
		}
		return string(out)
	}
	for kind, hint := range map[string]string{"source": "actions/setup-go", "path": "there is none", "binary": "must be source or path"} {
		if out := install(3, kind, ""); !strings.HasPrefix(out, "::error") || !strings.Contains(out, hint) {
			t.Errorf("%s: %s", kind, out)
		}
	}
	// A go that notes how it is called.
	fake := filepath.Join(temp, "go")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\necho \"$*\" >> "+temp+"/calls\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	link("go", fake)
	link("pipeline", fake)
	install(0, "source", "v1.2.3")
	install(0, "source", "$(touch "+temp+"/pwned)")
	install(0, "path", "")
	install(0, "path", "")
	calls, err := os.ReadFile(filepath.Join(temp, "calls"))
	if err != nil || !strings.Contains(string(calls), "cli.version=v1.2.3 ") || strings.Contains(string(calls), "pwned") {
		t.Errorf("%s, %v", calls, err)
	}
	if _, err := os.Stat(filepath.Join(temp, "pwned")); err == nil {
		t.Error("the ref was carried out")
	}
	text, err := os.ReadFile(output)
	bins := strings.Fields(string(text))
	slices.Sort(bins)
	if err != nil || len(bins) != 4 || len(slices.Compact(bins)) != 4 {
		t.Errorf("%q, %v", bins, err)
	}
}
