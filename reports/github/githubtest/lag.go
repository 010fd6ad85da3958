package githubtest

import (
	"slices"
	"time"
)

// moment is the state from a time on.
type moment struct {
	at       time.Time
	comments []Comment
	checks   []Check
	issues   []Issue
}

func (s *Server) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// present returns the present state.
func (s *Server) present() moment {
	return moment{s.now(), slices.Clone(s.comments), slices.Clone(s.checks), slices.Clone(s.issues)}
}

// note records the state after a change, if lists lag.
func (s *Server) note() {
	if s.Lag > 0 {
		s.past = append(s.past, s.present())
	}
}

// shown returns the state that a list shows.
func (s *Server) shown() moment {
	if s.Lag == 0 {
		return s.present()
	}
	out := moment{}
	for _, m := range s.past {
		if !m.at.After(s.now().Add(-s.Lag)) {
			out = m
		}
	}
	return out
}
