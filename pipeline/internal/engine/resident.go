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

// residents holds the launches of a repeat that stay loaded at the same time and take turns. One launch at a time has
// its turn, which begins with the start of its first process; the others wait.
type residents struct {
	mu      sync.Mutex
	loaded  map[string]string  // targets of launches whose processes may hold the machine
	asleep  map[string]float64 // bytes of GPU memory that launches hold while they sleep
	stopped []string           // targets that were stopped while others were loaded
}

// participant coordinates the turns of one launch among residents; nil for a launch that has the machine to itself.
type participant struct {
	among *residents
	turns int           // number of its turns, without its start
	turn  chan int      // starts its turns; sends how many in a row
	back  chan struct{} // returns the turn
	gone  chan struct{} // closed when the launch has ended

	at    int           // number of the current turn, 0 during the start
	left  int           // further turns in a row
	began time.Time     // start of the current turn
	spent time.Duration // time of the earlier turns
}

// takeTurns executes the resident launches of a repeat together. An error of one ends all.
func (r *runner) takeTurns(ctx context.Context, jobs []job) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	among := &residents{loaded: map[string]string{}, asleep: map[string]float64{}}
	var all sync.WaitGroup
	var once sync.Once
	var err error
	var participants []*participant
	for _, j := range jobs {
		s := &participant{among: among, turns: j.Turns(), turn: make(chan int), back: make(chan struct{}), gone: make(chan struct{})}
		participants, j.participant = append(participants, s), s
		all.Go(func() {
			defer close(s.gone)
			if s.await(ctx) != nil {
				return // it did not begin
			}
			if failed := r.launch(ctx, j); failed != nil {
				once.Do(func() { err = failed; end(&residentError{failed}) })
			}
		})
	}
	for _, t := range order(participants) {
		t.participant.give(ctx, t.turns)
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

// inARow is a number of consecutive turns of one participant.
type inARow struct {
	participant *participant
	turns       int
}

// order returns the order of the turns. All launches start, and then measure in mirrored order (A B, B A, A B and so
// on), so that a linear drift affects all sides equally. The last to start measures first, and no server sleeps between
// two of its consecutive turns.
func order(participants []*participant) []inARow {
	var out []inARow
	add := func(s *participant) {
		if n := len(out); n > 0 && out[n-1].participant == s {
			out[n-1].turns++
			return
		}
		out = append(out, inARow{s, 1})
	}
	most := 0
	for _, s := range participants {
		add(s)
		most = max(most, s.turns)
	}
	participants = slices.Clone(participants)
	for turn := 1; turn <= most; turn++ {
		slices.Reverse(participants)
		for _, s := range participants {
			if turn <= s.turns {
				add(s)
			}
		}
	}
	return out
}

// give gives a launch a number of turns in a row. It returns when the launch waits for its next turn or has ended.
func (s *participant) give(ctx context.Context, turns int) {
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

// await waits for the launch's turn.
func (s *participant) await(ctx context.Context) error {
	select {
	case n := <-s.turn:
		s.left = n - 1
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// turnOf waits for the turn in which a launch executes a run of its schedule. The fault states why it cannot.
func (r *runner) turnOf(ctx context.Context, s *server, run int) *fault {
	if s.participant == nil {
		return nil
	}
	for s.participant.at < s.TurnOf(run) {
		if s.participant.left > 0 {
			s.participant.left--
		} else if err := r.pauseUntilTurn(ctx, s); err != nil {
			return newFault(phaseRun, &machineError{err})
		}
		s.participant.at++
	}
	return nil
}

// pauseUntilTurn hands the machine to the next launch, and waits for the next turn.
func (r *runner) pauseUntilTurn(ctx context.Context, s *server) error {
	if err := r.sleep(ctx, s); err != nil {
		return err
	}
	s.answered = time.Time{}
	s.participant.spent += r.o.Now().Sub(s.participant.began)
	select {
	case s.participant.back <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := s.participant.await(ctx)
	s.participant.began = r.o.Now()
	if err != nil {
		return err
	}
	return r.wake(ctx, s)
}

// sleepers returns the servers of a launch with the sleepers of their engines.
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

// move puts the servers of a launch to sleep or wakes them, and returns how long that took in seconds. Errors are the
// machine's fault, since a server that does not sleep may still serve well.
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

// sleep puts the servers of a launch to sleep, and checks that their memory is free.
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

// wake wakes the servers of a launch, and checks that they serve.
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

// lastWords returns the cause of a member's end according to its log, "" if unknown.
func (s *server) lastWords(name string) string {
	m := s.named(name)
	class, evidence := m.Engine.Classify(m.output.last())
	if unknown(class) {
		return ""
	}
	return ": " + evidence
}

// These limits bound what a sleeping server may hold, and for how long after it fell asleep.
const (
	mostAsleep = 0.5 // of its memory when awake; a server without sleep mode frees none
	freeWait   = 10 * time.Second
	freePause  = 500 * time.Millisecond
)

// seeFreed checks that a sleeping server has freed its GPU memory, as far as that is visible. Otherwise the next server
// would lack memory, which is not its fault.
func (r *runner) seeFreed(ctx context.Context, s *server) error {
	awake := s.launch.Figures[steps.StartGPUBytes]
	if awake <= 0 {
		return nil
	}
	for waited := time.Duration(0); ; waited += freePause {
		all, ok := r.o.Machine.Memory(ctx, s.Target)
		held := max(0, all-s.participant.among.held(s.ID))
		if !ok {
			held = 0
		}
		if held <= mostAsleep*awake {
			s.participant.among.hold(s.ID, held)
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

// held returns the GPU memory in bytes that the other launches hold while they sleep.
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

// beside returns the targets that are loaded beside a launch.
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

// occupy calls Machine.Before ahead of a launch, or ahead of the first of several resident launches.
func (r *runner) occupy(ctx context.Context, j job) {
	if j.participant == nil {
		r.o.Machine.Before(ctx, j.Target)
		return
	}
	j.participant.began, j.participant.spent = r.o.Now(), 0
	first := len(j.participant.among.beside(j.ID)) == 0
	j.participant.among.mu.Lock()
	j.participant.among.loaded[j.ID] = j.Target
	j.participant.among.mu.Unlock()
	if first {
		r.o.Machine.Before(ctx, j.Target)
	}
}

// vacate waits until the machine is free again after a launch, or after the last of the launches that were loaded
// together.
func (r *runner) vacate(ctx context.Context, s *server) error {
	if s.participant == nil {
		return r.o.Machine.After(ctx, s.Target)
	}
	a := s.participant.among
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

// memoryClasses holds the start failures that another loaded server may have caused.
var memoryClasses = []string{"gpu_busy", "out_of_memory", hostMemory, "kv_cache_too_small"}

// crowded returns an error if a start failed for lack of memory while other servers were loaded, which is not the
// server's fault; else nil.
func (s *server) crowded(f *result.Failure) error {
	if s.participant == nil || f.Phase == phaseRun || !slices.Contains(memoryClasses, f.Class) {
		return nil
	}
	others := s.participant.among.beside(s.ID)
	if len(others) == 0 {
		return nil
	}
	return &machineError{fmt.Errorf("%s does not fit beside %s, which stays loaded (%s: %s); lower the share of memory that both take "+
		"(gpu_memory_utilization), or leave resident out",
		s.Target, strings.Join(others, " and "), f.Class, f.Evidence)}
}

// had returns for how long a launch has had its machines. For resident launches it returns the time of its turns.
func (r *runner) had(s *server) time.Duration {
	if s.participant == nil {
		return s.lane.Clock.Now().Sub(s.began)
	}
	return s.participant.spent + r.o.Now().Sub(s.participant.began)
}

// unfinished reports whether resident repeats were interrupted before their end. They are then measured again as a
// whole, since sides that did not take turns do not form pairs.
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

// together groups the launches that stay loaded together: all launches of a repeat, or by target those of repeats
// beside each other.
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
