package session

import (
	"context"

	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
)

// unpublished reports whether the run is not published.
func (s *session) unpublished() bool { return s.opt.Publisher == nil }

// publishStart publishes the start of the run.
func (s *session) publishStart(ctx context.Context) error {
	s.published = true
	s.warnAll(guarded{s.opt.Publisher}.Start(ctx))
	return nil
}

// noVerdictToPublish reports whether the start was not published, or there is no verdict.
func (s *session) noVerdictToPublish() bool { return !s.published || !s.judged }

// publish publishes the verdict, even if the result could not be written.
func (s *session) publish(ctx context.Context) error {
	s.warnAll(guarded{s.opt.Publisher}.Finish(ctx, s.doc))
	return nil
}

// noFailureToPublish reports whether the start was not published, or the run has a verdict.
func (s *session) noFailureToPublish() bool { return !s.published || s.judged }

// publishFailure publishes that the run has no result.
func (s *session) publishFailure(ctx context.Context) error {
	s.warnAll(guarded{s.opt.Publisher}.Abort(ctx, s.err))
	return nil
}

// guarded turns a panic of a publisher into a warning.
type guarded struct{ publisher publish.Run }

func (g guarded) Start(ctx context.Context) []string {
	return publish.Guard(func() []string { return g.publisher.Start(ctx) })
}

func (g guarded) Finish(ctx context.Context, doc *result.Document) []string {
	return publish.Guard(func() []string { return g.publisher.Finish(ctx, doc) })
}

func (g guarded) Abort(ctx context.Context, err error) []string {
	return publish.Guard(func() []string { return g.publisher.Abort(ctx, err) })
}
