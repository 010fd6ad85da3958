package engine

import (
	"cmp"
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

// checkLanes sees, before the first repeat, that lanes of one machine do not slow each other. They
// launch what they will launch at the same time, and that stays up: targets have the neighbours that they will
// have, what differs between launches is in both halves of each pair, and a few passes are enough. Where it is
// not shown the run ends, or its repeats come one after another.
func (r *runner) checkLanes(ctx context.Context) error {
	if r.o.Lane == nil || !slices.ContainsFunc(r.plan.Rounds(), func(round []plan.Repeat) bool { return r.plan.Beside(round) > 0 }) {
		return nil
	}
	if known := r.lanesKnown(); known != nil {
		r.out.Lanes = known
		if known.Shown {
			return nil
		}
		return r.inOneLane(cmp.Or(known.OneLane, lanesText(known)))
	}
	r.note(fmt.Sprintf("measuring how much the %d lanes slow each other", len(r.plan.Lanes.List)))
	found, err := r.lanesBeside(ctx)
	if found == nil {
		return err
	}
	r.out.Lanes = found
	text := lanesText(found)
	switch failed, ok := errors.AsType[*laneFailure](err); {
	case ok && firstBase(r.plan, []string{failed.target}) == "":
		// A head that fails is for the gates to judge. One that fails at times is in no lane beside others, since
		// nothing shows what they do to each other.
		err = r.inOneLane(failed.Error())
	case err == nil && !found.Shown && r.plan.Lanes.OneLane:
		err = r.inOneLane(text)
	case err == nil && !found.Shown:
		err = fmt.Errorf("%s; give them less in common, allow more interference or passes, have repeats come one after another by on_interference, or leave the lanes out", text)
	}
	r.bus.Emit(event.Event{Type: event.LanesChecked, Lanes: found, Text: text})
	return errors.Join(err, r.bus.Err())
}

// lanesKnown is what an earlier part of the run found out about its lanes, and nil where they are to be checked: a
// run that ended because they slow each other goes on where that was repaired.
func (r *runner) lanesKnown() *result.Lanes {
	s := r.o.Resume
	if s == nil || s.Lanes == nil {
		return nil
	}
	if l := s.Lanes; l.Shown || l.OneLane != "" || r.plan.Lanes.OneLane && len(l.Slowed) > 0 {
		return l
	}
	return nil
}

// inOneLane has repeats come one after another, each in its lane. The budget was planned for lanes side by side:
// the run ends where no gate can decide with what is left of it.
func (r *runner) inOneLane(why string) error {
	r.plan = r.plan.InOneLane()
	r.eta.inOneLane()
	needs, spending := r.plan.ToDecide(), r.spending()
	if len(r.resumed) > 0 {
		needs = 0 // they have begun to
	}
	for _, rep := range r.plan.Repeats[:needs] {
		spending = spending.Plus(r.expected([]plan.Repeat{rep}))
	}
	if bound := r.plan.Exceeded(spending); bound != "" && needs > 0 {
		return fmt.Errorf("%s; one after another, the %s that a gate needs to decide would exceed the budget of %s; allow more of it, or leave the lanes out",
			why, humanize.Count(needs, "repeat"), bound)
	}
	r.out.Lanes.OneLane = r.o.Redact.String(why)
	r.note(why + ": repeats come one after another, each in its lane")
	return nil
}

// laneFailure is the failure of a target in the check of lanes.
type laneFailure struct {
	target string
	err    error
}

func (e *laneFailure) Error() string { return e.err.Error() }
func (e *laneFailure) Unwrap() error { return e.err }

// laneCheck is the check of launches beside each other.
type laneCheck struct {
	*runner
	servers []*server // by lane
	runs    []judge.LaneRun
	found   *result.Lanes
	spent   plan.Spending
}

// lanesBeside measures what lanes do to each other, as long as nothing is found. What an error ends is known by
// what it took alone.
func (r *runner) lanesBeside(ctx context.Context) (all *result.Lanes, err error) {
	if all, _, err = judge.Lanes(r.plan, nil); err != nil {
		return nil, err
	}
	var spent plan.Spending
	if s := r.o.Resume; s != nil && s.Lanes != nil && s.Lanes.Spent != nil {
		spent = plan.Spending{MachineHours: s.Lanes.Spent.MachineHours, GPUHours: s.Lanes.Spent.GPUHours}
	}
	defer func() {
		if err != nil {
			all.Passes, all.Shown, all.Slowed = 0, false, []result.Slowed{}
		}
		if spent.MachineHours > 0 {
			of := r.plan.Price.Spent(spent.MachineHours, spent.GPUHours)
			all.Spent = &of
		}
	}()
	for _, launches := range r.plan.LaneCheck() {
		c := laneCheck{runner: newRunner(r.o)}
		c.bus, c.outputs = event.NewBus(r.o.Now, 0), r.outputs
		err = c.run(ctx, launches)
		spent = spent.Plus(c.spent)
		if err != nil {
			return all, err
		}
		all.Passes, all.Shown, all.Slowed = max(all.Passes, c.found.Passes), c.found.Shown, append(all.Slowed, c.found.Slowed...)
		if !all.Shown {
			break
		}
	}
	return all, nil
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
		return &laneFailure{s.Target, fmt.Errorf("%s does not start in lane %d while the others start (%s): %s", s.Target, lane, class, c.o.Redact.String(evidence))}
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
				if err == nil && measured.Status == result.RunFailed && len(turn) == 1 {
					// No neighbour is to blame, and no further pass helps.
					err = &laneFailure{s.Target, fmt.Errorf("%s alone in lane %d: %s", s.Target, lane, measured.Reason)}
				}
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
		return result.Run{}, &laneFailure{s.Target, fmt.Errorf("%s in lane %d: %w", s.Target, slices.Index(c.servers, s), cause.err)}
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
	for _, s := range c.servers {
		c.spent = c.spent.Plus(s.target.OfLaunch(s.launch.Held).Beside(s.launch.Beside))
	}
	c.servers = nil
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
		return "lanes slow each other: " + few(slow)
	case len(open) > 0:
		return fmt.Sprintf("lanes are not shown not to slow each other after %s: %s", humanize.Count(l.Passes, "pass"), few(open))
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

// slowedText is "tpot.p50 at rate=2 is 6.1 % worse beside the others (at most 7.0 %, allowed are 2.5 %)".
func slowedText(s *result.Slowed) string {
	where := s.Metric
	if s.Label != "" {
		where += " at " + s.Label
	}
	if s.Worse == nil {
		return where + " (" + s.Reason + ")"
	}
	return fmt.Sprintf("%s is %s beside the others (at most %.1f %%, allowed are %.3g %%)", where, s.Change(), 100**s.Most, 100*float64(s.Limit))
}
