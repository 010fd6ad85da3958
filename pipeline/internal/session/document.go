package session

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/answers"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
)

// document builds the result from the measurement.
func (s *session) document(context.Context) error {
	s.doc = s.measured(s.outcome)
	answers.Quote(s.doc, func(path string) (io.ReadCloser, error) { return os.Open(filepath.Join(s.dir.Path(), path)) })
	return nil
}

// addNotes adds the warnings that are known only after the places were closed.
func (s *session) addNotes(context.Context) error {
	s.doc.Warnings = slices.Concat(s.doc.Warnings, s.notes())
	return nil
}

// measured returns the measurements of this session as a document.
func (s *session) measured(o *engine.Outcome) *result.Document {
	doc := o.Document()
	doc.Tool, doc.RunID, doc.Source = "pipeline "+s.opt.Version, s.runID, s.source
	return doc
}

// notes returns further notes on the measurement.
func (s *session) notes() []string {
	notes := s.strays
	if m := s.targets.Places.Model(); m != nil {
		notes = m.Notes(s.doc)
	}
	if s.opt.Plan.Simulated != "" {
		notes = append(notes, s.targets.SizeNotes()...)
	}
	return notes
}
