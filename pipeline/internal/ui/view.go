package ui

import (
	"io"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
)

// View shows events. Handle is called for one event at a time and does not fail: an
// error of writing is kept, silences the view and is returned by Close, since a closed
// terminal must not end a measurement.
type View interface {
	Handle(event.Event)
	Close() error
}

// Options of the views for people.
type Options struct {
	// Color asks for ANSI colours; the caller has looked at NO_COLOR and the terminal.
	Color bool
	// Width of the terminal in columns, asked for each frame. nil or 0 means 80.
	Width func() int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Tick redraws the live area of a terminal while no event comes, so that its clocks
	// move. nil means twice a second.
	Tick <-chan time.Time
	// GitHubActions folds the last lines of a log into a group of the runner's log.
	GitHubActions bool
}

const defaultWidth = 80

func (o Options) width() int {
	if o.Width != nil {
		if w := o.Width(); w > 0 {
			return w
		}
	}
	return defaultWidth
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// sink is a writer that stops at its first error.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) write(text string) {
	if s.err == nil && text != "" {
		_, s.err = io.WriteString(s.w, text)
	}
}

// quiet shows nothing.
type quiet struct{}

// NewQuiet returns a view that shows nothing.
func NewQuiet() View { return quiet{} }

func (quiet) Handle(event.Event) {}
func (quiet) Close() error       { return nil }
