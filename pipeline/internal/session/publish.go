package session

import (
	"context"
	"fmt"
	"path"
	"runtime/debug"
	"strings"

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

// unpublished reports whether nothing is published of the run.
func (s *session) unpublished() bool { return s.opt.Publisher == nil }

// publishStart publishes that the run has begun.
func (s *session) publishStart(ctx context.Context) error {
	s.published = true
	s.warnAll(guarded{s.opt.Publisher}.Start(ctx))
	return nil
}

// noVerdictToPublish reports whether nothing was published, or there is no verdict that could be.
func (s *session) noVerdictToPublish() bool { return !s.published || !s.judged }

// publish publishes the verdict, even if the result could not be written.
func (s *session) publish(ctx context.Context) error {
	s.warnAll(guarded{s.opt.Publisher}.Finish(ctx, s.doc))
	return nil
}

// noFailureToPublish reports whether nothing was published, or the run has a verdict.
func (s *session) noFailureToPublish() bool { return !s.published || s.judged }

// publishFailure publishes that the run has no result.
func (s *session) publishFailure(ctx context.Context) error {
	s.warnAll(guarded{s.opt.Publisher}.Abort(ctx, s.err))
	return nil
}

// guarded turns a panic of a publisher into a warning.
type guarded struct{ publisher Publisher }

func (g guarded) Start(ctx context.Context) []string {
	return Guard(func() []string { return g.publisher.Start(ctx) })
}

func (g guarded) Finish(ctx context.Context, doc *result.Document) []string {
	return Guard(func() []string { return g.publisher.Finish(ctx, doc) })
}

func (g guarded) Abort(ctx context.Context, err error) []string {
	return Guard(func() []string { return g.publisher.Abort(ctx, err) })
}

// Guard publishes something and returns the warnings, one of them for a panic: a fault in publishing never ends a
// measurement. A publisher's own goroutines need it as well.
func Guard(publish func() []string) (warnings []string) {
	if err := contained(func() error { warnings = publish(); return nil }); err != nil {
		warnings = append(warnings, "not everything was published: "+err.Error())
	}
	return warnings
}

// contained returns a panic of do as an error.
func contained(do func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("an error of this program: %v (%s)", broken, origin())
		}
	}()
	return do()
}

// origin returns the function and the line that panicked, as the stack of a recovering function shows it.
func origin() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") && i+3 < len(lines) {
			at, _, _ := strings.Cut(strings.TrimSpace(lines[i+3]), " ")
			return path.Base(path.Dir(at)) + "/" + path.Base(at)
		}
	}
	return "place unknown"
}
