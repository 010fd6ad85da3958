package virtual

import (
	"context"
	"errors"
	"fmt"

	"github.com/servegate/pipeline/steps"
)

// errAsleep reports that a sleeping server was asked for tokens.
var errAsleep = errors.New("it is asleep")

// CheckSleep implements steps.Sleeper as the engine does.
func (s askedServer) CheckSleep(spec steps.ServerSpec) error { return s.own.Sleeper.CheckSleep(spec) }

// Sleep implements steps.Sleeper. It advances the time by the time to move the weights.
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

func (v *machine) serverAt(ep steps.Endpoint) (*process, error) {
	p := v.processAt(ep.BaseURL)
	if p == nil || p.server == nil {
		return nil, fmt.Errorf("%s: %w", ep.BaseURL, errNotThere)
	}
	return p, nil
}

// catchUp advances the clock of a fleet to that of the machine. The fleet's clock stood still while other
// fleets were measured.
func (f *fleet) catchUp(v *machine) {
	if late := v.Now().Sub(f.began.Add(f.Now())); late > 0 {
		f.began = f.began.Add(late)
	}
}
