package virtual

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// ask wraps an engine so that it queries simulated processes. Its rendering is unchanged.
func (v *machine) ask(engine steps.Engine) steps.Engine { return askedEngine{engine, v} }

// askedEngine is an engine whose processes are simulated in virtual time.
type askedEngine struct {
	steps.Engine
	machine *machine
}

// Ready implements steps.Engine.
func (e askedEngine) Ready(_ context.Context, ep steps.Endpoint, _ steps.Readiness) (string, bool, error) {
	if p := e.machine.processAt(ep.BaseURL); p != nil {
		e.machine.serve()
	} else if e.Engine.Capabilities().Observer != nil {
		return steps.StateStarting, false, fmt.Errorf("%s: %w", ep.BaseURL, errNotThere)
	}
	return steps.StateReady, true, nil
}

// Reset implements steps.Engine.
func (e askedEngine) Reset(_ context.Context, ep steps.Endpoint) error {
	e.machine.forget(ep.BaseURL)
	return nil
}

// Describe implements steps.Engine.
func (askedEngine) Describe(context.Context, steps.Endpoint) (map[string]string, error) {
	return nil, nil
}

// Capabilities implements steps.Engine. It replaces the engine's access to servers by access to those in
// virtual time.
func (e askedEngine) Capabilities() steps.EngineCapabilities {
	s := askedServer{e, e.Engine.Capabilities()}
	out := steps.EngineCapabilities{Spreader: s.own.Spreader}
	if s.own.Observer != nil {
		out.Observer, out.History = s, s.history
	}
	if s.own.Profiler != nil {
		out.Profiler = s
	}
	if s.own.Sleeper != nil {
		out.Sleeper = s
	}
	return out
}

// askedServer is an askedEngine whose servers are watched, profiled and put to sleep.
type askedServer struct {
	askedEngine
	own steps.EngineCapabilities
}

// LogPoint implements steps.Observer.
func (s askedServer) LogPoint(line string) (map[string]float64, bool) {
	return s.own.Observer.LogPoint(line)
}

// StartFacts implements steps.Observer.
func (s askedServer) StartFacts(log []string) map[string]float64 {
	return s.own.Observer.StartFacts(log)
}

// Observe implements steps.Observer.
func (s askedServer) Observe(_ context.Context, ep steps.Endpoint) (steps.Observation, error) {
	p := s.machine.processAt(ep.BaseURL)
	if p == nil {
		return steps.Observation{}, fmt.Errorf("%s: %w", ep.BaseURL, errNotThere)
	}
	if p.fleet == nil {
		return p.server.Observation(s.machine.Now(), model.Note{}), nil
	}
	return p.server.Observation(s.machine.Now(), p.fleet.Note(p.number)), nil
}

// history yields the observations of a server during its last run.
func (s askedServer) history(_ context.Context, ep steps.Endpoint) iter.Seq[steps.Observation] {
	p := s.machine.processAt(ep.BaseURL)
	if p == nil || p.fleet == nil {
		return nil
	}
	notes, began := p.fleet.Notes(p.number), p.fleet.began
	return func(yield func(steps.Observation) bool) {
		for _, n := range notes {
			if !yield(p.server.Observation(began.Add(n.At), n)) {
				return
			}
		}
	}
}

// Profiled implements steps.Profiler as the engine does.
func (s askedServer) Profiled(spec steps.ServerSpec, dir, version string) (steps.ServerSpec, error) {
	return s.own.Profiler.Profiled(spec, dir, version)
}

// Profile implements steps.Profiler. The model records the steps of the window, and writes the files of a
// profiler.
func (s askedServer) Profile(_ context.Context, ep steps.Endpoint,
	w steps.ProfileWindow) (func(context.Context) (steps.Profiled, error), error) {
	p := s.machine.processAt(ep.BaseURL)
	if p == nil || p.fleet == nil {
		return nil, fmt.Errorf("%s: %w", ep.BaseURL, errNotThere)
	}
	from := p.fleet.Now() + w.Delay
	p.fleet.Record(p.number, from, from+w.Window)
	return func(context.Context) (steps.Profiled, error) {
		recorded := p.fleet.Recorded(p.number)
		if len(recorded) == 0 {
			return steps.Profiled{}, errors.New("it had nothing to do in the time that was to be profiled; shorten delay, or measure longer")
		}
		tokens := 0.0
		for _, step := range recorded {
			tokens += float64(step.DecodeTokens + len(step.Prompts))
		}
		return steps.Profiled{Time: recorded[len(recorded)-1].End - recorded[0].Start, Tokens: &tokens}, p.server.WriteTraces(recorded)
	}, nil
}
