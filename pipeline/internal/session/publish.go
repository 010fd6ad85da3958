package session

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
)

// Publisher tells others of a run while it goes on. Its methods return warnings: that
// nobody could be told never changes how a run ends.
type Publisher interface {
	// Start says that the run has begun.
	Start(ctx context.Context) []string
	// Finish says how it ended; ctx is done where the run was interrupted.
	Finish(ctx context.Context, doc *result.Document) []string
	// Abort says that it ended without a result.
	Abort(ctx context.Context, err error) []string
}

// nobody is told where there is no publisher.
type nobody struct{}

func (nobody) Start(context.Context) []string { return nil }

func (nobody) Finish(context.Context, *result.Document) []string { return nil }

func (nobody) Abort(context.Context, error) []string { return nil }

func (s *session) publisher() Publisher {
	if s.opt.Publisher == nil {
		return nobody{}
	}
	return s.opt.Publisher
}

// warnAll tells of things that do not end the run.
func (s *session) warnAll(texts []string) {
	for _, text := range texts {
		s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Warning, Text: text})
	}
}
