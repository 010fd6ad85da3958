package slurm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
)

func TestParseLeft(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0:30": 30 * time.Second, "12:03": 12*time.Minute + 3*time.Second, "1:00:00": time.Hour,
		"364-23:59:59": 365*24*time.Hour - time.Second, "45": 45 * time.Second,
	} {
		if got, ok := parseLeft(text); !ok || got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"UNLIMITED", "NOT_SET", "INVALID", "", "1:2:3:4", "-1:00", "a-1:00", "1-", "99999999999:00"} {
		if got, ok := parseLeft(text); ok {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}

func TestParseNode(t *testing.T) {
	// As scontrol of Slurm 22.05.8 writes it, shortened.
	n, err := parseNode("NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=8 CPUTot=8 CPULoad=5.28 ActiveFeatures=(null) Gres=gpu:2 " +
		"NodeAddr=10.77.0.11 NodeHostName=n1 Port=17001 OS=Linux 6.1 #1 SMP RealMemory=4000\n")
	if err != nil || n.Name != "n1" || n.Address != "10.77.0.11" || n.Facts["gres"] != "gpu:2" || n.Facts["cputot"] != "8" {
		t.Errorf("%+v, %v", n, err)
	}
	if _, ok := n.Facts["activefeatures"]; ok {
		t.Error("(null) is taken for a feature")
	}
	for _, text := range []string{"", "NodeName=n1", "slurm_load_node error: x", "XNodeName=n1 NodeAddr=a"} {
		if n, err := parseNode(text); err == nil {
			t.Errorf("%q is read as %+v", text, n)
		}
	}
}

func FuzzParseState(f *testing.F) {
	f.Add("RUNNING|None|364-23:59:59|n[1-2]")
	f.Add("PENDING|Resources|UNLIMITED|")
	f.Add("|||")
	f.Add("CANCELLED")
	f.Fuzz(func(t *testing.T, line string) {
		s, err := parseState(line)
		if err == nil && s.limited && s.left < 0 {
			t.Errorf("%q leaves %s", line, s.left)
		}
	})
}

func TestLost(t *testing.T) {
	j := New(Options{})
	j.id = "7"
	for name, want := range map[string]steps.EvictionClass{
		"RUNNING": "", "COMPLETING": "",
		"NODE_FAIL": steps.EvictionNodeLost, "BOOT_FAIL": steps.EvictionNodeLost,
		"PREEMPTED": steps.EvictionPreempted, "SUSPENDED": steps.EvictionPreempted,
		"PENDING": steps.EvictionPreempted, "REQUEUED": steps.EvictionPreempted,
		"TIMEOUT": steps.EvictionTimeLimit, "DEADLINE": steps.EvictionTimeLimit,
		"CANCELLED": steps.EvictionJobCancelled, "COMPLETED": steps.EvictionJobEnded,
		"FAILED": steps.EvictionJobEnded, "OUT_OF_MEMORY": steps.EvictionJobEnded, "": steps.EvictionJobEnded,
		"A_STATE_OF_LATER_VERSIONS": steps.EvictionJobEnded,
	} {
		err := j.lost(state{name: name, reason: "None"})
		lost, ok := errors.AsType[*steps.EvictionError](err)
		if got := ""; ok != (want != "") || ok && lost.Class != want {
			t.Errorf("%s: %v %s, want class %q", name, err, got, want)
		}
		if ok && (!strings.Contains(lost.Reason, "7") || strings.Contains(lost.Reason, "None")) {
			t.Errorf("%s: %q", name, lost.Reason)
		}
	}
}
