package session

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/answers"
	"github.com/servegate/pipeline/pipeline/internal/engine"
)

// document builds the result from the measurement.
func (s *session) document(context.Context) error {
	s.doc = engine.Document(s.opt.Plan, s.outcome, s.about())
	answers.Quote(s.doc, func(path string) (io.ReadCloser, error) { return os.Open(filepath.Join(s.dir.Path(), path)) })
	return nil
}

// addNotes adds the warnings that are known only after the places were closed.
func (s *session) addNotes(context.Context) error {
	s.doc.Warnings = slices.Concat(s.doc.Warnings, s.notes())
	return nil
}

func (s *session) about() engine.About {
	return engine.About{Tool: "pipeline " + s.opt.Version, RunID: s.runID, Source: s.source}
}

// notes returns further notes on the measurement.
func (s *session) notes() []string {
	notes := s.strays
	if m := s.targets.Places.Model(); m != nil {
		notes = m.Notes(s.outcome)
	}
	if s.opt.Plan.Simulated != "" {
		notes = append(notes, s.targets.SizeNotes()...)
	}
	return notes
}
