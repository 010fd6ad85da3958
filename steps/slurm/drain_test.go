package slurm_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/slurm"
)

// commands is a spawner that answers Slurm's commands by the beginning of their command lines.
type commands map[string]string

// running answers for job 7, which has two nodes.
func running() commands {
	return commands{
		"squeue": "RUNNING|None|UNLIMITED|n[1-2]", "scontrol show hostnames n[1-2]": "n1\nn2\n",
		"scontrol --oneliner show node n1": "NodeName=n1 NodeAddr=127.0.0.1",
		"scontrol --oneliner show node n2": "NodeName=n2 NodeAddr=10.77.0.12",
	}
}

func (c commands) Spawn(_ context.Context, cmd steps.Command) (steps.Child, error) {
	line, longest := strings.Join(cmd.Argv, " "), ""
	for begin := range c {
		if strings.HasPrefix(line, begin) && len(begin) > len(longest) {
			longest = begin
		}
	}
	_, err := io.WriteString(cmd.Stdout, c[longest])
	return ended{}, err
}

// ended is a process that has ended.
type ended struct{ steps.Child }

func (ended) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
func (ended) Wait() error         { return nil }
func (ended) Signal(string) error { return nil }

// recorder keeps the commands that start steps.
type recorder struct {
	commands
	steps []steps.Command
}

func (r *recorder) Spawn(ctx context.Context, cmd steps.Command) (steps.Child, error) {
	if cmd.Argv[0] == "srun" {
		r.steps = append(r.steps, cmd)
	}
	return r.commands.Spawn(ctx, cmd)
}

// launched starts a process on the first node of job 7. Its step ends at once.
func launched(t *testing.T, opt slurm.Options, at slurm.Place, p steps.Process) (*recorder, steps.Server, error) {
	t.Helper()
	r := &recorder{commands: running()}
	opt.JobID, opt.Spawner, opt.RunID, opt.Owner = "7", r, "r", "o"
	j := slurm.New(opt)
	if err := j.Allocate(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Port = 1 // where nothing listens
	s, err := j.Launcher(at).Start(t.Context(), p, nil)
	return r, s, err
}

// attached returns job 7 with its nodes; more are further answers from then on.
func attached(t *testing.T, opt slurm.Options, more commands) *slurm.Job {
	t.Helper()
	answers := running()
	opt.JobID, opt.Spawner = "7", answers
	j := slurm.New(opt)
	if err := j.Allocate(t.Context()); err != nil {
		t.Fatal(err)
	}
	maps.Copy(answers, more)
	return j
}

// A job that waits for drained nodes says which they are and why, and so does one that has waited too long.
func TestWaitsForDrained(t *testing.T) {
	for sinfo, want := range map[string]string{
		"n2|Kill task failed\nn2|Kill task failed\nn3|maintenance\n": "drained, and given to no job: n2 (Kill task failed), n3 (maintenance);",
		"": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			told := ""
			j := slurm.New(slurm.Options{Spawner: commands{"sbatch": "7\n", "squeue": "PENDING|Resources|UNLIMITED|", "sinfo": sinfo},
				Spec: steps.SlurmSpec{QueueTimeout: time.Minute}, Tell: func(text string) { told += text }})
			err := j.Allocate(t.Context())
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
	slurms := commands{}
	j := slurm.New(slurm.Options{JobID: "7", Spawner: slurms, Tell: func(text string) { told = append(told, text) }})
	maps.Copy(slurms, running())
	if err := j.Allocate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 1, 1} {
		if i == 1 {
			slurms["sinfo"] = "n2|a new kernel\n"
		}
		if err := j.Check(t.Context()); err != nil || len(told) != want {
			t.Errorf("look %d: told %q, %v", i, told, err)
		}
	}
	if len(told) == 1 && !strings.HasPrefix(told[0], "node n2 (a new kernel) is being drained: Slurm job 7 keeps it") {
		t.Error(told[0])
	}
}
