package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker/dockertest"
)

// gpuServer uses every setting that vLLM with RDMA needs, and some more.
func gpuServer(folder string) steps.ServerSpec {
	return steps.ServerSpec{
		Addr: `server.vllm.sut["base"]`, Image: "engine:v1", GPUs: 2,
		Container: &steps.ContainerSpec{
			Network: "host", IPC: "host", ShmSize: 16 << 30, Memory: 64 << 30, CPUSet: "0-15", MemSet: "0",
			User: "1000:1000", Workdir: "/w", Runtime: "nvidia",
			Ulimits: []steps.Ulimit{{Name: "memlock", Soft: -1, Hard: -1}, {Name: "stack", Soft: 67108864, Hard: 67108864}},
			CapAdd:  []string{"IPC_LOCK"}, CapDrop: []string{"NET_RAW"}, GroupAdd: []string{"video"}, SecurityOpt: []string{"seccomp=unconfined"},
			Devices: []steps.ContainerDevice{{Host: "/dev/infiniband", Container: "/dev/infiniband", Permissions: "rwm"}},
			CDI:     nil, GPUs: &steps.GPURequest{IDs: []string{"0", "GPU-5f6"}},
			Mounts:  []steps.Mount{{Source: folder, Target: "/models", ReadOnly: true}},
			Volumes: []steps.Volume{{Name: "vllm-cache", Target: "/root/.cache/vllm"}},
			Tmpfs:   map[string]string{"/scratch": "size=8g"},
			Labels:  map[string]string{"team": "serving"},
		},
	}
}

// The create request of a GPU server, field by field.
func TestCreateRequest(t *testing.T) {
	f := dockertest.New(t)
	folder := t.TempDir()
	l := launcherOf(t, f, Options{RunID: "r-7", Deadline: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), Owner: "ci"})
	p := dockertest.Process(t)
	spec := gpuServer(folder)
	p.Name, p.Container, p.Host = spec.Addr, spec.NewContainer(), "127.0.0.1"
	p.Env = []steps.EnvVar{{Name: "HF_TOKEN", Value: "hf_secret", Secret: true}, {Name: "UCX_TLS", Value: "rc"}}
	p.StopSignal, p.StopGrace = "INT", 90*time.Second
	start(t, l, p)
	checkGolden(t, "create-gpu.json", bytes.ReplaceAll(f.Creates[0], []byte(folder), []byte("/folder")))
	var request struct {
		Labels     map[string]string
		Env        []string
		HostConfig struct{ DeviceRequests []deviceRequest }
	}
	decode(t, f.Creates[0], &request)
	want := []deviceRequest{{DeviceIDs: []string{"0", "GPU-5f6"}, Capabilities: [][]string{{"gpu"}}}}
	if got := request.HostConfig.DeviceRequests; !reflect.DeepEqual(got, want) {
		t.Errorf("device requests %+v", got)
	}
	for name, value := range request.Labels {
		if strings.Contains(value, "hf_secret") {
			t.Errorf("label %s has a secret", name)
		}
	}
	if len(f.Seen("hf_secret")) != 0 {
		t.Error("an address has a secret")
	}
	if got := f.Seen("/containers/create"); len(got) != 1 || !strings.HasSuffix(got[0], "name=pipeline-server.vllm.sut.base-0a1b2c3d") {
		t.Errorf("create requests %q", got)
	}
}

// Without a block the port is published on loopback, and GPUs come by their number.
func TestCreateRequestOfBridge(t *testing.T) {
	f := dockertest.New(t)
	p := dockertest.Process(t)
	p.Port = 20123
	p.Container = steps.ServerSpec{Image: "engine:v1", GPUs: 4}.NewContainer()
	start(t, launcherOf(t, f, Options{}), p)
	checkGolden(t, "create-bridge.json", f.Creates[0])
}

func TestDeviceRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		spec steps.ServerSpec
		want []deviceRequest
	}{
		"none":   {steps.ServerSpec{}, nil},
		"zero":   {steps.ServerSpec{GPUs: 2, Container: &steps.ContainerSpec{GPUs: &steps.GPURequest{}}}, nil},
		"number": {steps.ServerSpec{GPUs: 2}, []deviceRequest{{Count: 2, Capabilities: [][]string{{"gpu"}}}}},
		"all": {steps.ServerSpec{Container: &steps.ContainerSpec{GPUs: &steps.GPURequest{Count: steps.AllGPUs}}},
			[]deviceRequest{{Count: -1, Capabilities: [][]string{{"gpu"}}}}},
		"cdi": {steps.ServerSpec{GPUs: 1, Container: &steps.ContainerSpec{CDI: []string{"nvidia.com/gpu=0"}}},
			[]deviceRequest{{Driver: "cdi", DeviceIDs: []string{"nvidia.com/gpu=0"}}}},
		"rocm device": {steps.ServerSpec{GPUs: 8, Container: &steps.ContainerSpec{Devices: []steps.ContainerDevice{{Host: "/dev/kfd"}}}}, nil},
		"gpu and nic": {
			steps.ServerSpec{Container: &steps.ContainerSpec{GPUs: &steps.GPURequest{IDs: []string{"1"}}, CDI: []string{"rdma.io/nic=mlx5_0"}}},
			[]deviceRequest{{DeviceIDs: []string{"1"}, Capabilities: [][]string{{"gpu"}}},
				{Driver: "cdi", DeviceIDs: []string{"rdma.io/nic=mlx5_0"}}}},
	} {
		tt.spec.Image = "i"
		if got := deviceRequests(tt.spec.NewContainer()); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}

// An image's own entrypoint gets the command line as arguments.
func TestOwnEntrypoint(t *testing.T) {
	f := dockertest.New(t)
	p := dockertest.Process(t)
	p.Argv = []string{"--port", "1"}
	p.Container.OwnEntrypoint = true
	start(t, launcherOf(t, f, Options{}), p)
	var request struct{ Entrypoint, Cmd []string }
	decode(t, f.Creates[0], &request)
	if request.Entrypoint != nil || !reflect.DeepEqual(request.Cmd, p.Argv) {
		t.Errorf("entrypoint %q, arguments %q", request.Entrypoint, request.Cmd)
	}
}

func TestSlug(t *testing.T) {
	for in, want := range map[string]string{
		`server.vllm.sut["base"]`: "server.vllm.sut.base",
		"../../x y":               "x.y",
		"--":                      "",
		strings.Repeat("a", 99):   strings.Repeat("a", 60),
	} {
		if got := slug(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// start starts a process and stops it when the test ends.
func start(t *testing.T, l *Launcher, p steps.Process) *Server {
	t.Helper()
	s, err := l.Start(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s.(*Server)
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, bytes.TrimSpace(got), "", "  "); err != nil {
		t.Fatal(err)
	}
	indented.WriteByte('\n')
	golden.Equal(t, filepath.Join("testdata", name), indented.Bytes())
}
