package target_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/dockerhost"
	"github.com/servegate/pipeline/pipeline/internal/place/local"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/vllm"
)

const addr = "server.vllm.sut"

// resolverOf resolves a plan of one server. No daemon answers at its host.
func resolverOf(t *testing.T, spec steps.ServerSpec, simulated string, allow docker.Allow) target.Resolver {
	t.Helper()
	spec.Addr, spec.Engine, spec.OwnProgram, spec.OwnImages = addr, vllm.Name, vllm.Kind().Program, vllm.Kind().Images
	r := target.Resolver{
		Plan: &plan.Plan{
			Config:    &config.Config{Folder: t.TempDir(), Servers: []*config.Server{{Addr: addr, Kind: vllm.Kind(), Spec: spec}}},
			Simulated: simulated, Targets: []plan.Target{{Addr: addr}},
		},
		Engines: map[string]steps.Engine{vllm.Name: vllm.New()},
	}
	r.Places = place.NewSet([]place.Kind{dockerhost.Kind(), local.Kind()}, place.Options{
		Plan: r.Plan, Self: "/bin/pipeline", RunID: "run", Allow: allow,
		Environ: []string{"DOCKER_HOST=unix://" + filepath.Join(t.TempDir(), "none.sock")},
		Now:     func() time.Time { return time.Unix(0, 0) },
	})
	return r
}

func TestLauncherOfATarget(t *testing.T) {
	for name, tt := range map[string]struct {
		spec      steps.ServerSpec
		simulated string
		want      bool // in a container
	}{
		"executable":                       {spec: steps.ServerSpec{Executable: []string{"vllm"}}},
		"image":                            {spec: steps.ServerSpec{Image: "engine:v1"}, want: true},
		"url":                              {spec: steps.ServerSpec{URL: "http://h"}},
		"image, simulated process":         {spec: steps.ServerSpec{Image: "engine:v1"}, simulated: plan.SimulateProcess},
		"image, simulated container":       {spec: steps.ServerSpec{Image: "engine:v1"}, simulated: plan.SimulateContainer, want: true},
		"executable, simulated container":  {spec: steps.ServerSpec{Executable: []string{"vllm"}}, simulated: plan.SimulateContainer, want: true},
		"url with simulated containers":    {spec: steps.ServerSpec{URL: "http://h"}, simulated: plan.SimulateContainer},
		"executable and a container block": {spec: steps.ServerSpec{Executable: []string{"vllm"}, Container: &steps.ContainerSpec{}}},
	} {
		t.Run(name, func(t *testing.T) {
			target, err := resolverOf(t, tt.spec, tt.simulated, docker.Allow{}).Resolve(addr, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, got := target.Members[0].Launcher.(*docker.Launcher); got != tt.want {
				t.Errorf("launched by %T", target.Members[0].Launcher)
			}
		})
	}
}

// A simulated container gets nothing of the machine that the real one would.
func TestSimulatedContainer(t *testing.T) {
	r := resolverOf(t, steps.ServerSpec{
		Image: "vllm/vllm-openai:v0.11.0", Model: "m", GPUs: 8,
		Container: &steps.ContainerSpec{
			Privileged: true, Network: steps.NetworkHost, Runtime: "nvidia", Entrypoint: []string{"/opt/vllm"},
			Mounts: []steps.Mount{{Source: "/", Target: "/host"}}, Devices: []steps.ContainerDevice{{Host: "/dev/infiniband"}},
		},
	}, plan.SimulateContainer, docker.Allow{})
	if found := r.Check(false); len(found) > 0 {
		t.Errorf("the rights of the real one are refused: %v", found)
	}
	target, err := r.Resolve(addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	processes, err := target.Render("r1", map[kv.Port]int{target.Ports[0].Port: 20000})
	if err != nil {
		t.Fatal(err)
	}
	p := processes[addr]
	const argv = "/pipeline simulate -- vllm serve m --host 127.0.0.1 --port 20000"
	if got := strings.Join(p.Argv, " "); got != argv {
		t.Errorf("argv %s", got)
	}
	want := &steps.ContainerSpec{Image: "pipeline-simulator", Pull: steps.PullNever, Network: steps.NetworkHost, Entrypoint: []string{"vllm"}}
	if diff := cmp.Diff(want, p.Container); diff != "" {
		t.Error(diff)
	}
}

func TestRightsAreRefused(t *testing.T) {
	spec := steps.ServerSpec{Image: "engine:v1", Container: &steps.ContainerSpec{Privileged: true}}
	err := errors.Join(resolverOf(t, spec, "", docker.Allow{}).Check(false)...)
	if !errors.Is(err, docker.ErrRefused) || !strings.Contains(err.Error(), "--allow-privileged") {
		t.Errorf("got %v", err)
	}
	if found := resolverOf(t, spec, "", docker.Allow{Privileged: true}).Check(false); len(found) > 0 {
		t.Errorf("allowed, and still %v", found)
	}
	// A folder that a step will make is not a right.
	spec = steps.ServerSpec{Image: "engine:v1", Container: &steps.ContainerSpec{Mounts: []steps.Mount{{Source: "models", Target: "/models"}}}}
	if found := resolverOf(t, spec, "", docker.Allow{}).Check(false); len(found) > 0 {
		t.Errorf("a folder that is not there yet: %v", found)
	}
}
