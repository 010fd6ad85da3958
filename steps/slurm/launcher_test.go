package slurm_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/slurm"
)

// A folder whose name srun would take apart holds files of processes, not of containers.
func TestFilesOfContainers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nightly, 02:00")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	opt := slurm.Options{Spec: steps.SlurmSpec{Runtime: steps.RuntimePyxis}, Folder: func(string) (string, error) { return dir, nil }}
	file := steps.File{Name: "mooncake.json", EnvVar: "CONFIG", Content: []byte("{}\n")}
	p := steps.Process{Argv: []string{"serve", "--config=" + file.Word()}, Files: []steps.File{file}}
	r, _, err := launched(t, opt, slurm.Place{}, p)
	want := steps.EnvVar{Name: "CONFIG", Value: filepath.Join(dir, "mooncake.json")}
	if err != nil || !slices.Contains(r.steps[0].Env, want) || !slices.Contains(r.steps[0].Argv, "--config="+want.Value) {
		t.Errorf("%+v, %v", r.steps, err)
	}
	p.Container = &steps.ContainerSpec{Image: "i"}
	if r, _, err := launched(t, opt, slurm.Place{}, p); err == nil || !strings.Contains(err.Error(), "cannot be mounted") || len(r.steps) > 0 {
		t.Errorf("mounted: %v", err)
	}
	p.Files, p.Argv = nil, []string{"serve"}
	if _, _, err := launched(t, opt, slurm.Place{}, p); err != nil {
		t.Errorf("without files: %v", err)
	}
}
