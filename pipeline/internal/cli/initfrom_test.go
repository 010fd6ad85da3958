package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
)

// starter is the file that init writes.
const starter = "gate.pipeline.hcl"

// TestInitFrom makes a file of each source in testdata/from, which is valid in the form of fmt and starts the command
// lines of launch.txt.
func TestInitFrom(t *testing.T) {
	sources, err := filepath.Glob("testdata/from/*/source.*")
	if err != nil || len(sources) == 0 {
		t.Fatalf("%q, %v", sources, err)
	}
	for _, source := range sources {
		t.Run(filepath.Base(filepath.Dir(source)), func(t *testing.T) {
			source, err := filepath.Abs(source)
			if err != nil {
				t.Fatal(err)
			}
			want := filepath.Dir(source)
			dir := t.TempDir()
			t.Chdir(dir)
			if err := os.CopyFS(dir, os.DirFS(want)); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(starter); err != nil && !golden.Updating() {
				t.Fatal(err)
			}
			name := filepath.Base(source)
			run(t, 0, "init", "--from", name)
			made, err := os.ReadFile(starter)
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, filepath.Join(want, starter), made)
			run(t, 0, "validate", starter)
			run(t, 0, "fmt", "--check", starter)
			launch := strings.ReplaceAll(run(t, 0, "plan", "--launch", starter), dir, "DIR")
			golden.Equal(t, filepath.Join(want, "launch.txt"), launch)
		})
	}
}

// TestInitFromFolder: a folder is refused with the command that renders a chart.
func TestInitFromFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("chart", 0o700); err != nil {
		t.Fatal(err)
	}
	if out := complaint(t, 3, "init", "--from", "chart"); !strings.Contains(out, "helm template chart | pipeline init --from -") {
		t.Error(out)
	}
}
