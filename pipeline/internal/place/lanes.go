package place

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// Reserved is the part of this machine that a lane has; nil is all of it.
type Reserved struct{ steps.LaneSpec }

// ReservedBy is what a lane of a plan has; nil where the plan has no lanes.
func ReservedBy(p *plan.Plan, lane int) *Reserved {
	if p.Lanes == nil {
		return nil
	}
	return &Reserved{p.Lanes.List[lane]}
}

// LaneName names a lane of this machine.
func LaneName(lane int) string { return fmt.Sprintf("lane %d", lane) }

// MachineName names a machine in a model.
func MachineName(n int) string { return fmt.Sprintf("machine %d", n) }

// CheckLanes lists the servers of a target that choose GPUs which are those of lanes.
func CheckLanes(p *plan.Plan, t Target) []Problem {
	var found []Problem
	if p.Lanes == nil || p.Simulated != "" || len(p.Lanes.List[0].GPUs) == 0 {
		return nil
	}
	for _, s := range t.Processes {
		if s.Role == RoleServer && s.Spec.URL == "" && len(named(s.Spec)) > 0 {
			found = append(found, Problem{Process: s.Name, Err: errors.New("it names its GPUs, which would be the same in all lanes; state their number by gpus, and leave " + VisibleDevices + " and the GPUs of the container out")})
		}
	}
	return found
}

// GPUs are what a server gets of those of the lane.
func (r *Reserved) GPUs(w GPUs) GPUs {
	if r != nil && len(r.LaneSpec.GPUs) > 0 {
		w.Pool = r.LaneSpec.GPUs
	}
	return w
}

// Bind keeps a server to the lane. gpus are those that it was given; one that states none has all of the
// lane's.
func (r *Reserved) Bind(spec steps.ServerSpec, gpus []string) steps.ServerSpec {
	if r == nil {
		return WithGPUs(spec, gpus)
	}
	if len(gpus) == 0 && !chosen(spec) {
		gpus = r.LaneSpec.GPUs
	}
	spec = WithGPUs(spec, gpus)
	if len(r.NICs) > 0 {
		spec.Env = append(slices.Clone(spec.Env), steps.EnvVar{Name: "NCCL_IB_HCA", Value: strings.Join(r.NICs, ",")},
			steps.EnvVar{Name: "UCX_NET_DEVICES", Value: strings.Join(ports(r.NICs), ",")})
	}
	if spec.Image == "" {
		return spec
	}
	c := containerOf(spec)
	if r.Cores != "" {
		c.CPUSet = r.Cores
	}
	if r.Memory != "" {
		c.MemSet = r.Memory
	}
	spec.Container = &c
	return spec
}

// ports are network devices as UCX names them: with the port, the first unless it is there.
func ports(devices []string) []string {
	out := slices.Clone(devices)
	for i, d := range out {
		if !strings.Contains(d, ":") {
			out[i] = d + ":1"
		}
	}
	return out
}

// Pin makes of a launcher one whose processes run on the cores of the lane.
func (r *Reserved) Pin(l steps.Launcher) steps.Launcher {
	if r == nil || r.Cores == "" && r.Memory == "" {
		return l
	}
	return pinned{l, r.prefix()}
}

// prefix is the command that keeps a process, and those that it starts, to cores and memory.
func (r *Reserved) prefix() []string {
	switch {
	case r.Memory == "":
		return []string{"taskset", "--cpu-list", r.Cores}
	case r.Cores == "":
		return []string{"numactl", "--cpunodebind=" + r.Memory, "--membind=" + r.Memory}
	}
	return []string{"numactl", "--physcpubind=" + r.Cores, "--membind=" + r.Memory}
}

// pinned starts processes by a command before their own.
type pinned struct {
	steps.Launcher
	prefix []string
}

// Start implements steps.Launcher.
func (l pinned) Start(ctx context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	p.Argv = slices.Concat(l.prefix, p.Argv)
	return l.Launcher.Start(ctx, p, log)
}

// LaneNeeds is what lanes need of this machine: their GPUs in place of those that the targets state,
// and what starts processes on cores.
func LaneNeeds(p *plan.Plan, n doctor.Needs) doctor.Needs {
	if p.Lanes == nil || p.Simulated != "" {
		return n
	}
	var gpus []string
	for _, l := range p.Lanes.List {
		gpus = append(gpus, l.GPUs...)
		if program := (&Reserved{l}).prefix()[0]; len(n.Programs) > 0 && l.Cores+l.Memory != "" && !slices.Contains(n.Programs, program) {
			n.Programs = append(slices.Clip(n.Programs), program)
		}
	}
	if len(gpus) > 0 {
		n.Targets = slices.Clone(n.Targets)
		for i := range n.Targets {
			n.Targets[i].GPUs = []doctor.Request{{IDs: gpus}}
		}
	}
	return n
}

// onlineCores is where Linux lists the cores that are there.
const onlineCores = "/sys/devices/system/cpu/online"

// CheckCores finds lanes with cores that this machine does not have, and warns where they have all of
// them.
func CheckCores(p *plan.Plan, warn func(string)) error {
	if p.Lanes == nil {
		return nil
	}
	text, err := os.ReadFile(onlineCores)
	if err != nil {
		return nil // the kernel refuses them then
	}
	online, err := steps.CoreList(strings.TrimSpace(string(text)))
	if err != nil {
		return nil
	}
	taken := 0
	for i, l := range p.Lanes.List {
		cores, err := steps.CoreList(l.Cores)
		if err != nil {
			return err
		}
		taken += len(cores)
		for _, core := range cores {
			if !slices.Contains(online, core) {
				return fmt.Errorf("lane %d has core %d, and this machine has %s", i, core, strings.TrimSpace(string(text)))
			}
		}
	}
	if taken >= len(online) {
		warn(fmt.Sprintf("the lanes have all %d cores of this machine, on which the load generator runs, too", len(online)))
	}
	return nil
}
