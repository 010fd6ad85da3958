package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/history"
)

// Sessions after a pinned one do not count, until the pin is taken off or expires.
func TestAPinHoldsTheWindow(t *testing.T) {
	nights := []history.Record{session(1, 0.1), session(2, 0.1), session(3, 0.2)}
	annotate := func(kind history.Kind, on history.Record, day int, expires time.Time) history.Record {
		return history.Record{
			ID: string(kind), Kind: kind, Time: nights[2].Time.AddDate(0, 0, day),
			Annotation: &history.Annotation{Run: on.ID, Reason: "release", Author: "a", Measured: on.Time, Expires: expires},
		}
	}
	now := nights[2].Time.AddDate(0, 0, 10)
	for name, tt := range map[string]struct {
		annotations []history.Record
		want        int
	}{
		"none":     {nil, 3},
		"pinned":   {[]history.Record{annotate(history.Pin, nights[1], 1, time.Time{})}, 2},
		"unpinned": {[]history.Record{annotate(history.Pin, nights[1], 1, time.Time{}), annotate(history.Unpin, nights[1], 2, time.Time{})}, 3},
		"expired":  {[]history.Record{annotate(history.Pin, nights[0], 1, nights[2].Time.AddDate(0, 0, 5))}, 3},
	} {
		s := open(t, t.TempDir())
		add(t, s, append(append([]history.Record{}, nights...), tt.annotations...)...)
		h := load(t, s)
		if len(h.Quarantined) > 0 {
			t.Fatalf("%s: %v", name, h.Quarantined)
		}
		cell := nights[0].Cells[0]
		w := h.Window(history.Query{Cell: cell.Hash, Machine: nights[0].Machine, Model: cell.Model, Simulated: nights[0].Simulated, Now: now})
		if len(w.Points) != tt.want || tt.want == 2 && !strings.Contains(w.Note, "from after "+nights[1].ID+", which is pinned") {
			t.Errorf("%s: %d sessions (%s), want %d", name, len(w.Points), w.Note, tt.want)
		}
	}
}
