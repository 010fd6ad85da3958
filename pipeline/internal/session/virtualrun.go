package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// VirtualNote says what a session in virtual time is worth.
const VirtualNote = "virtual time: the model of the servers alone, nothing was measured, and no process, connection or machine took part"

// transferNote says why transports stay open there.
const transferNote = "virtual time: KV cache moves in the model only, so no transport is proved or contradicted"

// rehearse carries the plan out in virtual time.
func (s *session) rehearse(ctx context.Context) (*engine.Outcome, []string, error) {
	v := s.machine
	v.files = s.opt.Config.Files
	resolve := targets{opt: s.opt, launcher: v, folder: s.dir.Folder}.resolve
	outcome, err := engine.Run(ctx, engine.Options{
		Plan: s.opt.Plan, Store: s.dir, Bus: s.bus, Ports: v,
		Target: func(addr string, outputs engine.Outputs) (engine.TargetSpec, error) {
			spec, err := resolve(addr, outputs)
			return v.played(spec), err
		},
		Step: s.step, Load: v.load, Look: s.look, Now: v.Now,
		Redact: s.redact, KeepGoing: s.opt.KeepGoing, Resume: s.state,
	})
	if err != nil {
		return outcome, nil, err
	}
	notes := append([]string{VirtualNote}, tooLong(s.opt.Plan, outcome)...)
	for _, t := range s.opt.Plan.Targets {
		if d := deploymentAt(s.opt.Config, t.Addr); d != nil && d.Spec.Transfer != nil {
			return outcome, append(notes, transferNote), nil
		}
	}
	return outcome, notes, nil
}

// tooLong says which of the file's timeouts a session on servers would meet. In virtual time
// nothing waits, so they end nothing.
func tooLong(p *plan.Plan, o *engine.Outcome) []string {
	var notes []string
	took := func(what string, seconds, limit float64) {
		if limit > 0 && seconds > limit {
			round := func(s float64) time.Duration { return time.Duration(s) * time.Second }
			notes = append(notes, fmt.Sprintf("%s takes %s in the model, and its timeout of %s would end it", what, round(seconds), round(limit)))
		}
	}
	took("the session", o.Ended.Sub(o.Started).Seconds(), p.Timeout)
	longest := map[string]float64{}
	for _, l := range o.Launched {
		for _, run := range l.Runs {
			longest[run.Cell] = max(longest[run.Cell], run.Run.Duration)
		}
	}
	for _, b := range p.Benchmarks {
		for _, c := range b.Cells {
			took(fmt.Sprintf("a run of %s %s", b.Addr, plan.Label(c.Values)), longest[c.Hash], b.Timeout)
		}
	}
	return notes
}

// launch starts all members of a target, and returns where its front is.
func (v *virtualMachine) launch(ctx context.Context, t engine.TargetSpec, launch string, log io.Writer) (front string, err error) {
	if t.Render == nil {
		return "", errors.New("it answers already, and virtual time has only what it starts itself")
	}
	ports := map[engine.Port]int{}
	for _, need := range t.Ports {
		if ports[need.Port] = need.Fixed; need.Fixed != 0 {
			continue
		}
		if ports[need.Port], _, err = v.TakeRow("", need.Count, need.Spacing); err != nil {
			return "", err
		}
	}
	processes, err := t.Render(launch, ports)
	if err != nil {
		return "", err
	}
	for _, wave := range t.Order {
		for _, name := range wave {
			p, err := v.Start(ctx, processes[name].Process, log)
			if err != nil {
				return "", err
			}
			if name == t.Front {
				front = p.BaseURL()
			}
		}
	}
	v.serve()
	return front, nil
}

// virtually says which target or workload cannot be carried out in virtual time.
func virtually(opt Options) []error {
	var found []error
	for _, t := range opt.Plan.Targets {
		if err := virtualTarget(opt, t.Addr); err != nil {
			found = append(found, &engine.ConfigError{Addr: t.Addr, Range: t.Range, Err: err})
		}
	}
	for _, b := range opt.Plan.Benchmarks {
		for _, c := range b.Cells {
			if err := virtualWorkload(c.Workload); err != nil {
				found = append(found, &engine.ConfigError{Addr: b.Addr, Range: b.Range, Err: err})
				break
			}
		}
	}
	return found
}

// virtualWorkload says what of a workload the model does not know.
func virtualWorkload(w steps.Workload) error {
	switch {
	case w.Driver != nil:
		return errors.New("its load comes from another generator, which virtual time does not have; use --simulate")
	case w.Endpoint == "embeddings":
		return errors.New("it asks for embeddings, and the model of virtual time knows answers of tokens alone")
	case dataset.RealAnswers(w.Dataset):
		return errors.New("its conversations go on with real answers (real_answers), and the model of virtual time has no words; use --simulate")
	}
	return nil
}

// virtualTarget starts a target for a try. Servers that fail to start as their real ones
// would are no fault here: the run shows it.
func virtualTarget(opt Options, addr string) error {
	for _, s := range serversOf(opt.Config, addr) {
		if err := replaceable(s); err != nil {
			return fmt.Errorf("%s: %w", s.Addr, err)
		}
	}
	return inFolder(func(folder func(string) (string, error)) error {
		v := newVirtualMachine(opt.Now(), folder)
		t, err := targets{opt: opt, launcher: v, folder: folder}.resolve(addr, nil)
		if err != nil {
			return nil //nolint:nilerr // told by others
		}
		front, err := v.launch(context.Background(), v.played(t), "check", io.Discard)
		if err != nil {
			return err
		}
		if _, err = v.fleet(front); errors.Is(err, errNotThere) {
			return nil // it has ended while it started
		}
		return err
	})
}

// inFolder lends a folder for the files of processes.
func inFolder(do func(folder func(name string) (string, error)) error) error {
	dir, err := os.MkdirTemp("", "pipeline-virtual-")
	if err != nil {
		return err
	}
	return errors.Join(do(func(string) (string, error) { return os.MkdirTemp(dir, "") }), os.RemoveAll(dir))
}

var _ engine.Ports = (*virtualMachine)(nil)
