package slurm_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/containertest"
	"github.com/servegate/pipeline/steps/slurm"
)

func TestContainersByRuntime(t *testing.T) {
	for _, runtime := range []string{steps.RuntimePyxis, steps.RuntimeApptainer} {
		render := func(c *steps.ContainerSpec) string {
			argv := []string{"vllm", "serve"}
			argv = append(c.Entrypoint, argv...)
			text, err := slurm.Show(steps.SlurmSpec{Runtime: runtime}, slurm.Place{}, steps.Process{Argv: argv, Container: c})
			if err != nil {
				return err.Error()
			}
			return strings.Join(text, " ")
		}
		containertest.Column(t, slurm.Containers(runtime), render, "init", "network", "ipc", "pid", "gpus")
	}
}

func TestContainers(t *testing.T) {
	for name, tt := range map[string]struct {
		runtime string
		c       steps.ContainerSpec
		arg     string
	}{
		"no runtime":       {steps.RuntimeNone, steps.ContainerSpec{Image: "i"}, "image"},
		"unset runtime":    {"", steps.ContainerSpec{Image: "i"}, "image"},
		"pyxis":            {steps.RuntimePyxis, steps.ContainerSpec{Image: "i", Network: steps.NetworkHost, IPC: "host"}, ""},
		"own entrypoint":   {steps.RuntimePyxis, steps.ContainerSpec{Image: "i", OwnEntrypoint: true}, "entrypoint"},
		"bridge":           {steps.RuntimeApptainer, steps.ContainerSpec{Image: "i", Network: "bridge"}, "network"},
		"a number of GPUs": {steps.RuntimeApptainer, steps.ContainerSpec{Image: "i", GPUs: &steps.GPURequest{Count: 2}}, ""},
		"named GPUs":       {steps.RuntimeApptainer, steps.ContainerSpec{Image: "i", GPUs: &steps.GPURequest{IDs: []string{"1"}}}, "gpus"},
		"the default pull": {steps.RuntimePyxis, steps.ContainerSpec{Image: "i", Pull: steps.PullMissing}, ""},
		"another pull":     {steps.RuntimePyxis, steps.ContainerSpec{Image: "i", Pull: steps.PullNever}, "pull"},
		"a mount's options": {steps.RuntimePyxis, steps.ContainerSpec{Image: "i",
			Mounts: []steps.Mount{{Source: "/a,/etc:/etc", Target: "/b"}}}, "mounts"},
	} {
		found := slurm.Containers(tt.runtime).Check(&tt.c)
		if tt.arg == "" && len(found) > 0 || tt.arg != "" && (len(found) != 1 || found[0].Arg != tt.arg) {
			t.Errorf("%s: %v, want %q", name, found, tt.arg)
		}
	}
}
