package session

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/event"
)

// warnings is a log handler that turns warnings and errors into events of the run.
type warnings struct {
	bus   *event.Bus
	attrs []slog.Attr
}

func (w warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	text := strings.Builder{}
	text.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		text.WriteString(", " + a.String())
		return true
	}
	for _, a := range w.attrs {
		add(a)
	}
	r.Attrs(add)
	w.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Warning, Text: text.String()})
	return nil
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	w.attrs = append(slices.Clip(w.attrs), attrs...)
	return w
}

// WithGroup ignores groups, because a warning is one line for people.
func (w warnings) WithGroup(string) slog.Handler { return w }
