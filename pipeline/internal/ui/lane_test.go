package ui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
)

// TestLaunchesSideBySide: one is shown to its end, the other counted, and shown after it.
func TestLaunchesSideBySide(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &state{}
	say := func(kind event.Type, launch string) {
		at = at.Add(time.Second)
		e := event.Event{Type: kind, Time: at, Launch: launch, Target: "server." + launch, Label: "cell of " + launch, Repeat: 1, Repeats: 2,
			Index: 1, Total: 8}
		if kind == event.RunEnd {
			e.Run = &result.Run{Status: result.RunOK}
		}
		s.handle(e)
	}
	shows := func(step string, want ...string) {
		t.Helper()
		text := strings.Join(s.frame(at, 100), "\n")
		for _, w := range want {
			if hidden, not := strings.CutPrefix(w, "not "); strings.Contains(text, hidden) == not {
				t.Errorf("%s: %q\n%s", step, w, text)
			}
		}
	}
	for _, e := range []event.Type{event.LaunchStart, event.LaunchReady, event.RunStart} {
		say(e, "a")
		say(e, "b")
	}
	shows("both", "server.a", "cell of a", "2 launches side by side", "not server.b")
	say(event.RunEnd, "b")
	say(event.RunStart, "b")
	shows("the other goes on", "cell of a", "not cell of b")
	say(event.RunEnd, "a")
	say(event.LaunchStop, "a")
	say(event.RunProgress, "b")
	shows("one has ended", "server.b", "cell of b", "not side by side", "not server.a")
	say(event.LaunchFail, "b")
	shows("both have ended", "not server.b", "1 launch failed")
	if !slices.Equal(nil, s.runRows(80)) {
		t.Errorf("a run is shown after all have ended: %q", s.runRows(80))
	}
}
