package doctor

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
	"pgregory.net/rapid"
)

const mib = 1 << 20

// good is a machine on which everything is well.
func good() Facts {
	gpu := func(i int, uuid string) probe.GPU {
		return probe.GPU{Index: i, UUID: uuid, Name: "NVIDIA H100 80GB HBM3", Vendor: probe.NVIDIA, Driver: "580.82.07", MemoryUsed: 3 * mib,
			Persistence: "Enabled", MIG: "Disabled", SlowdownKnown: true, Slowdown: probe.Idle}
	}
	return Facts{
		GPUs: []probe.GPU{gpu(0, "GPU-aaaa"), gpu(1, "GPU-bbbb")},
		NICs: []probe.NIC{{Name: "mlx5_0", RDMA: true, Port: 1, Active: true}, {Name: "mlx5_1", RDMA: true, Port: 1}},
		Docker: Daemon{Version: "28.5.2", RootDir: "/var/lib/docker", Local: true, NVIDIA: true,
			Images: map[string]bool{"vllm/vllm-openai:v0.11.0": true}},
		Programs: map[string]string{"vllm": "/venv/bin/vllm"},
		OutFree:  500 * gib, DockerFree: 900 * gib, ShmFree: 500 * gib, LockedMemory: Unlimited, Governor: "performance", PeerMemory: true,
		LockDir: "/run/lock/pipeline",
	}
}

// disaggregated needs nearly everything.
func disaggregated() Needs {
	return Needs{
		File: true, Programs: []string{"vllm"}, Images: []Image{{Name: "vllm/vllm-openai:v0.11.0"}}, Ports: []int{8000},
		RDMA: true, RDMADevices: []string{"mlx5_0"}, LockedMemory: true,
		Targets: []Target{{Addr: "deployment.pd", GPUs: []Request{{Count: 1}, {Count: 1}}}},
	}
}

func TestExamine(t *testing.T) {
	tests := map[string]struct {
		needs  Needs
		change func(*Needs, *Facts)
	}{
		"well": {disaggregated(), func(*Needs, *Facts) {}},
		"no-file": {Needs{}, func(_ *Needs, f *Facts) {
			*f = Facts{DockerErr: errors.New("no"), GPUErr: errors.New("no"), OutFree: gib / 2}
		}},
		"bad": {disaggregated(), func(n *Needs, f *Facts) {
			f.Programs = map[string]string{}
			f.Docker.Images = map[string]bool{"vllm/vllm-openai:v0.11.0": false}
			f.Docker.NVIDIA = false
			f.GPUs[0].MemoryUsed, f.GPUs[0].Slowdown = 20*gib, probe.HardwareThermal
			f.GPUs[1].Persistence, f.GPUs[1].MIG = "Disabled", "Enabled"
			f.Processes = []probe.Process{{GPU: "GPU-aaaa", PID: 7, Name: "python3", Memory: 19 * gib},
				{GPU: "GPU-bbbb", PID: 8, Memory: probe.Unknown}}
			n.RDMADevices = []string{"mlx5_1"}
			f.LockedMemory, f.PeerMemory = 64<<10, false
			f.OutFree, f.DockerFree, f.ShmFree = 5*gib, 10*gib, 64*mib
			f.BusyPorts, f.Governor = []int{8000}, "powersave"
			f.LockErr = errors.New("mkdir /run/lock/pipeline: permission denied")
		}},
		"worse": {disaggregated(), func(n *Needs, f *Facts) {
			n.Images[0].Never = true
			f.Docker.Images = map[string]bool{"vllm/vllm-openai:v0.11.0": false}
			f.NICs, f.GPUs = nil, f.GPUs[:1]
			f.OutFree = gib / 2
		}},
		"no-gpu": {disaggregated(), func(n *Needs, f *Facts) { n.Images = nil; f.GPUs = nil; f.GPUErr = errors.New("no") }},
		"models": {disaggregated(), func(n *Needs, f *Facts) {
			for model, w := range map[Model]Weights{
				{Name: "/data/tiny"}:                                                      {Folder: "/data/tiny"},
				{Name: "Qwen/Qwen3-8B"}:                                                   {Folder: "/hf", Have: true, Free: 500 * gib},
				{Name: "Qwen/Qwen3-0.6B"}:                                                 {Folder: "/hf", Free: 500 * gib},
				{Name: "meta-llama/Llama-3.1-8B"}:                                         {Folder: "/hf", Free: 500 * gib},
				{Name: "meta-llama/Llama-3.1-8B", Token: true}:                            {Folder: "/hf", Free: 500 * gib},
				{Name: "meta-llama/Llama-3.2-1B"}:                                         {Folder: "/hf", LoggedIn: true, Free: 500 * gib},
				{Name: "google/gemma-3-4b-it", Container: true, Kept: "hf"}:               {Free: 500 * gib},
				{Name: "Qwen/Qwen2.5-72B", Container: true, Kept: "/mnt/hf", Mount: true}: {Folder: "/mnt/hf", Free: 60 * gib},
				{Name: "deepseek-ai/DeepSeek-V3", Container: true}:                        {Free: 60 * gib},
				{Name: "Qwen/Qwen3-4B", Container: true, Kept: "hf"}:                      {Folder: "/var/lib/docker/volumes/hf/_data", Free: 60 * gib},
			} {
				n.Models = append(n.Models, model)
				if f.Models == nil {
					f.Models = map[Model]Weights{}
				}
				f.Models[model] = w
			}
			slices.SortFunc(n.Models, func(a, b Model) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}},
		"remote-daemon": {disaggregated(), func(_ *Needs, f *Facts) { f.Docker.Local = false; f.GPUs = nil }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			facts := good()
			tt.change(&tt.needs, &facts)
			checks := Examine(tt.needs, facts)
			var got bytes.Buffer
			if err := Text(&got, checks); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".txt")
			golden.Equal(t, path, got.String())
			for _, c := range checks {
				if c.Status != OK && c.Fix == "" {
					t.Errorf("%s is %s, and nothing says what to do", c.Name, c.Status)
				}
			}
		})
	}
}

func TestMissingError(t *testing.T) {
	if err := MissingError([]Check{{Status: OK}, {Status: Warn}}); err != nil {
		t.Errorf("nothing is missing: %v", err)
	}
	err := MissingError([]Check{{Name: "port 80", Status: Missing, Found: "taken", Fix: "end it"}})
	if err == nil || err.Error() != "port 80: taken; end it" {
		t.Errorf("%v", err)
	}
}

func TestRequests(t *testing.T) {
	env := func(name, value string) []steps.EnvVar { return []steps.EnvVar{{Name: name, Value: value}} }
	tests := map[string]struct {
		spec steps.ServerSpec
		want []Request
	}{
		"an address":           {steps.ServerSpec{URL: "http://x", GPUs: 8}, nil},
		"a process":            {steps.ServerSpec{GPUs: 2}, []Request{{Count: 2}}},
		"that names them":      {steps.ServerSpec{GPUs: 2, Env: env("CUDA_VISIBLE_DEVICES", "2,3")}, []Request{{IDs: []string{"2", "3"}}}},
		"kept from them":       {steps.ServerSpec{OwnProgram: []string{"vllm"}, Env: env("CUDA_VISIBLE_DEVICES", "")}, nil},
		"kept from them by -1": {steps.ServerSpec{OwnProgram: []string{"vllm"}, Env: env("CUDA_VISIBLE_DEVICES", "-1")}, nil},
		"says nothing":         {steps.ServerSpec{OwnProgram: []string{"vllm"}}, []Request{{Count: steps.AllGPUs, Maybe: true}}},
		"no engine of GPUs":    {steps.ServerSpec{Engine: "other"}, nil},
		"a container":          {steps.ServerSpec{Image: "i", GPUs: 2}, []Request{{Count: 2}}},
		"without":              {steps.ServerSpec{Image: "i", OwnProgram: []string{"vllm"}}, nil},
		"that names one": {steps.ServerSpec{Image: "i", GPUs: 1,
			Container: &steps.ContainerSpec{GPUs: &steps.GPURequest{IDs: []string{"GPU-a"}}}}, []Request{{IDs: []string{"GPU-a"}}}},
		"all": {steps.ServerSpec{Image: "i", Container: &steps.ContainerSpec{GPUs: &steps.GPURequest{Count: steps.AllGPUs}}},
			[]Request{{Count: steps.AllGPUs}}},
		"by CDI": {steps.ServerSpec{Image: "i", Container: &steps.ContainerSpec{CDI: []string{"rdma.io/nic=mlx5_0",
			"nvidia.com/gpu=1"}}}, []Request{{IDs: []string{"1"}}}},
		"all by CDI": {steps.ServerSpec{Image: "i", Container: &steps.ContainerSpec{CDI: []string{"nvidia.com/gpu=all"}}},
			[]Request{{Count: steps.AllGPUs}}},
		"ROCm": {steps.ServerSpec{Image: "i", GPUs: 1, Env: env("HIP_VISIBLE_DEVICES", "1"),
			Container: &steps.ContainerSpec{Devices: []steps.ContainerDevice{{Host: "/dev/kfd"}}}}, []Request{{IDs: []string{"1"}}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(tt.want, requests(tt.spec)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSelectErrors(t *testing.T) {
	gpus := good().GPUs
	if got, sure, err := Select([]Request{{IDs: []string{"MIG-7f3e", "1:0"}}}, gpus); err != nil || sure || len(got) != 1 ||
		got[0].Index != 1 {
		t.Errorf("instances of MIG: %v, %v, %v", got, sure, err)
	}
	for want, requests := range map[string][]Request{
		"3 GPUs are asked for at once, and the machine has 2": {{Count: 2}, {Count: 1}},
		"GPU 5 is asked for, and the machine has GPU 0":       {{IDs: []string{"5"}}},
		"GPU GPU-x is asked for":                              {{IDs: []string{"GPU-x"}}},
	} {
		if _, _, err := Select(requests, gpus); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Whatever is asked for and can be had, each is given exactly once, those that are named
// among them, in the machine's order.
func TestSelectGivesEachOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "gpus")
		var gpus []probe.GPU
		for i := range n {
			gpus = append(gpus, probe.GPU{Index: i, UUID: "GPU-" + strings.Repeat(string(rune('a'+i)), 8)})
		}
		named := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, n, rapid.ID[int]).Draw(t, "named")
		var ids []string
		for _, i := range named {
			ids = append(ids, gpus[i].UUID)
		}
		more := rapid.IntRange(0, n-len(named)).Draw(t, "more")
		requests := []Request{{Count: more}}
		if len(ids) > 0 {
			requests = append(requests, Request{IDs: ids})
		}
		got, sure, err := Select(requests, gpus)
		if err != nil || sure || len(got) != len(named)+more {
			t.Fatalf("%v of %d and %v: %v, %v", got, more, named, sure, err)
		}
		has := map[int]bool{}
		for i, g := range got {
			if i > 0 && got[i-1].Index >= g.Index {
				t.Fatalf("order or twice: %v", got)
			}
			has[g.Index] = true
		}
		for _, i := range named {
			if !has[i] {
				t.Fatalf("%d was asked for: %v", i, got)
			}
		}
	})
}

// TestMissingGPUs: how many GPUs each target needs is said, also where containers may have GPUs that are not seen here.
func TestMissingGPUs(t *testing.T) {
	n := Needs{File: true, Targets: []Target{{Addr: "server.vllm.a", GPUs: []Request{{Count: 2}}},
		{Addr: "server.vllm.b", GPUs: []Request{{IDs: []string{"0"}}, {Maybe: true}}}}}
	const want = "server.vllm.a needs 2 GPUs, server.vllm.b needs 1 GPU, found 0 on this machine"
	if c := noGPU(n, Facts{}); c.Status != Missing || c.Found != want || !strings.Contains(c.Fix, "a machine with GPUs") {
		t.Errorf("%+v", c)
	}
	n.Images = []Image{{Name: "i:1"}}
	if c := noGPU(n, Facts{GPUErr: errors.New("no tools")}); c.Status != Warn || !strings.HasPrefix(c.Found, want) ||
		!strings.Contains(c.Fix, "a machine with GPUs") {
		t.Errorf("%+v", c)
	}
}
