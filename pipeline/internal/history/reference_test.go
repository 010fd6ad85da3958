package history_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/history"
)

// noisy are nights of a level with 2 % of noise, the same in every run.
func noisy(n int, level func(night int) float64) []history.Record { return drawn(91, n, level) }

func drawn(seed uint64, n int, level func(night int) float64) []history.Record {
	rng := rand.New(rand.NewPCG(seed, 0))
	var out []history.Record
	for night := range n {
		out = append(out, session(night, level(night)*math.Exp(0.02*rng.NormFloat64())))
	}
	return out
}

func stored(now time.Time) history.Query {
	return history.Query{Cell: "h", Metric: "ttft.p50", Branch: "main", Machine: machine, Model: "m", Sessions: 10, Now: now, Margin: 0.05}
}

// A baseline is what was accepted: neither a step that was not accepted, nor a creep, nor the
// red nights themselves become what the next night is held against.
func TestBaselinesDoNotDrift(t *testing.T) {
	for name, tt := range map[string]struct {
		nights int
		level  func(night int) float64
	}{
		"a step, one night old":     {31, func(n int) float64 { return 0.1 * (1 + 0.12*float64(n/30)) }},
		"a step, ten nights old":    {40, func(n int) float64 { return 0.1 * (1 + 0.08*float64(n/30)) }},
		"a step, thirty nights old": {59, func(n int) float64 { return 0.1 * (1 + 0.08*float64(n/30)) }},
		"0.3 % a night":             {80, func(n int) float64 { return 0.1 * (1 + 0.003*float64(max(0, n-20))) }},
		"0.3 % a night, a year":     {300, func(n int) float64 { return 0.1 * (1 + 0.001*float64(max(0, n-20))) }},
		"2 % every eighth night":    {80, func(n int) float64 { return 0.1 * (1 + 0.02*float64(max(0, n-12)/8)) }},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{Records: noisy(tt.nights, tt.level)}
			w := h.Window(stored(start.AddDate(2, 0, 0)))
			if len(w.Points) != 10 {
				t.Fatalf("%d sessions: %s", len(w.Points), w.Note)
			}
			sum := 0.0
			for _, p := range w.Points {
				sum += p.Value / 10
			}
			if sum > 0.103 {
				t.Errorf("the baseline is %.4f where 0.1 was the level that counts (%s)", sum, w.Note)
			}
			// Accepting a run begins anew with it.
			last := tt.nights - 1
			h.Records = append(h.Records, history.Record{
				ID: "accepted", Kind: history.Acceptance, Time: start.AddDate(2, 0, 0),
				Annotation: &history.Annotation{Run: fmt.Sprintf("run-%03d", last), Reason: "new kernel", Author: "alice",
					Measured: session(last, 1).Time},
			})
			if w := h.Window(stored(start.AddDate(2, 0, 0))); len(w.Points) != 1 {
				t.Errorf("%d sessions after the acceptance of the last one: %s", len(w.Points), w.Note)
			}
		})
	}
}

// A gain is the level that counts as soon as enough sessions show it.
func TestBaselinesFollowGains(t *testing.T) {
	level := func(n int) float64 { return 0.1 * (1 - 0.2*float64(min(1, n/20))) }
	for nights, want := range map[int]float64{22: 0.1, 28: 0.1, 34: 0.08, 40: 0.08} {
		w := (&history.History{Records: noisy(nights, level)}).Window(stored(start.AddDate(2, 0, 0)))
		for _, p := range w.Points {
			if math.Abs(p.Value/want-1) > 0.1 {
				t.Errorf("%d nights: %.4f is in the baseline, want %g (%s)", nights, p.Value, want, w.Note)
			}
		}
		if len(w.Points) != 10 {
			t.Errorf("%d nights: %d sessions", nights, len(w.Points))
		}
	}
}

// A steady history loses nothing to the search for changes.
func TestSteadyBaselinesAreWhole(t *testing.T) {
	whole := 0
	for seed := range uint64(60) {
		q := stored(start.AddDate(2, 0, 0))
		q.Sessions = 0
		w := (&history.History{Records: drawn(seed, 40, func(int) float64 { return 0.1 })}).Window(q)
		if len(w.Points) >= 38 { // the last two may be suspected
			whole++
		}
	}
	if whole < 52 { // some unchanged series have a change point: it costs sessions, never a verdict
		t.Errorf("%d of 60 steady histories are whole", whole)
	}
}
