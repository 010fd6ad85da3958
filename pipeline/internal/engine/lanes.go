package engine

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps/load"
)

// Lane is a part of a cluster, or one of several machines, on which repeats run.
type Lane struct {
	// Target resolves a target on the nodes of the lane, as Options.Target does.
	Target func(addr string, outputs config.Outputs) (TargetSpec, error)
	// Nodes holds the names of the nodes, separated by commas; "" if there is only one machine.
	Nodes string
	// Clock and Ports belong to a lane in a model; nil means the clock and the ports of the run.
	Clock *LaneClock
	Ports Ports
	// Load executes one run of a workload on LoadNode; nil means that Options.Load does, on this machine. It returns a
	// [load.LostError] if the load generator is lost.
	Load     func(context.Context, LoadRun) (load.Result, error)
	LoadNode string
}

// LaneClock is the clock of one lane in a model.
type LaneClock struct {
	Now func() time.Time
	// AdvanceTo advances the clock to t, if it is not later already.
	AdvanceTo func(t time.Time)
}

// LoadRun describes a run of a load generator on another node.
type LoadRun struct {
	load.Options
	// Name is the name of its files in the run directory.
	Name string
	// Log receives its output.
	Log io.Writer
}

// generate executes a workload with the load generator of the lane.
func (r *runner) generate(ctx context.Context, s *server, run plan.Run, opt load.Options) (load.Result, error) {
	if s.lane.Load == nil {
		return r.o.Load(ctx, opt)
	}
	name := r.runName(s, run)
	log, err := r.o.Store.Log(name + "-load")
	if err != nil {
		return load.Result{}, &load.LostError{Err: err}
	}
	got, err := s.lane.Load(ctx, LoadRun{Options: opt, Name: name, Log: log})
	if err := log.Close(); err != nil {
		r.warn(fmt.Sprintf("the log of the load generator: %v", err))
	}
	return got, err
}

// lane returns the lane of a repeat, with its defaults set.
func (r *runner) lane(rep plan.Repeat) Lane {
	lane := Lane{Target: r.o.Target}
	if r.o.Lane != nil {
		lane = r.o.Lane(rep.Lane)
	}
	if lane.Clock == nil {
		lane.Clock = &LaneClock{Now: r.o.Now, AdvanceTo: func(time.Time) {}}
	}
	if lane.Ports == nil {
		lane.Ports = r.o.Ports
	}
	return lane
}

// laneError ends the launches of other lanes.
type laneError struct{ err error }

func (e *laneError) Error() string { return "the run ended on other nodes" }
func (e *laneError) Unwrap() error { return e.err }

// round executes repeats side by side, each on its lane. An error of one ends all. It reports whether the run is over.
func (r *runner) round(ctx context.Context, round []plan.Repeat) (over bool, err error) {
	switch {
	case len(round) == 1:
		return r.repeat(ctx, round[0], 0)
	case r.o.Lane == nil && !round[1].Beside:
		return r.oneByOne(ctx, round)
	case round[1].Beside:
		if err := r.launches(ctx, 0, round...); err != nil {
			return false, err
		}
		return r.repeatsEnd(0, round...)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var all sync.WaitGroup
	var once sync.Once
	for _, rep := range round {
		all.Go(func() {
			if failed := r.launches(ctx, 0, rep); failed != nil {
				once.Do(func() { err = failed; end(&laneError{failed}) })
			}
		})
	}
	all.Wait()
	sortByRepeat(r.out.Launched)
	if err != nil {
		return false, err
	}
	return r.repeatsEnd(0, round...)
}

// oneByOne executes repeats one after another.
func (r *runner) oneByOne(ctx context.Context, round []plan.Repeat) (over bool, err error) {
	for _, rep := range round {
		if over, err := r.repeat(ctx, rep, 0); err != nil || over {
			return over, err
		}
	}
	return false, nil
}

// launches launches every target of the repeats once. If servers stay resident, it launches those of several repeats
// beside each other.
func (r *runner) launches(ctx context.Context, replaces int, reps ...plan.Repeat) error {
	unfinished := r.unfinished(reps)
	var resident []job
	for _, rep := range reps {
		lane := r.lane(rep)
		again := r.elsewhere(rep, lane) || unfinished
		for _, l := range rep.Launches {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !r.due(l, replaces, again) {
				continue
			}
			j := job{Launch: l, repeat: rep.Index, replaces: replaces, lane: lane}
			if r.plan.Resident != "" {
				resident = append(resident, j)
			} else if err := r.launch(ctx, j); err != nil {
				return err
			}
		}
	}
	for _, jobs := range together(resident, len(reps) > 1) {
		if err := r.takeTurns(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

// due reports whether a launch must be executed. It adopts the launch from an earlier part of the run if there is one.
func (r *runner) due(l plan.Launch, replaces int, again bool) bool {
	if replaces > 0 {
		r.eta.add(l)
	}
	if before, ok := r.resumed[l.ID]; ok && !again {
		r.adopt(before)
		r.eta.skip(l)
		return false
	}
	if r.givenUp(l.Target) {
		r.eta.skip(l)
		return false
	}
	return true
}

// adopt adds a launch of an earlier part of the run.
func (r *runner) adopt(l Launched) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Launched = append(r.out.Launched, l)
}

// elsewhere reports whether a repeat began on other nodes than its present ones. All its sides are then measured again,
// since differences between nodes would look like differences between sides.
func (r *runner) elsewhere(rep plan.Repeat, lane Lane) bool {
	other, left := "", 0
	for _, l := range rep.Launches {
		before, ok := r.resumed[l.ID]
		if !ok {
			left++
			continue
		}
		for _, run := range before.Runs {
			if run.Run.Nodes != lane.Nodes {
				other = run.Run.Nodes
			}
		}
	}
	if other == "" || left == 0 {
		return false
	}
	r.warn(fmt.Sprintf("repeat %d was begun on %s and is measured again on %s, so that its sides are compared on the same nodes", rep.Index,
		other, lane.Nodes))
	return true
}

// repeatsEnd emits the end of repeats that ended together, and applies the policy on failing targets.
func (r *runner) repeatsEnd(replaces int, ended ...plan.Repeat) (over bool, err error) {
	for _, rep := range ended {
		r.bus.Emit(event.Event{Type: event.RepeatEnd, Repeat: rep.Index, Repeats: len(r.plan.Repeats), Replaces: replaces})
	}
	if err := r.bus.Err(); err != nil {
		return false, err
	}
	return r.stopAfter(ended[len(ended)-1].Index)
}

// givenUp reports whether a target has failed as often as it may.
func (r *runner) givenUp(target string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return givenUp(r.plan, r.out.Launched, target)
}
