package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// Attended is a server of a launch that is being measured.
type Attended struct {
	Addr     string // of the server's block
	Engine   steps.Engine
	Endpoint steps.Endpoint
	// Running is the server that the launcher started.
	Running steps.Server
}

// attended returns the servers of a launch.
func (s *server) attended() []Attended {
	var out []Attended
	for _, m := range s.servers() {
		out = append(out, Attended{m.Spec.Addr, m.Engine, m.endpoint, m.running})
	}
	return out
}

// Extra launches a target once more and measures one cell in it. The run of the plan gets no event, sample or verdict
// from it. o holds the options of the run, with another store and bus for this launch. outputs holds the outputs of the
// run's steps. Extra returns for how many seconds the machines were held, and why the cell could not be measured.
func Extra(ctx context.Context, o Options, outputs config.Outputs, l plan.Launch) (held float64, err error) {
	p := *o.Plan
	p.Repeats, p.Looks = []plan.Repeat{{Index: 1, Launches: []plan.Launch{l}}}, nil
	o.Plan, o.Resume, o.Bare = &p, nil, true
	r := newRunner(o.withDefaults())
	r.out.Outputs = outputs
	j := job{Launch: l, repeat: 1, lane: r.lane(p.Repeats[0])}
	j.lane.Clock.AdvanceTo(r.o.Now())
	end, err := r.attempt(ctx, j, 1, l.Runs)
	var runs []CellRun
	for _, l := range r.close().Launched {
		for _, a := range l.Attempts {
			held += a.Held
		}
		runs = append(runs, l.Runs...)
	}
	switch {
	case err != nil:
		return held, err
	case end.failure != nil:
		return held, fmt.Errorf("%s (%s): %s", phaseText(end.failure.Phase), end.failure.Class, end.failure.Evidence)
	}
	for _, run := range runs {
		if s := run.Run.Status; s == result.RunFailed || s == result.RunCancelled {
			return held, errors.New(run.Run.Reason)
		}
	}
	return held, nil
}
