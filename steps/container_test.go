package steps_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps"
)

func TestNewContainer(t *testing.T) {
	if (steps.ServerSpec{Executable: []string{"vllm"}}).NewContainer() != nil {
		t.Error("a process has a container")
	}
	block := &steps.ContainerSpec{IPC: "host", Entrypoint: []string{"x"}}
	spec := steps.ServerSpec{Image: "i", GPUs: 2, Container: block}
	c := spec.NewContainer()
	if c.Image != "i" || c.IPC != "host" || c.GPUs == nil || c.GPUs.Count != 2 {
		t.Errorf("got %+v", c)
	}
	if block.Image != "" || block.GPUs != nil {
		t.Error("the block was changed")
	}
	if got := spec.Program(); !reflect.DeepEqual(got, []string{"x"}) {
		t.Errorf("program %q", got)
	}
	if got := (steps.ServerSpec{Executable: []string{"vllm"}}).Program(); !reflect.DeepEqual(got, []string{"vllm"}) {
		t.Errorf("program %q", got)
	}
}

func TestListenHost(t *testing.T) {
	for want, specs := range map[string][]steps.ServerSpec{
		"0.0.0.0":   {{Image: "i"}, {Image: "i", Container: &steps.ContainerSpec{Network: "lab"}}},
		"127.0.0.1": {{}, {Image: "i", Container: &steps.ContainerSpec{Network: steps.NetworkHost}}},
	} {
		for _, spec := range specs {
			if got := spec.ListenHost(); got != want {
				t.Errorf("%+v: got %s, want %s", spec, got, want)
			}
		}
	}
}

// A container has the caches that its server keeps, beside what its block mounts, which stays as it is.
func TestContainerHasCaches(t *testing.T) {
	block := &steps.ContainerSpec{Mounts: append(make([]steps.Mount, 0, 4), steps.Mount{Source: "/srv", Target: "/models"})}
	spec := steps.ServerSpec{Image: "i", Container: block, Caches: []steps.Cache{{Folder: "compile", Path: "/c"},
		{Volume: "tuned", Path: "/t"}}}
	for range 2 {
		c := spec.NewContainer()
		if want := []steps.Mount{{Source: "/srv", Target: "/models"}, {Source: "compile", Target: "/c"}}; !slices.Equal(c.Mounts, want) {
			t.Errorf("mounts %+v", c.Mounts)
		}
		if want := []steps.Volume{{Name: "tuned", Target: "/t"}}; !slices.Equal(c.Volumes, want) {
			t.Errorf("volumes %+v", c.Volumes)
		}
	}
	if len(block.Mounts) != 1 || len(block.Volumes) != 0 {
		t.Errorf("the block of the file has become %+v", block)
	}
}
