package main_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// namesOfWorkflows are words of docs/runner.md that must be those of the files that init writes.
var namesOfWorkflows = []string{"self-hosted, linux, gpu", "PIPELINE_FORKS", "HF_TOKEN", "hf_token", "hf-cache", "pipeline/gate"}

// TestRunnerPage follows docs/runner.md at a fake GitHub: its blocks are shell, the commands of this program do what
// it says, and the comment of the run is the one that was shown before.
func TestRunnerPage(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "docs", "runner.md")
	j := newJob(t)
	j.write(t, "gate.pipeline.hcl", "") // of other tests
	dir := filepath.Join(j.dir, "repo")
	var preview string
	for i, block := range shown(t, page, "sh") {
		cmd := exec.CommandContext(t.Context(), "sh", "-n")
		cmd.Stdin = strings.NewReader(block)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("block %d of the page is not shell: %v: %s", i+1, err, out)
		}
		for line := range strings.Lines(block) {
			words := strings.Fields(line)
			if len(words) == 0 || words[0] != "pipeline" {
				continue
			}
			want := []int{0}
			switch words[1] {
			case "run":
				want = []int{1}
			case "doctor": // of this machine
				want = []int{0, 4}
			case "init":
				words = append(words, dir)
			}
			in := dir
			if len(words) == 2 || words[1] == "init" { // before there is a checkout
				in = j.dir
			}
			out, code := pipeline(t, in, words[1:]...)
			if !slices.Contains(want, code) {
				t.Fatalf("%s: exit status %d:\n%s", strings.TrimSpace(line), code, out)
			}
			if words[1] == "comment" {
				preview = out
			}
		}
	}
	text := j.read(t, filepath.Join("repo", "gate.pipeline.hcl")) +
		j.read(t, filepath.Join("repo", ".github", "workflows", "performance-pull-request.yml"))
	for _, name := range namesOfWorkflows {
		if !strings.Contains(text, name) {
			t.Errorf("the page names %q, which is not in the files that init writes", name)
		}
	}
	heading := regexp.MustCompile(`(?m)^### .*$`)
	if !heading.MatchString(preview) {
		t.Fatalf("no comment was shown:\n%s", preview)
	}
	j.run(t, 0, nil, "comment", "--allow-simulated", "--results", filepath.Join("repo", "rehearsal"))
	comments := j.hub.Comments()
	if len(comments) != 1 || comments[0].Number != 7 || !strings.Contains(comments[0].Body, heading.FindString(preview)) {
		t.Errorf("shown was %q, posted %+v", heading.FindString(preview), comments)
	}
}
