package session

import (
	"context"
	"errors"
)

// close closes everything that was opened.
func (s *session) close(ctx context.Context) error {
	var places, journal, dir error
	if s.targets.Places != nil {
		places = s.targets.Places.Close(ctx)
		s.machine.spawner.Close()
	}
	if s.spawner != nil {
		s.spawner.Close()
	}
	if s.journal != nil {
		if failed := s.journal.Err(); failed == nil || !errors.Is(s.err, failed) {
			journal = s.journal.Close()
		} else { // reported already
			_ = s.journal.Close()
		}
	}
	if s.dir != nil {
		dir = s.dir.Close()
	}
	return errors.Join(journal, dir, places)
}
