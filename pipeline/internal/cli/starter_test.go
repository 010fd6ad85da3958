package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestExamplesAreWhatInitWrites: examples/github shows what users get.
func TestExamplesAreWhatInitWrites(t *testing.T) {
	own, err := filepath.Glob(filepath.Join("starter", "*"))
	if err != nil || len(own) != 7 {
		t.Fatalf("%q, %v", own, err)
	}
	for _, file := range own {
		if name := filepath.Base(file); name == "gitlab.yml" || name == "buildkite.yml" {
			continue // their service is not GitHub
		}
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
	if written, kept, err := writeStarters(dir, nil, ""); err != nil || len(written) != 1 || len(kept) > 0 {
		t.Errorf("%q, %q, %v", written, kept, err)
	}
	if written, kept, err := writeStarters(dir, allStarters()[:1], "v1"); err != nil || len(written) != 3 || len(kept) != 2 {
		t.Errorf("%q, %q, %v", written, kept, err)
	}
	if link, err := os.Readlink(filepath.Join(workflows, "performance-comment.yml")); err != nil || link != "nowhere" {
		t.Errorf("%q, %v", link, err)
	}
	if written, _, err := writeStarters(dir, allStarters()[:1], ""); err == nil || len(written) > 0 {
		t.Errorf("the second time: %q, %v", written, err)
	}
}

// TestOtherServices: the files for other services are YAML, name this program by its release, and use formats, flags and
// exit codes that exist.
func TestOtherServices(t *testing.T) {
	dir := t.TempDir()
	written, _, err := writeStarters(dir, allStarters()[1:], "v1.2.3")
	if err != nil || len(written) != 3 {
		t.Fatalf("%q, %v", written, err)
	}
	command := regexp.MustCompile(`(?m)^\s*- pipeline (run|report) .*$`)
	for _, file := range written[1:] {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := yaml.Unmarshal(text, &tree); err != nil || len(tree) != 1 {
			t.Errorf("%s: %v, %v", file, err, tree)
		}
		if !strings.Contains(string(text), "github.com/servegate/pipeline/pipeline@v1.2.3") || strings.Contains(string(text), refPlaceholder) {
			t.Errorf("%s names no release", file)
		}
		a := newApp(Streams{Getenv: func(string) string { return "" }, Environ: func() []string { return nil }, Out: io.Discard, Err: io.Discard,
			OutWidth: func() int { return 0 }})
		commands := command.FindAllString(string(text), -1)
		if len(commands) == 0 {
			t.Errorf("%s runs nothing", file)
		}
		for _, line := range commands {
			words := strings.Fields(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- pipeline")))
			cmd, rest, err := a.root().Find(words)
			if i := slices.Index(rest, ">"); i >= 0 {
				rest = rest[:i]
			}
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", file, line, err)
			}
		}
	}
}
