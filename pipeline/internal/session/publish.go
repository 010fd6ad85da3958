package session

import (
	"context"
	"fmt"
	"path"
	"runtime/debug"
	"strings"

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
	return guarded{s.opt.Publisher}
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

// warnAll warns of things that do not end the run.
func (s *session) warnAll(texts []string) {
	for _, text := range texts {
		s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Warning, Text: text})
	}
}
