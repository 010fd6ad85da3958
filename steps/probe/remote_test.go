package probe_test

import (
	"context"
	"io/fs"
	"os/exec"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// mark begins each part of what the shell of another machine tells.
const mark = "=-=pipeline=-= "

// shell starts real shells; other programs are as smi has them.
type shell struct{ smi }

func (s shell) Spawn(ctx context.Context, c steps.Command) (steps.Child, error) {
	if c.Argv[0] != "sh" {
		return s.smi.Spawn(ctx, c)
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Stdout = c.Stdout
	err := cmd.Run()
	done := make(chan struct{})
	close(done)
	return ended{done, err}, nil
}

// TestRemoteIsMachineFromAfar: what is reported of another machine is what this one would report
// of itself, by the same keys.
func TestRemoteIsMachineFromAfar(t *testing.T) {
	if _, err := exec.LookPath("nproc"); err != nil {
		t.Skip("this machine has no nproc")
	}
	sp := shell{smi{csv: file(t, "h100x2.csv"), topo: file(t, "h100x2.topo")}}
	got, err := probe.Remote(t.Context(), sp)
	if err != nil {
		t.Fatal(err)
	}
	want := probe.Machine(t.Context(), sp)
	for key, value := range want {
		switch key {
		case "nics", "numa_nodes":
			continue
		}
		if value == probe.Unavailable {
			value = ""
		}
		if got[key] != value {
			t.Errorf("%s is %q from afar and %q here", key, got[key], value)
		}
	}
	if got["gpu_count"] != "2" || got["cpu_model"] == "" {
		t.Errorf("facts %v", got)
	}
	for key := range got {
		if _, known := want[key]; !known {
			t.Errorf("%s is no fact of a machine", key)
		}
	}
}

// deaf is a machine without a shell.
type deaf struct{}

func (deaf) Spawn(context.Context, steps.Command) (steps.Child, error) { return nil, fs.ErrNotExist }

func TestRemoteWithoutAnswers(t *testing.T) {
	if _, err := probe.Remote(t.Context(), deaf{}); err == nil || !strings.Contains(err.Error(), "describing the machine") {
		t.Errorf("%v", err)
	}
	got, err := probe.Remote(t.Context(), smi{csv: "nothing of that kind\n" + mark + "\n" + mark + "nproc\n64\n", topo: ""})
	if err != nil || got["cpus"] != "64" || got["cpu_model"] != "" {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzRemote(f *testing.F) {
	f.Add("a\n" + mark + "nproc\n4\n\n" + mark + "proc/cpuinfo\nmodel name : x\n")
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || text == "FAIL" {
			return // of a shell that is not there, or fails
		}
		for _, value := range afar(t, text) {
			sane(t, value)
		}
	})
}
