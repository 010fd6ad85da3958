package slurm_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/slurm"
)

// checked returns what is wrong with job 7, of which squeue has a line, for a launch that needs a time.
func checked(t *testing.T, line string, need time.Duration) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		err = attached(t, slurm.Options{Need: need, Tell: func(string) {}}, commands{"squeue": line}).Check(t.Context())
	})
	return err
}

// A launch is begun in what is left of the job's time alone.
func TestTimeLeft(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0:30": 30 * time.Second, "12:03": 12*time.Minute + 3*time.Second, "1:00:00": time.Hour,
		"364-23:59:59": 365*24*time.Hour - time.Second, "45": 45 * time.Second,
	} {
		line := "RUNNING|None|" + text + "|n[1-2]"
		err := checked(t, line, want+1)
		if lost, ok := errors.AsType[*steps.EvictionError](err); !ok || lost.Class != steps.EvictionTimeLimit ||
			!strings.Contains(lost.Reason, fmt.Sprintf("has %s left", want)) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if err := checked(t, line, want); err != nil {
			t.Errorf("%s is enough: %v", text, err)
		}
	}
	for _, text := range []string{"UNLIMITED", "NOT_SET", "INVALID", "", "1:2:3:4", "-1:00", "a-1:00", "1-", "99999999999:00"} {
		if err := checked(t, "RUNNING|None|"+text+"|n[1-2]", math.MaxInt64); err != nil {
			t.Errorf("%q is read as a limit: %v", text, err)
		}
	}
}

func TestNodes(t *testing.T) {
	node := func(text string) ([]slurm.Node, error) {
		j := slurm.New(slurm.Options{JobID: "7", Spawner: commands{"squeue": "RUNNING|None|UNLIMITED|n1", "scontrol show hostnames": "n1\n",
			"scontrol --oneliner show node": text}})
		err := j.Allocate(t.Context())
		return j.Nodes(), err
	}
	// As scontrol of Slurm 22.05.8 writes it, shortened.
	nodes, err := node("NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=8 CPUTot=8 CPULoad=5.28 ActiveFeatures=(null) Gres=gpu:2 " +
		"NodeAddr=10.77.0.11 NodeHostName=n1 Port=17001 OS=Linux 6.1 #1 SMP RealMemory=4000\n")
	if err != nil || len(nodes) != 1 {
		t.Fatalf("%v, %v", nodes, err)
	}
	n := nodes[0]
	if n.Name != "n1" || n.Address != "10.77.0.11" || n.Facts["gres"] != "gpu:2" || n.Facts["cputot"] != "8" {
		t.Errorf("%+v", n)
	}
	if _, ok := n.Facts["activefeatures"]; ok {
		t.Error("(null) is taken for a feature")
	}
	for _, text := range []string{"", "NodeName=n1", "slurm_load_node error: x", "XNodeName=n1 NodeAddr=a"} {
		if nodes, err := node(text); err == nil {
			t.Errorf("%q is read as %+v", text, nodes)
		}
	}
}

// Whatever squeue prints, a job that has no time left is not used.
func FuzzCheck(f *testing.F) {
	f.Add("RUNNING|None|364-23:59:59|n[1-2]")
	f.Add("PENDING|Resources|UNLIMITED|")
	f.Add("|||")
	f.Add("CANCELLED")
	f.Fuzz(func(t *testing.T, line string) {
		err := checked(t, line, 0)
		if lost, ok := errors.AsType[*steps.EvictionError](err); ok && lost.Class == steps.EvictionTimeLimit &&
			!strings.HasPrefix(line, "TIMEOUT") &&
			!strings.HasPrefix(line, "DEADLINE") {
			t.Errorf("%q: less than no time is left: %v", line, err)
		}
	})
}

func TestLost(t *testing.T) {
	for name, want := range map[string]steps.EvictionClass{
		"RUNNING": "", "COMPLETING": steps.EvictionJobEnded,
		"NODE_FAIL": steps.EvictionNodeLost, "BOOT_FAIL": steps.EvictionNodeLost,
		"PREEMPTED": steps.EvictionPreempted, "SUSPENDED": steps.EvictionPreempted,
		"PENDING": steps.EvictionPreempted, "REQUEUED": steps.EvictionPreempted,
		"TIMEOUT": steps.EvictionTimeLimit, "DEADLINE": steps.EvictionTimeLimit,
		"CANCELLED": steps.EvictionJobCancelled, "COMPLETED": steps.EvictionJobEnded,
		"FAILED": steps.EvictionJobEnded, "OUT_OF_MEMORY": steps.EvictionJobEnded, "": steps.EvictionJobEnded,
		"A_STATE_OF_LATER_VERSIONS": steps.EvictionJobEnded,
	} {
		line := name + "|None|UNLIMITED|n[1-2]"
		if name == "" { // the controller has forgotten it
			line = ""
		}
		err := checked(t, line, 0)
		lost, ok := errors.AsType[*steps.EvictionError](err)
		if ok != (want != "") || ok && lost.Class != want || !ok && err != nil {
			t.Errorf("%s: %v, want class %q", name, err, want)
		}
		if ok && (!strings.Contains(lost.Reason, "7") || strings.Contains(lost.Reason, "None")) {
			t.Errorf("%s: %q", name, lost.Reason)
		}
	}
}
