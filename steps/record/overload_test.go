package record_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/servegate/pipeline/steps/record"
)

// queueRun is a first-come-first-served queue with one server: Poisson arrivals at rate
// 1 per second, a fixed service time of rho seconds (M/D/1).
func queueRun(seed uint64, n int, rho float64) record.Run {
	r := rand.New(rand.NewPCG(seed, 1))
	var run record.Run
	at, free := 0.0, 0.0
	for i := range n {
		at += r.ExpFloat64()
		free = max(free, at) + rho
		run.Requests.Add(record.Request{Index: i, Planned: int64(at * 1e9), Sent: int64(at * 1e9), Done: int64(free * 1e9)})
	}
	return run
}

func TestOverloadedIsSilentAtEightyPercent(t *testing.T) {
	for _, n := range []int{40, 100, 300, 1000} {
		for seed := range uint64(1000) {
			if record.Overloaded(queueRun(seed, n, 0.8)) {
				t.Fatalf("seed %d: %d requests at 80 %% utilisation count as overloaded", seed, n)
			}
		}
	}
}

func TestOverloadedFindsAServerThatFallsBehind(t *testing.T) {
	for _, tt := range []struct {
		n   int
		rho float64
	}{{200, 2}, {1000, 1.5}, {2000, 1.3}} {
		found := 0
		for seed := range uint64(100) {
			if record.Overloaded(queueRun(seed, tt.n, tt.rho)) {
				found++
			}
		}
		if found < 95 {
			t.Errorf("%d requests at utilisation %v: found %d of 100", tt.n, tt.rho, found)
		}
	}
}

// TestOverloadedWantsLongerLatencies: with constant latencies longer than the run the
// backlog only grows because nothing has ended yet.
func TestOverloadedWantsLongerLatencies(t *testing.T) {
	run := queueRun(3, 400, 0)
	run.Requests.Edit(func(r *record.Request) { r.Done = r.Planned + 1e12 })
	if record.Overloaded(run) {
		t.Error("a run shorter than its latencies counts as overloaded")
	}
}

func TestOverloadedDoesNotApply(t *testing.T) {
	var burst, closed record.Run
	for i := range 500 {
		q := record.Request{Index: i, Sent: int64(i), Done: int64(i) * 1e9}
		burst.Requests.Add(q)
		q.Planned = -1
		closed.Requests.Add(q)
	}
	for name, run := range map[string]record.Run{"burst": burst, "closed loop": closed, "empty": {}} {
		if record.Overloaded(run) {
			t.Errorf("%s counts as overloaded", name)
		}
	}
}

// TestPeakConcurrency compares the sweep with counting at every send.
func TestPeakConcurrency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var run record.Run
		for i := range rapid.IntRange(0, 30).Draw(t, "n") {
			sent := rapid.Int64Range(0, 50).Draw(t, "sent")
			run.Requests.Add(record.Request{Index: i, Sent: sent, Done: sent + rapid.Int64Range(0, 20).Draw(t, "d")})
		}
		want := 0
		for _, a := range run.Requests.All() {
			n := 0
			for _, b := range run.Requests.All() {
				if b.Sent <= a.Sent && a.Sent < b.Done {
					n++
				}
			}
			want = max(want, n)
		}
		if got := record.PeakConcurrency(run); got != want {
			t.Fatalf("PeakConcurrency = %d, want %d", got, want)
		}
	})
}
