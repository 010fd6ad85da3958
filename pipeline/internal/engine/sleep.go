package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

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
		held := max(0, all-s.participant.among.heldByOthers(s.ID))
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

// heldByOthers returns the GPU memory in bytes that the other launches hold while they sleep.
func (a *residents) heldByOthers(but string) float64 {
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
