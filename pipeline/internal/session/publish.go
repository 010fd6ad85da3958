package session

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
)

// Publisher publishes a run while it goes on. Its methods return warnings: that something
// could not be published never changes how a run ends.
type Publisher interface {
	// Start says that the run has begun.
	Start(ctx context.Context) []string
	// Finish says how it ended; ctx is done where the run was interrupted.
	Finish(ctx context.Context, doc *result.Document) []string
	// Abort says that it ended without a result.
	Abort(ctx context.Context, err error) []string
}

// nopPublisher stands where there is no publisher.
type nopPublisher struct{}

func (nopPublisher) Start(context.Context) []string { return nil }

func (nopPublisher) Finish(context.Context, *result.Document) []string { return nil }

func (nopPublisher) Abort(context.Context, error) []string { return nil }

func (s *session) publisher() Publisher {
	if s.opt.Publisher == nil {
		return nopPublisher{}
	}
	return s.opt.Publisher
}

// warnAll warns of things that do not end the run.
func (s *session) warnAll(texts []string) {
	for _, text := range texts {
		s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Warning, Text: text})
	}
}
