package place

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

var twoLanes = &plan.Plan{Lanes: &plan.Lanes{List: []steps.LaneSpec{
	{Cores: "0-7", Memory: "0", GPUs: []string{"0", "1"}, NICs: []string{"mlx5_0"}},
	{Cores: "8-15", GPUs: []string{"6", "GPU-7"}, NICs: []string{"mlx5_1:2"}},
}}}

// A server of a lane has the lane's GPUs, cores and devices, whatever starts it.
func TestServersAreBoundToTheirLane(t *testing.T) {
	second := ReservedBy(twoLanes, 1)
	for name, tt := range map[string]struct {
		spec steps.ServerSpec
		want string
	}{
		"one GPU":     {steps.ServerSpec{GPUs: 1}, "6"},
		"all it has":  {steps.ServerSpec{GPUs: 2}, "6,GPU-7"},
		"none stated": {steps.ServerSpec{}, "6,GPU-7"},
	} {
		target := Target{Processes: []Process{{Name: "s", Spec: tt.spec}}}
		given, err := numberGPUs(target, []GPUs{second.GPUs(DeclaredGPUs(tt.spec, ""))}, false)
		if err != nil {
			t.Fatal(err)
		}
		bound := second.Bind(tt.spec, given[0])
		env := map[string]string{}
		for _, e := range bound.Env {
			env[e.Name] = e.Value
		}
		if env[VisibleDevices] != tt.want || env["NCCL_IB_HCA"] != "mlx5_1:2" || env["UCX_NET_DEVICES"] != "mlx5_1:2" {
			t.Errorf("%s: %v, want GPUs %s", name, env, tt.want)
		}
	}
	many := steps.ServerSpec{GPUs: 3}
	if _, err := numberGPUs(Target{Processes: []Process{{Name: "s", Spec: many}}}, []GPUs{second.GPUs(DeclaredGPUs(many, ""))}, false); err == nil || !strings.Contains(err.Error(), "more GPUs than the 2 of its lane") {
		t.Errorf("three GPUs of two: %v", err)
	}
	contained := ReservedBy(twoLanes, 0).Bind(steps.ServerSpec{Image: "vllm"}, []string{"0"})
	if c := contained.Container; c.CPUSet != "0-7" || c.MemSet != "0" || !slices.Equal(c.GPUs.IDs, []string{"0"}) {
		t.Errorf("a container has %+v", c)
	}
	if ReservedBy(new(plan.Plan), 0) != nil {
		t.Error("a plan without lanes reserves something")
	}
}

// started remembers what a launcher is given.
type started struct {
	steps.Launcher
	argv []string
}

func (s *started) Start(_ context.Context, p steps.Process, _ io.Writer) (steps.Server, error) {
	s.argv = p.Argv
	return nil, nil
}

func TestProcessesRunOnTheCoresOfTheirLane(t *testing.T) {
	for want, lane := range map[string]steps.LaneSpec{
		"taskset --cpu-list 8-15 vllm serve":               {Cores: "8-15"},
		"numactl --physcpubind=0-7 --membind=0 vllm serve": {Cores: "0-7", Memory: "0"},
		"numactl --cpunodebind=1 --membind=1 vllm serve":   {Memory: "1", GPUs: []string{"0"}},
		"vllm serve": {GPUs: []string{"0"}},
	} {
		s := new(started)
		argv := []string{"vllm", "serve"}
		if _, err := (&Reserved{lane}).Pin(s).Start(context.Background(), steps.Process{Argv: argv}, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.argv, " "); got != want || len(argv) != 2 {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A server that names its GPUs would have the same in all lanes.
func TestServersInLanesNameNoGPUs(t *testing.T) {
	named := steps.ServerSpec{Env: []steps.EnvVar{{Name: VisibleDevices, Value: "0"}}}
	for _, spec := range []steps.ServerSpec{named, {}} {
		found := CheckLanes(twoLanes, Target{Processes: []Process{{Name: "s", Spec: spec}}})
		if (len(found) == 1) != (len(spec.Env) == 1) {
			t.Errorf("%v: %v", spec.Env, found)
		}
	}
}

// Lanes need their own GPUs of the machine, and the programs that bind processes.
func TestNeedsOfLanes(t *testing.T) {
	before := doctor.Needs{Programs: []string{"vllm"}, Targets: []doctor.Target{{Addr: "a", GPUs: []doctor.Request{{Count: 2}}}}}
	got := LaneNeeds(twoLanes, before)
	if !slices.Equal(got.Programs, []string{"vllm", "numactl", "taskset"}) || !slices.Equal(got.Targets[0].GPUs[0].IDs, []string{"0", "1", "6", "GPU-7"}) {
		t.Errorf("%+v", got)
	}
	if before.Targets[0].GPUs[0].Count != 2 || len(before.Programs) != 1 {
		t.Errorf("what the plan needs was changed: %+v", before)
	}
}

func TestCoresThatAreNotThere(t *testing.T) {
	p := &plan.Plan{Lanes: &plan.Lanes{List: []steps.LaneSpec{{Cores: "0"}, {Cores: "16000"}}}}
	if err := CheckCores(p, func(string) {}); err == nil || !strings.Contains(err.Error(), "lane 1 has core 16000, and this machine has 0") {
		t.Errorf("core 16000: %v", err)
	}
}
