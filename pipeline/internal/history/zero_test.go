package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/history"
)

// A session whose tokens came in one piece is no baseline for the time between them.
func TestTokensInOnePieceAreNoBaseline(t *testing.T) {
	h := &history.History{Records: noisy(12, func(int) float64 { return 0.1 })}
	for i := range h.Records {
		for _, c := range h.Records[i].Cells {
			c.Metrics["tpot.p50"] = 0.01
		}
	}
	h.Records[11].Cells[0].Metrics["tpot.p50"] = 0
	q := stored(start.Add(365 * 24 * time.Hour))
	q.Metric, q.Sessions, q.Margin = "tpot.p50", 0, 0
	if w := h.Window(q); len(w.Points) != 11 || !strings.Contains(w.Note, "one piece") {
		t.Errorf("%d sessions: %s", len(w.Points), w.Note)
	}
}
