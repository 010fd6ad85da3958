package githubtest

import (
	"slices"
	"time"
)

// moment is what there was from a time on.
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

// present is what there is now.
func (s *Server) present() moment {
	return moment{s.now(), slices.Clone(s.comments), slices.Clone(s.checks), slices.Clone(s.issues)}
}

// note keeps what there is after a change, if lists will be behind it.
func (s *Server) note() {
	if s.Lag > 0 {
		s.past = append(s.past, s.present())
	}
}

// shown is what a list shows.
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
