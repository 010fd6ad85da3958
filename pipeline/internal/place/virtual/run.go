package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/kv"
)

// transferNote states why a run in virtual time proves nothing about transports.
const transferNote = "virtual time: KV cache moves in the model only, so no transport is proved or contradicted"

// notes returns what a reader must know about a run in virtual time, beside that nothing was measured, which every report says
// before anything else.
func (v *machine) notes(doc *result.Document) []string {
	p := v.opt.Plan
	notes := tooLong(p, doc)
	for _, t := range p.Targets {
		if d := v.opt.Plan.Config.DeploymentAt(t.Addr); d != nil && d.Spec.Transfer != nil {
			return append(notes, transferNote)
		}
	}
	return notes
}

// tooLong lists the file's timeouts that a run on servers would reach. In virtual time they have no effect.
func tooLong(p *plan.Plan, doc *result.Document) []string {
	var notes []string
	took := func(what string, seconds, limit float64) {
		if limit > 0 && seconds > limit {
			round := func(s float64) time.Duration { return time.Duration(s) * time.Second }
			notes = append(notes, fmt.Sprintf("%s takes %s in the model, and its timeout of %s would end it", what, round(seconds), round(limit)))
		}
	}
	took("the session", doc.Ended.Sub(doc.Started).Seconds(), p.Timeout)
	for i, b := range p.Benchmarks {
		for _, c := range doc.Benchmarks[i].Cells {
			longest := 0.0
			for _, run := range c.Runs {
				longest = max(longest, run.Duration)
			}
			took(fmt.Sprintf("a run of %s %s", b.Addr, result.Coordinates(c.Values, " ")), longest, b.Timeout)
		}
	}
	return notes
}

// launch starts all members of a target, and returns the URL of its front.
func (v *machine) launch(ctx context.Context, t engine.TargetSpec, launch string, log io.Writer) (front string, err error) {
	if t.Render == nil {
		return "", errors.New("it answers already, and virtual time has only what it starts itself")
	}
	ports := map[kv.Port]int{}
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

// try starts a target, and checks that its front is a fleet of the model.
func (v *machine) try(t engine.TargetSpec) error {
	front, err := v.launch(context.Background(), t, "check", io.Discard)
	if err != nil {
		return err
	}
	if _, err = v.fleetAt(front); errors.Is(err, errNotThere) {
		return nil // it ended during its start
	}
	return err
}
