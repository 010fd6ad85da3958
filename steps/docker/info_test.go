package docker

import (
	"context"
	"testing"
)

func TestInspect(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		nvidia bool
	}{
		"runtime": {`{"ServerVersion":"28.5.2","DockerRootDir":"/d","Runtimes":{"runc":{},"nvidia":{"path":"nvidia-container-runtime"}}}`, true},
		"CDI":     {`{"ServerVersion":"28.5.2","DockerRootDir":"/d","Runtimes":{"runc":{}},"DiscoveredDevices":[{"Source":"cdi","ID":"nvidia.com/gpu=0"}]}`, true},
		"neither": {`{"ServerVersion":"28.5.2","DockerRootDir":"/d","Runtimes":{"runc":{}},"DiscoveredDevices":[{"Source":"cdi","ID":"rdma.io/nic=0"}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.lists = map[string]string{"/info": tt.answer}
			got, err := Inspect(context.Background(), f.host)
			if want := (Info{Version: "28.5.2", RootDir: "/d", Local: true, NVIDIA: tt.nvidia}); err != nil || got != want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	if _, err := Inspect(context.Background(), "unix:///nowhere/d.sock"); err == nil {
		t.Error("a daemon that is not there answers")
	}
}

func TestHasImage(t *testing.T) {
	f := newFake(t)
	for image, want := range map[string]bool{"engine:v1": true, "engine:v2": false} {
		if got, err := HasImage(context.Background(), f.host, image); err != nil || got != want {
			t.Errorf("%s: %v, %v", image, got, err)
		}
	}
	f.fail["GET /images/"] = "disk full"
	if _, err := HasImage(context.Background(), f.host, "engine:v1"); err == nil {
		t.Error("an error of the daemon is taken for an answer")
	}
	if _, err := HasImage(context.Background(), f.host, "../x"); err == nil {
		t.Error("a name that is none is asked for")
	}
}

func TestIsLocal(t *testing.T) {
	for host, want := range map[string]bool{"": true, "unix:///d.sock": true, "tcp://127.0.0.1:2375": true, "tcp://192.0.2.1:2375": false, "ssh://x": false} {
		if got := IsLocal(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
