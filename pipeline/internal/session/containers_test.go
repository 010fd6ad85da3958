package session

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/vllm"
)

const addr = "server.vllm.sut"

// optionsOf are those of a session with one server. No daemon answers at its host.
func optionsOf(t *testing.T, spec steps.ServerSpec, simulated string) Options {
	t.Helper()
	spec.Addr, spec.Engine = addr, vllm.Name
	return Options{
		Config:  &lang.Config{Servers: []*lang.Server{{Addr: addr, Kind: vllm.Kind(), Spec: spec}}},
		Plan:    &plan.Plan{Simulated: simulated, Targets: []plan.Target{{Addr: addr}}},
		Dir:     t.TempDir(),
		Engines: map[string]steps.Engine{vllm.Name: vllm.New()},
		Environ: []string{"DOCKER_HOST=unix://" + filepath.Join(t.TempDir(), "none.sock")},
		Now:     func() time.Time { return time.Unix(0, 0) },
	}
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
		"image, simulated process":         {spec: steps.ServerSpec{Image: "engine:v1"}, simulated: SimulateProcess},
		"image, simulated container":       {spec: steps.ServerSpec{Image: "engine:v1"}, simulated: SimulateContainer, want: true},
		"executable, simulated container":  {spec: steps.ServerSpec{Executable: []string{"vllm"}}, simulated: SimulateContainer, want: true},
		"url with simulated containers":    {spec: steps.ServerSpec{URL: "http://h"}, simulated: SimulateContainer},
		"executable and a container block": {spec: steps.ServerSpec{Executable: []string{"vllm"}, Container: &steps.ContainerSpec{}}},
	} {
		t.Run(name, func(t *testing.T) {
			opt := optionsOf(t, tt.spec, tt.simulated)
			c, err := newContainers(opt, "run", nil)
			if err != nil {
				t.Fatal(err)
			}
			if (c != nil) != tt.want {
				t.Fatalf("a launcher of containers: %v, want %v", c != nil, tt.want)
			}
			if c != nil {
				c.simulator = "pipeline-simulator:0"
			}
			target, err := targets{opt: opt, containers: c}.resolve(addr, nil)
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
	opt := optionsOf(t, steps.ServerSpec{
		Image: "vllm/vllm-openai:v0.11.0", Model: "m", GPUs: 8,
		Container: &steps.ContainerSpec{
			Privileged: true, Network: steps.NetworkHost, Runtime: "nvidia", Entrypoint: []string{"/opt/vllm"},
			Mounts: []steps.Mount{{Source: "/", Target: "/host"}}, Devices: []steps.ContainerDevice{{Host: "/dev/infiniband"}},
		},
	}, SimulateContainer)
	if err := supported(opt); err != nil {
		t.Errorf("the rights of the real one are refused: %v", err)
	}
	c, err := newContainers(opt, "run", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.simulator = "pipeline-simulator:0"
	target, err := targets{opt: opt, containers: c}.resolve(addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	processes, err := target.Render("r1", map[engine.Port]int{target.Ports[0].Port: 20000})
	if err != nil {
		t.Fatal(err)
	}
	p := processes[addr]
	const argv = "/pipeline simulate -- vllm serve m --host 127.0.0.1 --port 20000"
	if got := strings.Join(p.Argv, " "); got != argv {
		t.Errorf("argv %s", got)
	}
	want := &steps.ContainerSpec{Image: "pipeline-simulator:0", Pull: steps.PullNever, Network: steps.NetworkHost, Entrypoint: []string{"vllm"}}
	if diff := cmp.Diff(want, p.Container); diff != "" {
		t.Error(diff)
	}
}

func TestRightsAreRefused(t *testing.T) {
	spec := steps.ServerSpec{Image: "engine:v1", Container: &steps.ContainerSpec{Privileged: true}}
	opt := optionsOf(t, spec, "")
	err := supported(opt)
	if !errors.Is(err, docker.ErrRefused) || !strings.Contains(err.Error(), "--allow-privileged") {
		t.Errorf("got %v", err)
	}
	opt.Allow.Privileged = true
	if err := supported(opt); err != nil {
		t.Errorf("allowed, and still %v", err)
	}
	// A folder that a step will make is not a right.
	opt = optionsOf(t, steps.ServerSpec{Image: "engine:v1", Container: &steps.ContainerSpec{Mounts: []steps.Mount{{Source: "models", Target: "/models"}}}}, "")
	if err := supported(opt); err != nil {
		t.Errorf("a folder that is not there yet: %v", err)
	}
}

func TestRegistryCredentials(t *testing.T) {
	dir := t.TempDir()
	find := registryCredentials(lookup([]string{"HOME=/nowhere", "DOCKER_CONFIG=/old", "DOCKER_CONFIG=" + dir}))
	if c, err := find("docker.io"); err != nil || c != (docker.Credentials{}) {
		t.Errorf("without a file: %v, %v", c, err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"auths":{"registry.example":{"auth":"bWU6cHc="}}}`)
	if c, err := find("registry.example"); err != nil || c != (docker.Credentials{Username: "me", Password: "pw"}) {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := find("docker.io"); err != nil || c != (docker.Credentials{}) {
		t.Errorf("another registry: %v, %v", c, err)
	}
	write("{")
	if _, err := find("docker.io"); err == nil {
		t.Error("half a file is read")
	}
}

// lines keeps the texts of events.
type lines []string

func (l *lines) Handle(e event.Event) { *l = append(*l, e.Severity+": "+e.Text) }

func TestWarningsBecomeEvents(t *testing.T) {
	var got lines
	log := slog.New(warnings{bus: event.NewBus(time.Now, 0, &got)}).With("container", "c1").WithGroup("g")
	log.Info("pulling image")
	log.Warn("the log broke off", "error", errors.New("gone"))
	want := lines{"warning: the log broke off, container=c1, error=gone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
