package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// checkLanes sees, before the first repeat, that lanes of one machine do not slow each other. Each
// launches what it begins with, and that stays up: targets have the neighbours that they will have,
// what differs between launches is in both halves of each pair, and a few passes are enough. The run
// ends where it is not shown.
func (r *runner) checkLanes(ctx context.Context) error {
	if r.o.Lane == nil || !slices.ContainsFunc(r.plan.Rounds(), func(round []plan.Repeat) bool { return r.plan.Beside(round) > 0 }) {
		return nil
	}
	if s := r.o.Resume; s != nil && s.Lanes != nil && s.Lanes.Shown {
		r.out.Lanes = s.Lanes
		return nil
	}
	r.note(fmt.Sprintf("measuring how much the %d lanes slow each other", len(r.plan.Lanes.List)))
	launches := r.plan.LaneCheck()
	found, err := r.lanesBeside(ctx, launches)
	if failed, ok := errors.AsType[*laneFailure](err); ok && failed.target != launches[0].Target {
		// A head that fails is for the gates to judge: it counts in the repeats.
		r.note(fmt.Sprintf("%v: measuring it with %s in all lanes", failed, launches[0].Target))
		for lane := range launches {
			launches[lane].Target, launches[lane].Runs = launches[0].Target, launches[0].Runs
		}
		found, err = r.lanesBeside(ctx, launches)
	}
	if found == nil || err != nil {
		return err
	}
	r.out.Lanes = found
	r.bus.Emit(event.Event{Type: event.LanesChecked, Lanes: found, Text: lanesText(found)})
	if !found.Shown {
		return errors.New(lanesText(found))
	}
	return r.bus.Err()
}

// laneFailure is the failure of a target in the check of lanes.
type laneFailure struct {
	target string
	err    error
}

func (e *laneFailure) Error() string { return e.err.Error() }
func (e *laneFailure) Unwrap() error { return e.err }

// laneCheck is the check of the lanes of a plan.
type laneCheck struct {
	*runner
	servers []*server // by lane
	runs    []judge.LaneRun
	found   *result.Lanes
}

// lanesBeside measures what lanes do to each other with a launch in each.
func (r *runner) lanesBeside(ctx context.Context, launches []plan.Launch) (*result.Lanes, error) {
	c := laneCheck{runner: newRunner(r.o)}
	c.bus, c.outputs = event.NewBus(r.o.Now, 0), r.outputs
	err := c.run(ctx, launches)
	return c.found, err
}

func (c *laneCheck) run(ctx context.Context, launches []plan.Launch) (err error) {
	var targets []string
	for lane, launch := range launches {
		if len(launch.Runs) == 0 {
			return errors.New("lanes: nothing is measured in the first launches by which they could be seen to slow each other")
		}
		at := c.lane(plan.Repeat{Lane: lane})
		at.Clock.AdvanceTo(c.o.Now())
		s, err := c.open(job{Launch: launch, lane: at, got: &Launched{}}, 1)
		if err != nil {
			return errors.Join(err, c.stop(ctx))
		}
		s.launch.Beside = len(launches) - 1
		c.servers, targets = append(c.servers, s), append(targets, launch.Target)
	}
	defer func() { err = errors.Join(err, c.stop(ctx)) }()
	if err := c.start(ctx); err != nil {
		return err
	}
	for pass := 1; ; pass++ {
		for _, turn := range laneTurns(targets, pass) {
			if err := c.measure(ctx, pass, turn); err != nil {
				return err
			}
		}
		var over bool
		if c.found, over, err = judge.Lanes(c.plan, c.runs); err != nil || over {
			return err
		}
	}
}

// laneTurns are the lanes that measure at the same time in the turns of a pass: one lane of each target
// alone, and all of them, in the other order once all had their turn, so that a drift falls on both alike.
func laneTurns(targets []string, pass int) [][]int {
	lanes := map[string][]int{}
	all := make([]int, len(targets))
	most := 0
	for lane, target := range targets {
		all[lane] = lane
		lanes[target] = append(lanes[target], lane)
		most = max(most, len(lanes[target]))
	}
	var out [][]int
	for lane, target := range targets {
		if of := lanes[target]; of[0] == lane {
			out = append(out, []int{of[(pass-1)%len(of)]})
		}
	}
	out = append(out, all)
	round, alone := (pass-1)/most, (pass-1)%most
	if (round+alone)%2 == 1 {
		slices.Reverse(out)
	}
	return out
}

// start starts the servers of all lanes at once.
func (c *laneCheck) start(ctx context.Context) error {
	faults := make([]*fault, len(c.servers))
	c.each(func(lane int, s *server) {
		s.lane.Machine.Before(ctx, s.Target)
		faults[lane] = c.bringUp(ctx, s)
	})
	for lane, f := range faults {
		if f == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s := c.servers[lane]
		_, class, evidence := s.cause(f)
		return &laneFailure{s.Target, fmt.Errorf("lanes: %s does not start in lane %d while the others start (%s): %s", s.Target, lane, class, c.o.Redact.String(evidence))}
	}
	return nil
}

// measure measures the cells of some lanes at the same time.
func (c *laneCheck) measure(ctx context.Context, pass int, turn []int) error {
	for i := range c.servers[turn[0]].Runs {
		c.meet()
		errs := make([]error, len(turn))
		var mu sync.Mutex
		var all sync.WaitGroup
		for at, lane := range turn {
			s := c.servers[lane]
			if i >= len(s.Runs) {
				continue
			}
			s.beside = len(turn) - 1
			run := s.Runs[i]
			run.Pass = pass
			run.Seed += uint64(pass) // the same prompts alone and beside the others
			all.Go(func() {
				measured, err := c.once(ctx, s, run)
				if err != nil {
					errs[at] = err
					return
				}
				mu.Lock()
				defer mu.Unlock()
				c.runs = append(c.runs, judge.LaneRun{Lane: lane, Pass: pass, Alone: len(turn) == 1, Cell: run.Cell, Run: measured})
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// once measures a cell once. It is no run of the plan, and nothing is kept of it but what it measured.
func (c *laneCheck) once(ctx context.Context, s *server, run plan.Run) (result.Run, error) {
	inner := newRunner(c.o)
	inner.o.Store, inner.o.Bare, inner.bus = store.Discard{}, true, c.bus
	of := *s
	of.got = &Launched{}
	cause, err := inner.pass(ctx, &of, run)
	switch {
	case ctx.Err() != nil:
		return result.Run{}, context.Cause(ctx)
	case err != nil:
		return result.Run{}, err
	case cause != nil:
		return result.Run{}, &laneFailure{s.Target, fmt.Errorf("lanes: lane %d, %s: %w", slices.Index(c.servers, s), s.Target, cause.err)}
	}
	return of.got.Runs[0].Run, nil
}

// meet lets the clocks of all lanes go on from the same time.
func (c *laneCheck) meet() {
	latest := c.o.Now()
	for _, s := range c.servers {
		if now := s.lane.Clock.Now(); now.After(latest) {
			latest = now
		}
	}
	for _, s := range c.servers {
		s.lane.Clock.AdvanceTo(latest)
	}
}

// stop ends the servers, and notes what they held.
func (c *laneCheck) stop(ctx context.Context) error {
	c.meet()
	errs := make([]error, len(c.servers))
	c.each(func(lane int, s *server) {
		errs[lane] = c.runner.stop(ctx, s)
		c.held(s)
	})
	spent := plan.Spending{}
	for _, s := range c.servers {
		spent = spent.Plus(s.target.OfLaunch(s.launch.Held).Beside(s.launch.Beside))
	}
	c.servers = nil
	if c.found != nil && spent.MachineHours > 0 {
		of := c.plan.Price.Spent(spent.MachineHours, spent.GPUHours)
		c.found.Spent = &of
	}
	return errors.Join(errs...)
}

// each does something with all servers at once.
func (c *laneCheck) each(do func(lane int, s *server)) {
	var all sync.WaitGroup
	for lane, s := range c.servers {
		all.Go(func() { do(lane, s) })
	}
	all.Wait()
}

// lanesText is what the check of lanes found, in one sentence.
func lanesText(l *result.Lanes) string {
	var within, slow, open []string
	for i := range l.Slowed {
		s := &l.Slowed[i]
		switch s.Verdict {
		case result.Regression:
			slow = append(slow, slowedText(s))
		case result.Pass, result.Improvement:
			within = append(within, slowedText(s))
		default:
			open = append(open, slowedText(s))
		}
	}
	switch {
	case l.Shown:
		return "lanes do not slow each other: " + few(within)
	case len(slow) > 0:
		return fmt.Sprintf("lanes slow each other: %s; give them less in common, allow more interference, or leave the lanes out", few(slow))
	case len(open) > 0:
		return fmt.Sprintf("lanes are not shown not to slow each other after %s: %s; allow more passes or more interference, or leave the lanes out", humanize.Count(l.Passes, "pass"), few(open))
	}
	return "lanes are not shown not to slow each other: no run of the check counts"
}

// few are the first of some texts.
func few(list []string) string {
	const most = 3
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return strings.Join(list, ", ")
}

// slowedText is "tpot.p50 at rate=2 +6.1 % beside the others (at most +7.0 %, allowed are 2.5 %)".
func slowedText(s *result.Slowed) string {
	where := s.Metric
	if s.Label != "" {
		where += " at " + s.Label
	}
	if s.Worse == nil {
		return where + " (" + s.Reason + ")"
	}
	return fmt.Sprintf("%s %+.1f %% beside the others (at most %+.1f %%, allowed are %.3g %%)", where, 100**s.Worse, 100**s.Most, 100*float64(s.Limit))
}
