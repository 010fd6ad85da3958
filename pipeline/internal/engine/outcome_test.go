package engine

import (
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
)

// TestWhatARunTook adds up its parts, without the time in which it lay.
func TestWhatARunTook(t *testing.T) {
	o := newOutcome(nil)
	for _, e := range []struct {
		at  int
		typ event.Type
	}{{0, event.Version}, {10, event.PlanReady}, {100, event.RepeatEnd}, {1000, event.Version}, {1050, event.RepeatEnd}} {
		o.add(event.Event{Type: e.typ, Time: time.Unix(int64(e.at), 0)})
	}
	if want := 150 * time.Second; o.Took != want {
		t.Errorf("%s, want %s", o.Took, want)
	}
}
