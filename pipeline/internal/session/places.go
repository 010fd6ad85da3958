package session

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/machine"
)

// modelled reports whether the run is in a model. Then nothing real takes part that must be locked or may be
// left behind.
func (s *session) modelled() bool { return s.targets.Places.Model() != nil }

// openPlaces waits for the places of the run, such as a job in a queue.
func (s *session) openPlaces(ctx context.Context) error {
	if err := s.targets.Places.Open(ctx); err != nil {
		return err
	}
	s.opened = true
	return nil
}

// unopened reports whether the places are not open.
func (s *session) unopened() bool { return !s.opened }

// closePlaces gives the places back. A failure is only a warning.
func (s *session) closePlaces(ctx context.Context) error {
	if err := s.targets.Places.Close(ctx); err != nil {
		s.warn(err.Error())
	}
	return nil
}

// endStrays ends processes that servers and steps left on this machine. It follows closePlaces, because until
// then such processes may belong to places.
func (s *session) endStrays(context.Context) error {
	s.strays = machine.EndStrays()
	return nil
}
