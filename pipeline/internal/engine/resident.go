package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// residents are the launches of a repeat that stay loaded at the same time and take turns. One at
// a time has its turn, from the start of its first process on; the others wait.
type residents struct {
	mu      sync.Mutex
	loaded  map[string]string  // targets of launches whose processes may hold the machine
	asleep  map[string]float64 // bytes of GPU memory that launches hold while they sleep
	stopped []string           // targets that were stopped while others were loaded
}

// seat is the place of a launch among residents; nil for a launch that has the machine to itself.
type seat struct {
	among *residents
	turns int           // that the launch takes, its start left out
	turn  chan int      // its turn, and how many in a row
	back  chan struct{} // the turn goes back
	gone  chan struct{} // closed when the launch has ended

	at    int           // the turn that it is in, 0 while it starts
	left  int           // turns in a row after this one
	began time.Time     // of the time in which it has the turn
	spent time.Duration // before that
}

// takeTurns carries out the launches of a repeat that stay loaded together. What ends one ends all.
func (r *runner) takeTurns(ctx context.Context, jobs []job) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	among := &residents{loaded: map[string]string{}, asleep: map[string]float64{}}
	var all sync.WaitGroup
	var once sync.Once
	var err error
	var seats []*seat
	for _, j := range jobs {
		s := &seat{among: among, turns: j.Turns(), turn: make(chan int), back: make(chan struct{}), gone: make(chan struct{})}
		seats, j.seat = append(seats, s), s
		all.Go(func() {
			defer close(s.gone)
			if s.await(ctx) != nil {
				return // it was never begun
			}
			if failed := r.launch(ctx, j); failed != nil {
				once.Do(func() { err = failed; end(&residentError{failed}) })
			}
		})
	}
	for _, t := range order(seats) {
		t.seat.give(ctx, t.turns)
	}
	all.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// residentError ends the launches that are loaded beside one that ended the run.
type residentError struct{ err error }

func (e *residentError) Error() string { return "the run ended with another server of the repeat" }
func (e *residentError) Unwrap() error { return e.err }

// inARow are turns of one seat, one after the other.
type inARow struct {
	seat  *seat
	turns int
}

// order is who has a turn when: all start, and then measure in mirrored order (A B, B A A B …), so
// that a linear drift falls on all sides alike. The last to start is the first to measure, and no
// server sleeps between two turns of its own.
func order(seats []*seat) []inARow {
	var out []inARow
	add := func(s *seat) {
		if n := len(out); n > 0 && out[n-1].seat == s {
			out[n-1].turns++
			return
		}
		out = append(out, inARow{s, 1})
	}
	most := 0
	for _, s := range seats {
		add(s)
		most = max(most, s.turns)
	}
	seats = slices.Clone(seats)
	for turn := 1; turn <= most; turn++ {
		slices.Reverse(seats)
		for _, s := range seats {
			if turn <= s.turns {
				add(s)
			}
		}
	}
	return out
}

// give has a launch take turns in a row, and returns when it waits for the next or has ended.
func (s *seat) give(ctx context.Context, turns int) {
	select {
	case s.turn <- turns:
	case <-s.gone:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-s.back:
	case <-s.gone:
	case <-ctx.Done():
	}
}

// await returns when it is the launch's turn.
func (s *seat) await(ctx context.Context) error {
	select {
	case n := <-s.turn:
		s.left = n - 1
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// turnOf returns when it is the turn of a launch to carry out a run of its schedule. The fault is why
// it cannot.
func (r *runner) turnOf(ctx context.Context, s *server, run int) *fault {
	if s.seat == nil {
		return nil
	}
	for s.seat.at < s.TurnOf(run) {
		if s.seat.left > 0 {
			s.seat.left--
		} else if err := r.pauseUntilTurn(ctx, s); err != nil {
			return newFault(phaseRun, &machineError{err})
		}
		s.seat.at++
	}
	return nil
}

// pauseUntilTurn hands the machine to the next launch, and takes it over again.
func (r *runner) pauseUntilTurn(ctx context.Context, s *server) error {
	if err := r.sleep(ctx, s); err != nil {
		return err
	}
	s.answered = time.Time{}
	s.seat.spent += r.o.Now().Sub(s.seat.began)
	select {
	case s.seat.back <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := s.seat.await(ctx)
	s.seat.began = r.o.Now()
	if err != nil {
		return err
	}
	return r.wake(ctx, s)
}

// sleepers are the servers of a launch with the engines that put them to sleep.
func (s *server) sleepers() (map[*member]steps.Sleeper, error) {
	out := map[*member]steps.Sleeper{}
	for _, m := range s.servers() {
		sleeper := m.Engine.Capabilities().Sleeper
		if sleeper == nil {
			return nil, fmt.Errorf("%s: its engine cannot be put to sleep", m.label(s.Target))
		}
		out[m] = sleeper
	}
	return out, nil
}

// move puts the servers of a launch to sleep or wakes them, and returns how long that took. What goes wrong
// is the machine's fault: nothing is said of how a server serves by one that does not sleep.
func (r *runner) move(ctx context.Context, s *server, state, failed string, do func(context.Context, steps.Sleeper,
	steps.Endpoint) error) (float64, error) {
	sleepers, err := s.sleepers()
	if err != nil {
		return 0, err
	}
	began := r.o.Now()
	ctx, cancel := s.while(ctx)
	defer cancel()
	for _, m := range s.servers() {
		if err := do(ctx, sleepers[m], m.endpoint); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return 0, fmt.Errorf("%s %s: %w", m.label(s.Target), failed, err)
		}
	}
	took := r.o.Now().Sub(began).Seconds()
	r.emit(s, event.Event{Type: event.LaunchState, State: state, Text: fmt.Sprintf("%s: %s after %s", s.Target, state, short(seconds(took)))})
	return took, nil
}

// sleep puts the servers of a launch to sleep, and sees that their memory is free.
func (r *runner) sleep(ctx context.Context, s *server) error {
	if r.plan.Resident != steps.ResidentSleep {
		return nil
	}
	took, err := r.move(ctx, s, steps.StateAsleep, "does not go to sleep", func(ctx context.Context, e steps.Sleeper,
		ep steps.Endpoint) error {
		return e.Sleep(ctx, ep)
	})
	if err != nil {
		return err
	}
	if s.launch.Sleep == nil {
		s.launch.Sleep = &result.Sleep{}
	}
	s.launch.Sleep.Times++
	s.launch.Sleep.Falling += took
	return r.seeFreed(ctx, s)
}

// wake wakes the servers of a launch, and sees that they serve.
func (r *runner) wake(ctx context.Context, s *server) error {
	if exits := s.exits(); len(exits) > 0 {
		name := slices.Sorted(maps.Keys(exits))[0]
		return fmt.Errorf("%s ended while others were measured (%s)%s", s.named(name).label(s.Target), exits[name], s.lastWords(name))
	}
	if r.plan.Resident != steps.ResidentSleep {
		return nil
	}
	took, err := r.move(ctx, s, steps.StateAwake, "does not wake", func(ctx context.Context, e steps.Sleeper, ep steps.Endpoint) error {
		return e.Wake(ctx, ep)
	})
	if err != nil {
		return err
	}
	s.launch.Sleep.Waking += took
	ctx, cancel := s.while(ctx)
	defer cancel()
	if err := r.alive(ctx, s); err != nil {
		return fmt.Errorf("%s does not serve after it was woken: %w", s.Target, err)
	}
	return nil
}

// lastWords is what the log of a member says of its end, "" for nothing that is known.
func (s *server) lastWords(name string) string {
	m := s.named(name)
	class, evidence := m.Engine.Classify(m.output.last())
	if unknown(class) {
		return ""
	}
	return ": " + evidence
}

// Limits of what a server that sleeps may hold, and for how long after it said that it sleeps.
const (
	mostAsleep = 0.5 // of what it held awake: a start without sleep mode gives nothing back
	freeWait   = 10 * time.Second
	freePause  = 500 * time.Millisecond
)

// seeFreed checks that a server that sleeps has given its GPU memory back, as far as that can be
// seen: the next one would be refused its memory, which is not its fault.
func (r *runner) seeFreed(ctx context.Context, s *server) error {
	awake := s.launch.Figures[steps.StartGPUBytes]
	if awake <= 0 {
		return nil
	}
	for waited := time.Duration(0); ; waited += freePause {
		all, ok := r.o.Machine.Memory(ctx, s.Target)
		held := max(0, all-s.seat.among.held(s.ID))
		if !ok {
			held = 0
		}
		if held <= mostAsleep*awake {
			s.seat.among.hold(s.ID, held)
			s.launch.Sleep.Bytes = held
			return nil
		}
		if waited >= freeWait {
			return fmt.Errorf("%s sleeps and still holds %s of the %s of GPU memory that it had: nothing else fits beside it", s.Target,
				probe.Bytes(int64(held)), probe.Bytes(int64(awake)))
		}
		select {
		case <-r.o.After(freePause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// held is what the others hold of the GPUs' memory while they sleep.
func (a *residents) held(but string) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := 0.0
	for launch, bytes := range a.asleep {
		if launch != but {
			sum += bytes
		}
	}
	return sum
}

func (a *residents) hold(launch string, bytes float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asleep[launch] = bytes
}

// beside lists the targets that are loaded beside a launch.
func (a *residents) beside(launch string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var others []string
	for _, id := range slices.Sorted(maps.Keys(a.loaded)) {
		if id != launch {
			others = append(others, a.loaded[id])
		}
	}
	return others
}

// occupy notes the machine before a launch, or before the first of those that stay loaded together.
func (r *runner) occupy(ctx context.Context, j job) {
	if j.seat == nil {
		r.o.Machine.Before(ctx, j.Target)
		return
	}
	j.seat.began, j.seat.spent = r.o.Now(), 0
	first := len(j.seat.among.beside(j.ID)) == 0
	j.seat.among.mu.Lock()
	j.seat.among.loaded[j.ID] = j.Target
	j.seat.among.mu.Unlock()
	if first {
		r.o.Machine.Before(ctx, j.Target)
	}
}

// vacate waits until the machine is free again of a launch, or of all that were loaded together
// when the last of them has ended.
func (r *runner) vacate(ctx context.Context, s *server) error {
	if s.seat == nil {
		return r.o.Machine.After(ctx, s.Target)
	}
	a := s.seat.among
	a.mu.Lock()
	delete(a.loaded, s.ID)
	delete(a.asleep, s.ID)
	a.stopped = append(a.stopped, s.Target)
	var free []string
	if len(a.loaded) == 0 {
		free, a.stopped = a.stopped, nil
	}
	a.mu.Unlock()
	var errs []error
	for _, target := range free {
		errs = append(errs, r.o.Machine.After(ctx, target))
	}
	return errors.Join(errs...)
}

// memoryClasses are failures of a start that a server which is loaded already may have caused.
var memoryClasses = []string{"gpu_busy", "out_of_memory", hostMemory, "kv_cache_too_small"}

// crowded is a failure that says nothing of a server, since others were loaded beside it; nil for
// any other.
func (s *server) crowded(f *result.Failure) error {
	if s.seat == nil || f.Phase == phaseRun || !slices.Contains(memoryClasses, f.Class) {
		return nil
	}
	others := s.seat.among.beside(s.ID)
	if len(others) == 0 {
		return nil
	}
	return &machineError{fmt.Errorf("%s has no room beside %s, which stays loaded (%s: %s); lower the share of memory that both take "+
		"(gpu_memory_utilization), or leave resident out",
		s.Target, strings.Join(others, " and "), f.Class, f.Evidence)}
}

// had is for how long a launch has had its machines: of those that take turns, the time of its own.
func (r *runner) had(s *server) time.Duration {
	if s.seat == nil {
		return s.lane.Clock.Now().Sub(s.began)
	}
	return s.seat.spent + r.o.Now().Sub(s.seat.began)
}

// unfinished reports whether repeats whose launches stay loaded together were cut off before their
// end. All of them is measured again then: sides that took no turns would not be those of a pair.
func (r *runner) unfinished(reps []plan.Repeat) bool {
	done, all := 0, 0
	for _, rep := range reps {
		all += len(rep.Launches)
		for _, l := range rep.Launches {
			if _, ok := r.resumed[l.ID]; ok {
				done++
			}
		}
	}
	if r.plan.Resident == "" || done == 0 || done == all {
		return false
	}
	r.warn(fmt.Sprintf("repeat %d was cut off and is measured again, since its servers take turns", reps[0].Index))
	return true
}

// besides puts repeats that stay loaded beside each other into one round.
func besides(rounds [][]plan.Repeat) [][]plan.Repeat {
	var out [][]plan.Repeat
	for _, round := range rounds {
		if last := len(out) - 1; last >= 0 && round[0].Beside {
			out[last] = append(slices.Clone(out[last]), round...)
			continue
		}
		out = append(out, round)
	}
	return out
}

// together are the launches that stay loaded together: those of a repeat, or by target those of
// repeats beside each other.
func together(jobs []job, byTarget bool) [][]job {
	if !byTarget && len(jobs) > 0 {
		return [][]job{jobs}
	}
	var out [][]job
	at := map[string]int{}
	for _, j := range jobs {
		i, seen := at[j.Target]
		if !seen {
			i = len(out)
			at[j.Target] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], j)
	}
	return out
}
