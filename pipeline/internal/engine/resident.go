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

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
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
