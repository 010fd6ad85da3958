package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/term"
)

// View shows events. Handle is called for one event at a time and does not fail, because a closed terminal must
// not end a measurement. A write error silences the view, and Close returns it.
type View interface {
	Handle(event.Event)
	Close() error
}

// Options configure the views for people.
type Options struct {
	// Color enables ANSI colours; the caller has checked NO_COLOR and the terminal.
	Color bool
	// Width returns the width of the terminal in columns, for each frame. nil or 0 means 80.
	Width func() int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Tick redraws the live area of a terminal without events, so that its clocks advance. nil means twice per
	// second.
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

// jsonView writes the events themselves.
type jsonView struct{ out sink }

// NewJSON returns a view that writes every event as one line of JSON.
func NewJSON(w io.Writer) View { return &jsonView{out: sink{w: w}} }

func (v *jsonView) Handle(e event.Event) {
	line, err := json.Marshal(e)
	if err != nil {
		if v.out.err == nil {
			v.out.err = fmt.Errorf("encode event %d (%s): %w", e.Seq, e.Type, err)
		}
		return
	}
	v.out.write(ascii(string(line)) + "\n")
}

func (v *jsonView) Close() error {
	if v.out.err != nil {
		return fmt.Errorf("write events: %w", v.out.err)
	}
	return nil
}

// obeyed reports whether a terminal may interpret a character that encoding/json does not escape.
func obeyed(r rune) bool { return r == 0x7f || term.Hidden(r) }

// ascii writes characters that a terminal interprets as \u escapes. The JSON value is unchanged, and safe to
// display. encoding/json itself escapes those below U+0020.
func ascii(line string) string {
	if !strings.ContainsFunc(line, obeyed) {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		switch {
		case !obeyed(r):
			b.WriteRune(r)
		case r > 0xffff: // needs a surrogate pair
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
