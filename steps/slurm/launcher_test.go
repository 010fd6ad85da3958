package slurm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
)

// A folder whose name srun would take apart holds files of processes, not of containers.
func TestFilesOfContainers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nightly, 02:00")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l := &Launcher{job: &Job{opt: Options{Folder: func(string) (string, error) { return dir, nil }}}}
	file := steps.File{Name: "mooncake.json", EnvVar: "CONFIG", Content: []byte("{}\n")}
	p := steps.Process{Argv: []string{"serve", "--config=" + file.Word()}, Files: []steps.File{file}}
	folder, placed, err := l.writeFiles(p)
	want := []steps.EnvVar{{Name: "CONFIG", Value: filepath.Join(dir, "mooncake.json")}}
	if err != nil || folder != dir || !slices.Equal(placed.Env, want) || placed.Argv[1] != "--config="+want[0].Value {
		t.Errorf("%q, %v, %v", folder, placed, err)
	}
	p.Container = &steps.ContainerSpec{}
	if _, _, err := l.writeFiles(p); err == nil || !strings.Contains(err.Error(), "cannot be mounted") {
		t.Errorf("mounted: %v", err)
	}
	p.Files = nil
	if _, _, err := l.writeFiles(p); err != nil {
		t.Errorf("without files: %v", err)
	}
}
