package docker_test

import (
	"context"
	"testing"

	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/docker/dockertest"
)

func TestInspect(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		nvidia bool
		gpus   int
	}{
		"runtime": {`{"ServerVersion":"28.5.2","DockerRootDir":"/d","Runtimes":{"runc":{},"nvidia":{"path":"nvidia-container-runtime"}}}`, true,
			0},
		"CDI":     {`{"ServerVersion":"28.5.2","DockerRootDir":"/d","Runtimes":{"runc":{}},"DiscoveredDevices":[{"ID":"nvidia.com/gpu=0"},{"ID":"nvidia.com/gpu=1"},{"ID":"nvidia.com/gpu=GPU-5f6e"},{"ID":"nvidia.com/gpu=all"}],"NCPU":64,"MemTotal":1099511627776,"KernelVersion":"6.8.0","OperatingSystem":"Ubuntu 24.04.1 LTS","Architecture":"x86_64"}`, true, 2},
		"neither": {`{"ServerVersion":"28.5.2","DockerRootDir":"/d","Runtimes":{"runc":{}},"DiscoveredDevices":[{"Source":"cdi","ID":"rdma.io/nic=0"}]}`, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := dockertest.New(t)
			f.Lists = map[string]string{"/info": tt.answer}
			got, err := docker.Inspect(context.Background(), f.Host)
			want := docker.Info{Version: "28.5.2", RootDir: "/d", Local: true, NVIDIA: tt.nvidia, GPUs: tt.gpus}
			if name == "CDI" {
				want.CPUs, want.MemoryBytes, want.Kernel, want.OS, want.Arch = 64, 1<<40, "6.8.0", "Ubuntu 24.04.1 LTS", "x86_64"
			}
			if err != nil || got != want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	if _, err := docker.Inspect(context.Background(), "unix:///nowhere/d.sock"); err == nil {
		t.Error("a daemon that is not there answers")
	}
}

func TestHasImage(t *testing.T) {
	f := dockertest.New(t)
	for image, want := range map[string]bool{"engine:v1": true, "engine:v2": false} {
		if got, err := docker.HasImage(context.Background(), f.Host, image); err != nil || got != want {
			t.Errorf("%s: %v, %v", image, got, err)
		}
	}
	f.Fail["GET /images/"] = "disk full"
	if _, err := docker.HasImage(context.Background(), f.Host, "engine:v1"); err == nil {
		t.Error("an error of the daemon is taken for an answer")
	}
	if _, err := docker.HasImage(context.Background(), f.Host, "../x"); err == nil {
		t.Error("a name that is none is asked for")
	}
}

func TestIsLocal(t *testing.T) {
	for host, want := range map[string]bool{"": true, "unix:///d.sock": true, "tcp://127.0.0.1:2375": true, "tcp://192.0.2.1:2375": false,
		"ssh://x": false} {
		if got := docker.IsLocal(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
