package session

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/machine"
)

// modelled reports whether the run is carried out in a model: nothing real takes part, which others
// may want, too, or which may be left behind.
func (s *session) modelled() bool { return s.targets.Places.Model() != nil }

// openPlaces waits for the places of the run, such as a job in a queue.
func (s *session) openPlaces(ctx context.Context) error {
	if err := s.targets.Places.Open(ctx); err != nil {
		return err
	}
	s.opened = true
	return nil
}

// unopened reports whether the run has no places.
func (s *session) unopened() bool { return !s.opened }

// closePlaces gives the places back. What cannot be given back is a warning.
func (s *session) closePlaces(ctx context.Context) error {
	if err := s.targets.Places.Close(ctx); err != nil {
		s.warn(err.Error())
	}
	return nil
}

// endStrays ends what servers and steps have left on this machine. It comes after the places are
// closed, since what is left until then is theirs.
func (s *session) endStrays(context.Context) error {
	s.strays = machine.EndStrays()
	return nil
}
