package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/profile"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// noRegression reports whether there is nothing to profile.
func (s *session) noRegression() bool { return s.regression == nil }

// profile profiles both sides of the regression while the places are open. A failure does not affect the run.
func (s *session) profile(ctx context.Context) error {
	p := &profiling{session: s, spec: *s.opt.Plan.Config.Settings.Profile, of: *s.regression}
	s.doc.Profile = p.run(ctx)
	if reason := s.doc.Profile.Reason; reason != "" {
		s.warn("no profile of the regression: " + reason)
	}
	return nil
}

// profiling is one pair while it is profiled.
type profiling struct {
	*session
	spec config.Profile
	of   regression
	// notes of the profile, and the time that its launches took.
	notes []string
	spent plan.Spending
}

// side holds the profile of one side.
type side struct {
	result.ProfileSide
	summary profile.Summary
	dirs    map[string]traceDir // by server
	got     []steps.Profiled
	// secret means that one of its servers was given a secret, which an opaque trace would contain.
	secret bool
}

func (p *profiling) run(ctx context.Context) *result.Profile {
	d := p.of.decision
	out := &result.Profile{
		Profiler: p.spec.Profiler, Gate: p.of.gate, Metric: d.Metric, Benchmark: p.of.benchmark,
		Base: d.BaseCell, Head: d.Cell, Values: d.Values,
	}
	if p.spec.Profiler != config.ProfilerTorch && !p.targets.ProfiledAround() {
		p.note("Simulated servers are profiled by their model in place of " + p.spec.Profiler + ".")
	}
	launches, err := p.launches()
	var sides []*side
	for i := 0; err == nil && i < len(launches); i++ {
		one := &side{ProfileSide: result.ProfileSide{Side: []string{"base", "head"}[i], Target: launches[i].Target}, dirs: map[string]traceDir{}}
		p.info(fmt.Sprintf("%s regressed: %s starts once more to be profiled", p.of.gate, launches[i].Target))
		if err = p.launch(ctx, launches[i], one); err != nil {
			err = fmt.Errorf("%s: %w", one.Side, err)
		}
		sides = append(sides, one)
	}
	if err == nil {
		err = p.compare(out, sides)
	}
	if err != nil {
		out.Reason = p.redact.String(err.Error())
	}
	p.keep(sides)
	for _, s := range sides {
		out.Sides = append(out.Sides, s.ProfileSide)
	}
	if out.Reason != "" {
		out.Sides = nil
	}
	out.Notes, out.Spent = p.notes, p.bill()
	return out
}

// bill returns the cost of the launches; nil if none, or if only servers were replaced.
func (p *profiling) bill() *result.Spent {
	if p.spent.MachineHours == 0 || !p.doc.HasCost() {
		return nil
	}
	out := p.doc.Price.Spent(p.spent.Hours)
	return &out
}

// launches returns one launch per side, with the first run of its cell in the plan.
func (p *profiling) launches() ([]plan.Launch, error) {
	d := p.of.decision
	switch {
	case d.SuiteCells > 0:
		return nil, errors.New("it is of all cells of the benchmark together, and no cell regressed by itself more clearly")
	case d.BaseCell == "":
		return nil, errors.New("its baseline is another session, and both sides have to be profiled on the same machine")
	}
	var out []plan.Launch
	for _, hash := range []string{d.BaseCell, d.Cell} {
		_, cell, ok := p.opt.Plan.Cell(hash)
		if err := p.targets.Unprofiled(cell.Target); ok && err != nil {
			return nil, err
		}
		if !ok || cell.Workload.Answers != nil || cell.Workload.Driver != nil && cell.Workload.Driver.Evaluation != nil {
			return nil, errors.New("not a regression of speed")
		}
		l, ok := firstOf(p.opt.Plan, hash)
		if !ok {
			return nil, errors.New("the plan does not measure both of its sides")
		}
		out = append(out, l)
	}
	return out, nil
}

// firstOf returns the first launch that measures a cell, with only that run.
func firstOf(p *plan.Plan, cell string) (plan.Launch, bool) {
	for _, rep := range p.Repeats {
		for _, l := range rep.Launches {
			for _, run := range l.Runs {
				if run.Cell == cell {
					run.Pass = 0
					return plan.Launch{ID: "profile-" + l.Target, Target: l.Target, Runs: []plan.Run{run}}, true
				}
			}
		}
	}
	return plan.Launch{}, false
}

// launch starts a side for profiling, and reads the profilers' files.
func (p *profiling) launch(ctx context.Context, l plan.Launch, s *side) error {
	l.ID = "profile-" + s.Side + "-" + l.Target
	targets := p.targets
	targets.Change = func(spec steps.ServerSpec, contained bool) (steps.ServerSpec, error) {
		return p.profiled(ctx, l, s, spec, contained)
	}
	var failed error
	opt := p.engine
	opt.Store, opt.Bus, opt.Target = apart{p.dir}, event.NewBus(p.now, 0), targets.Resolve
	opt.Lane = p.lanes(targets)
	opt.Watchers = append(slices.Clone(opt.Watchers), func(_ context.Context, servers []engine.Attended) engine.Watcher {
		var stops []stopping
		return engine.Watcher{
			Before: func(context.Context) { stops = p.start(ctx, l, s, servers) }, // beyond the end of the load
			After: func(context.Context, time.Duration) {
				if stops != nil {
					failed = p.stop(ctx, s, servers, stops)
				}
			},
		}
	})
	held, err := engine.Extra(ctx, opt, p.outcome.Outputs, l)
	p.spent = p.spent.Plus(p.opt.Plan.Target(l.Target).OfLaunch(held))
	p.settle(ctx)
	if err != nil {
		return p.explain(err, s)
	}
	if failed != nil {
		return failed
	}
	return p.read(s)
}

// stopping ends the profile of a server.
type stopping func(context.Context) (steps.Profiled, error)

// window returns when to profile the servers of a launch: as set in the file, or in the middle of runs that are
// too short for that.
func (p *profiling) window(cell string) steps.ProfileWindow {
	w := steps.ProfileWindow{Delay: p.spec.Delay, Window: p.spec.Window}
	if lasts := p.lasts(cell); lasts > 0 && w.Delay+w.Window > lasts {
		w.Delay, w.Window = min(w.Delay, lasts/4), min(w.Window, lasts/2)
		p.note(fmt.Sprintf("A run lasts %s, so %s of it are profiled.", humanize.Duration(lasts), humanize.Duration(w.Window)))
	}
	scale := p.scale()
	w.Delay, w.Window = time.Duration(float64(w.Delay)/scale), time.Duration(float64(w.Window)/scale)
	return w
}

// scale returns how many times faster than real time a run is; 1 in virtual time, which measures its own time.
func (p *profiling) scale() float64 {
	if p.targets.Places.Model() != nil {
		return 1
	}
	return max(p.opt.Plan.TimeScale, 1)
}

// lasts returns the duration of the shortest valid run of a cell.
func (p *profiling) lasts(cell string) time.Duration {
	shortest := 0.0
	for _, b := range p.doc.Benchmarks {
		for _, c := range b.Cells {
			for _, r := range c.Runs {
				if c.Hash == cell && r.Status == result.RunOK && (shortest == 0 || r.Duration < shortest) {
					shortest = r.Duration
				}
			}
		}
	}
	return time.Duration(shortest * float64(time.Second))
}

func (p *profiling) note(text string) {
	if !slices.Contains(p.notes, text) {
		p.notes = append(p.notes, text)
	}
}

// start starts the profiles of all servers of a launch.
func (p *profiling) start(ctx context.Context, l plan.Launch, s *side, servers []engine.Attended) []stopping {
	stops := make([]stopping, len(servers))
	w := p.window(l.Runs[0].Cell)
	for i, server := range servers {
		at := w
		at.Dir = s.dirs[server.Addr].there
		if at.Dir == "" { // a router, or a server that is not started here
			continue
		}
		profiler, err := p.targets.Profiler(server.Engine, p.around(s, server))
		if err == nil {
			stops[i], err = profiler.Profile(ctx, server.Endpoint, at)
		}
		if err != nil {
			stops[i] = func(context.Context) (steps.Profiled, error) { return steps.Profiled{}, err }
		}
	}
	return stops
}

// stop ends the profiles of all servers, and fetches files from elsewhere. It gives up if the run is interrupted: a profiler
// may take minutes to write its files.
func (p *profiling) stop(ctx context.Context, s *side, servers []engine.Attended, stops []stopping) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.spec.Timeout, fmt.Errorf("%s have passed (timeout)", p.spec.Timeout))
	defer cancel()
	errs := make([]error, len(servers))
	got := make([]*steps.Profiled, len(servers))
	var all sync.WaitGroup
	for i, stop := range stops {
		if stop == nil {
			continue
		}
		all.Go(func() {
			one, err := stop(ctx)
			if dir := s.dirs[servers[i].Addr]; err == nil && dir.here != dir.there {
				err = fetch(ctx, servers[i].Running, dir)
			}
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", servers[i].Addr, err)
			} else {
				got[i] = &one
			}
		})
	}
	all.Wait()
	for _, one := range got {
		if one != nil {
			s.got = append(s.got, *one)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(s.got) == 0 {
		return errors.New("no server of it is started here, and only those can be profiled")
	}
	return nil
}

// compare compares the sides per output token, or per second if a side does not count tokens.
func (p *profiling) compare(out *result.Profile, sides []*side) error {
	work := make([]float64, len(sides))
	out.Per = "token"
	for i, s := range sides {
		for _, g := range s.got {
			s.Seconds = max(s.Seconds, g.Time.Seconds()*p.scale())
			if g.Tokens != nil {
				s.Tokens += *g.Tokens
			}
		}
		work[i] = s.Tokens
	}
	if work[0] == 0 || work[1] == 0 {
		out.Per = "second"
		work[0], work[1] = sides[0].Seconds, sides[1].Seconds
		p.note("The servers do not count their tokens, so times are by the second of the profile, and the work of both sides may differ.")
	}
	if work[0] == 0 || work[1] == 0 {
		return errors.New("nothing was done in the time of the profile")
	}
	if sides[0].Traces != sides[1].Traces {
		p.note(fmt.Sprintf("The base left %s, the head %d.", humanize.Count(sides[0].Traces, "trace"), sides[1].Traces))
	}
	out.Rows, out.Operations = profile.Compare(&sides[0].summary, &sides[1].summary, work[0], work[1])
	return nil
}
