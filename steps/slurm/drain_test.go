package slurm

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
)

// commands is a spawner that answers each of Slurm's commands by its program.
type commands map[string]string

func (c commands) Spawn(_ context.Context, cmd steps.Command) (steps.Child, error) {
	child := answered{make(chan struct{})}
	_, err := io.WriteString(cmd.Stdout, c[cmd.Argv[0]])
	close(child.done)
	return child, err
}

// A job that waits for drained nodes says which they are and why, and so does one that has waited too long.
func TestWaitsForDrained(t *testing.T) {
	for sinfo, want := range map[string]string{
		"n2|Kill task failed\nn2|Kill task failed\nn3|maintenance\n": "drained, and given to no job: n2 (Kill task failed), n3 (maintenance);",
		"": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			told := ""
			j := New(Options{Spawner: commands{"squeue": "PENDING|Resources|UNLIMITED|", "sinfo": sinfo},
				Spec: steps.SlurmSpec{QueueTimeout: time.Minute}, Tell: func(text string) { told += text }})
			j.id = "7"
			err := j.await(t.Context())
			e, _ := errors.AsType[*steps.EvictionError](err)
			if e == nil || e.Class != steps.EvictionJobPending || !strings.Contains(e.Reason, want) || !strings.Contains(told, want) ||
				want == "" && strings.Contains(told+e.Reason, "drained") {
				t.Errorf("%q: told %q, then %v", sinfo, told, err)
			}
		})
	}
}

// A node that is drained while the job has it is told of once, and ends nothing.
func TestDrainedMeanwhile(t *testing.T) {
	told := []string{}
	slurm := commands{"squeue": "RUNNING|None|UNLIMITED|n[1-2]"}
	j := New(Options{Spawner: slurm, Tell: func(text string) { told = append(told, text) }})
	j.id, j.nodes = "7", []Node{{Name: "n1"}, {Name: "n2"}}
	for i, want := range []int{0, 1, 1} {
		if i == 1 {
			slurm["sinfo"] = "n2|a new kernel\n"
		}
		if err := j.Check(t.Context()); err != nil || len(told) != want {
			t.Errorf("look %d: told %q, %v", i, told, err)
		}
	}
	if len(told) == 1 && !strings.HasPrefix(told[0], "node n2 (a new kernel) is being drained: Slurm job 7 keeps it") {
		t.Error(told[0])
	}
}
