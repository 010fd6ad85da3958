package main_test

import (
	"encoding/json"
	"go/parser"
	gotoken "go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// changes lists the worked examples of ARCHITECTURE.md, patches in testdata/changes. A patch touches at most so many
// files; the schemas, documents and golden files that -update writes are not in it. With -full its packages are built,
// and a test of one of them is run.
var changes = []struct {
	name      string
	most      int
	pkg, test string
}{
	{"gate-argument", 4, "pipeline/internal/lang", "TestTermsAreArguments"},
	{"load-model", 3, "steps/load", "TestScheduleEndsAtItsRate"},
	{"engine-metric", 3, "gates/metric", "TestCountedMetricsHaveFormulas"},
	{"chart", 2, "reports", "TestOverRunsStaysInside"},
	{"publisher", 2, "pipeline/internal/cli", "TestAPublisherIsOneRow"},
	{"place", 2, "pipeline/internal/cli", "TestPlaceIsOneRow"},
	{"engine", 2, "pipeline/internal/cli", "TestEngineIsOneRow"},
	{"terminal-column", 1, "reports", "TestMarginText"},
	{"bill-unit", 5, "reports/result", "TestNewBill"},
	{"void-cause", 2, "steps/load", "TestVoid"},
	{"event", 3, "pipeline/internal/event", "TestTable"},
	{"foreign-tool", 1, "pipeline/internal/convert", "TestTableOfTools"},
}

// TestChanges shows how many files each usual change touches.
func TestChanges(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, c := range changes {
		listed = append(listed, filepath.Join("testdata", "changes", c.name+".patch"))
		t.Run(c.name, func(t *testing.T) {
			overlay := applied(t, root, filepath.Join(root, "pipeline", "testdata", "changes", c.name+".patch"))
			if len(overlay) == 0 || len(overlay) > c.most {
				t.Errorf("the change touches %d files, want at most %d", len(overlay), c.most)
			}
			if !*full {
				return
			}
			packages := []string{"./" + c.pkg}
			for file := range overlay {
				rel, err := filepath.Rel(root, filepath.Dir(file))
				if err != nil {
					t.Fatal(err)
				}
				packages = append(packages, "./"+filepath.ToSlash(rel))
			}
			text, err := json.Marshal(map[string]any{"Replace": overlay})
			file := filepath.Join(t.TempDir(), "overlay.json")
			if err == nil {
				err = os.WriteFile(file, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(packages)
			for _, args := range [][]string{
				append([]string{"build", "-overlay", file}, slices.Compact(packages)...),
				{"test", "-vet=off", "-overlay", file, "-run", "^" + c.test + "$", "./" + c.pkg},
			} {
				cmd := exec.Command("go", args...)
				cmd.Dir = root
				out, err := cmd.CombinedOutput()
				if err != nil || strings.Contains(string(out), "no tests to run") {
					t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
		})
	}
	if found, err := filepath.Glob(filepath.Join("testdata", "changes", "*.patch")); err != nil || len(found) != len(listed) {
		t.Errorf("%d patches are there and %d are listed: %v", len(found), len(listed), err)
	}
}

// changed matches the line of a patch that names a file after the change.
var changed = regexp.MustCompile(`(?m)^\+\+\+ b/(.+)$`)

// applied applies a patch to copies of the files that it touches, which must parse, and returns the copies by the
// paths of the originals, as the build's overlay takes them.
func applied(t *testing.T, root, patch string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}
	dir, overlay := t.TempDir(), map[string]string{}
	for _, m := range changed.FindAllStringSubmatch(string(text), -1) {
		original, twin := filepath.Join(root, m[1]), filepath.Join(dir, m[1])
		overlay[original] = twin
		if err := os.MkdirAll(filepath.Dir(twin), 0o700); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(original)
		if os.IsNotExist(err) {
			continue // the patch makes it
		}
		if err == nil {
			err = os.WriteFile(twin, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	apply := exec.Command("git", "apply", "--recount", patch)
	apply.Dir = dir
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("the patch does not apply; make the change again and write git diff -U1 into it: %v\n%s", err, out)
	}
	for _, twin := range overlay {
		if _, err := parser.ParseFile(gotoken.NewFileSet(), twin, nil, parser.SkipObjectResolution); err != nil {
			t.Error(err)
		}
	}
	return overlay
}
