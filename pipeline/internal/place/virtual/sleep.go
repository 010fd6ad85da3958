package virtual

import (
	"context"
	"errors"
	"fmt"

	"github.com/servegate/pipeline/steps"
)

// errAsleep is a server that is asked for tokens while it sleeps.
var errAsleep = errors.New("it is asleep")

// CheckSleep implements steps.Sleeper, as the engine does.
func (s askedServer) CheckSleep(spec steps.ServerSpec) error { return s.own.Sleeper.CheckSleep(spec) }

// Sleep implements steps.Sleeper in the time that the weights take to move.
func (s askedServer) Sleep(_ context.Context, ep steps.Endpoint) error {
	p, err := s.machine.serverAt(ep)
	if err != nil {
		return err
	}
	s.machine.advanceTo(s.machine.Now().Add(p.server.MoveTime()))
	s.machine.forget(ep.BaseURL)
	p.asleep = true
	return nil
}

// Wake implements steps.Sleeper.
func (s askedServer) Wake(_ context.Context, ep steps.Endpoint) error {
	p, err := s.machine.serverAt(ep)
	if err != nil {
		return err
	}
	s.machine.advanceTo(s.machine.Now().Add(p.server.MoveTime()))
	if err := p.server.Wakes(); err != nil {
		return err
	}
	p.asleep = false
	return nil
}

func (v *Machine) serverAt(ep steps.Endpoint) (*process, error) {
	p := v.processAt(ep.BaseURL)
	if p == nil || p.server == nil {
		return nil, fmt.Errorf("%s: %w", ep.BaseURL, errNotThere)
	}
	return p, nil
}

// catchUp sets the clock of a fleet that had nothing to do while others were measured to that of
// the machine. Its own time stood still.
func (f *fleet) catchUp(v *Machine) {
	if late := v.Now().Sub(f.began.Add(f.Now())); late > 0 {
		f.began = f.began.Add(late)
	}
}
