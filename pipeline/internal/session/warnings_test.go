package session

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/event"
)

// lines keeps the texts of events.
type lines []string

func (l *lines) Handle(e event.Event) { *l = append(*l, string(e.Severity)+": "+e.Text) }

func TestWarningsBecomeEvents(t *testing.T) {
	var got lines
	log := slog.New(warnings{bus: event.NewBus(time.Now, 0, &got)}).With("container", "c1").WithGroup("g")
	log.Info("pulling image")
	log.Warn("the log broke off", "error", errors.New("gone"))
	want := lines{"warning: the log broke off, container=c1, error=gone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
