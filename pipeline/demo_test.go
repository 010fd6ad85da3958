package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
)

// TestDemo runs what `make demo` runs, and holds that the README shows what it prints. The
// demo is in virtual time, so it does not depend on what else the machine does.
func TestDemo(t *testing.T) {
	args := demoCommand(t, "demo")
	if !strings.Contains(strings.Join(args, " "), "--simulate=virtual") {
		t.Fatalf("make demo runs %q, which takes real time", args)
	}
	out := filepath.Join(t.TempDir(), "demo")
	for i := range args {
		args[i] = strings.Replace(args[i], "out/demo", out, 1)
	}
	text, code := pipeline(t, "..", append(args, "--progress", "quiet")...)
	if code != 1 {
		t.Fatalf("exit status %d, want 1:\n%s", code, text)
	}
	text = strings.ReplaceAll(text, out, "out/demo")
	var shown strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		shown.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	const first, last = "    Virtual time: ", "    page: out/demo/report.html\n"
	start, end := strings.Index(string(readme), first), strings.Index(string(readme), last)
	if start < 0 || end < start {
		t.Fatalf("the README shows no run from %q to %q", first, last)
	}
	want := string(readme[start : end+len(last)])
	if golden.Updating() && want != shown.String() {
		changed := string(readme[:start]) + shown.String() + string(readme[end+len(last):])
		if err := os.WriteFile("../README.md", []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		want = shown.String()
	}
	if diff := cmp.Diff(want, shown.String()); diff != "" {
		t.Errorf("the README shows another run (-README +demo); go test ./pipeline -run TestDemo -update rewrites it:\n%s", diff)
	}
}

// demoCommand is the command line of a demo of the Makefile, without the program.
func demoCommand(t *testing.T, target string) []string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "make", "-C", "..", "--no-print-directory", "-n", target).CombinedOutput()
	if err != nil {
		t.Skipf("make: %v: %s", err, text)
	}
	for line := range strings.Lines(string(text)) {
		if _, run, ok := strings.Cut(line, "bin/pipeline run "); ok {
			command, _, _ := strings.Cut(run, ";")
			return append([]string{"run"}, strings.Fields(command)...)
		}
	}
	t.Fatalf("make "+target+" runs no pipeline:\n%s", text)
	return nil
}
