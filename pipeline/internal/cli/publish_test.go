package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// TestReproduction: a shell reads the command back as it was given.
func TestReproduction(t *testing.T) {
	var f runFlags
	f.config.vars = []string{"base=vllm:v1", "note=it's $(rm -rf /) `x` \"y\"", "empty="}
	f.plan.only, f.plan.repeat = []string{"rate=8", "chat *"}, 6
	got := reproduction(f, []string{"perf/gate.hcl"})
	words, ok := strings.CutPrefix(got, "pipeline run ")
	if !ok {
		t.Fatal(got)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s|' "+words).Output()
	want := "--var|base=vllm:v1|--var|note=it's $(rm -rf /) `x` \"y\"|--var|empty=|--only|rate=8|--only|chat *|--repeat|6|perf/gate.hcl|"
	if err != nil || string(out) != want {
		t.Errorf("%s\nis read as %s\nwant       %s", got, out, want)
	}
}
