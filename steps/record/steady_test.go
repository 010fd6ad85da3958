package record

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/steps"
	"pgregory.net/rapid"
)

// stay is a successful request in flight from one second to another, with a token a second.
func stay(i int, from, to int64) Request {
	r := Request{Index: i, Planned: -1, Sent: from * 1e9, Done: to*1e9 + 1, WantTokens: int(to - from), PromptTokens: 1}
	for t := from + 1; t <= to; t++ {
		r.Events = append(r.Events, Event{At: t * 1e9, Tokens: int(t - from)})
	}
	r.OutputTokens = len(r.Events)
	return r
}

func TestSteadyState(t *testing.T) {
	failed := stay(9, 0, 100)
	failed.Failure = FailCut
	tests := []struct {
		name  string
		reqs  []Request
		want  window // in seconds
		rate  float64
		share float64
	}{
		{"nothing", nil, window{}, 0, 0},
		{"failed ones are not in flight", []Request{failed}, window{}, 0, 0},
		{"one", []Request{stay(0, 0, 10)}, window{0, 10, 1}, 1, 1},
		{"ramps are left out", []Request{stay(0, 0, 10), stay(1, 2, 12), failed}, window{2, 10, 2}, 17. / 8, 8. / 12},
		{"the longest span", []Request{stay(0, 0, 3), stay(1, 0, 3), stay(2, 4, 9), stay(3, 4, 9)}, window{4, 9, 2}, 2, 5. / 9},
		{"the first of equals", []Request{stay(0, 0, 3), stay(1, 5, 8)}, window{0, 3, 1}, 1, 3. / 8},
		{"one ends as another begins", []Request{stay(0, 0, 3), stay(1, 3, 6)}, window{0, 6, 1}, 1, 1},
		{"80 % of five is four", []Request{stay(0, 0, 9), stay(1, 0, 9), stay(2, 0, 9), stay(3, 0, 9), stay(4, 1, 2)},
			window{0, 9, 4}, 37. / 9, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := Run{Requests: ListOf(tt.reqs...)}
			for _, r := range tt.reqs {
				if r.Failure == "" {
					run.Duration = max(run.Duration, r.Done-1)
				}
			}
			w, ok := steadyState(run)
			if want := (window{tt.want.Start * 1e9, tt.want.End * 1e9, tt.want.Concurrency}); ok != (tt.rate > 0) || ok && w != want {
				t.Fatalf("window %+v (%v), want %+v", w, ok, want)
			}
			m := map[string]float64{}
			reduceSteady(m, run)
			if math.Abs(m["steady_output_throughput.mean"]-tt.rate) > 1e-9 || math.Abs(m["steady_window.share"]-tt.share) > 1e-9 {
				t.Errorf("%v, want %v tok/s in %v of the run", m, tt.rate, tt.share)
			}
		})
	}
}

// TestSteadyTokensWithoutCounts: where events are not tokens, a request's total is spread
// over them.
func TestSteadyTokensWithoutCounts(t *testing.T) {
	r := stay(0, 0, 4)
	r.OutputTokens = 40
	if got := tokensWithin(&r, window{Start: 2e9, End: 3e9}); got != 20 {
		t.Errorf("%v tokens, want 20", got)
	}
}

// TestSteadyStateOfAnyRun: the window lies in the run, and has the concurrency that it says.
func TestSteadyStateOfAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var run Run
		for i := range rapid.IntRange(1, 12).Draw(t, "n") {
			from := rapid.Int64Range(0, 20).Draw(t, "from")
			run.Requests.Add(stay(i, from, from+rapid.Int64Range(1, 10).Draw(t, "length")))
		}
		w, ok := steadyState(run)
		if !ok {
			t.Fatal("no window")
		}
		for at := w.Start; at < w.End; at += 1e9 {
			n := 0
			for _, r := range run.Requests.All() {
				if r.Sent <= at && at < r.Events[len(r.Events)-1].At {
					n++
				}
			}
			if n < w.Concurrency {
				t.Fatalf("%d in flight at %d s, window %+v", n, at/1e9, w)
			}
		}
	})
}

func TestGoodput(t *testing.T) {
	failed := stay(1, 0, 2)
	failed.Failure = FailCut
	one := stay(2, 0, 1) // a single token after a second
	short := Request{Index: 3, Done: 11e6, Events: []Event{{At: 10e6, Tokens: 1}}, OutputTokens: 1}
	run := Run{Duration: 10e9, Requests: ListOf(stay(0, 0, 4), failed, one, short)}
	for _, tt := range []struct {
		name   string
		limits steps.Goodput
		good   int
	}{
		{"all", steps.Goodput{TTFT: 1e9, TPOT: 1e9, E2EL: 4e9}, 3},
		{"ttft", steps.Goodput{TTFT: 1e9 - 1}, 1},
		{"tpot, which one token has not", steps.Goodput{TPOT: 1e9 - 1}, 2},
		{"e2el", steps.Goodput{E2EL: 4e9 - 1}, 2},
		{"none is good", steps.Goodput{TTFT: 1}, 0},
	} {
		run.Goodput = tt.limits
		m := Reduce(run)
		if share, ok := m["goodput.share"]; Good(run) != tt.good || !ok || math.Abs(share-float64(tt.good)/4) > 1e-12 ||
			math.Abs(m["goodput.rate"]-float64(tt.good)/10) > 1e-12 {
			t.Errorf("%s: %d good, %v, want %d", tt.name, Good(run), m, tt.good)
		}
	}
	run.Goodput = steps.Goodput{}
	if _, ok := Reduce(run)["goodput.rate"]; ok {
		t.Error("a goodput without limits")
	}
}

// TestEmbeddingHasNoFirstToken: an answer that is not of tokens has an end, and no more.
func TestEmbeddingHasNoFirstToken(t *testing.T) {
	r := Request{Planned: 0, Sent: 1e6, Done: 9e6, Events: []Event{{At: 9e6}}, PromptTokens: 5, Status: 200}
	m := Reduce(Run{Duration: 10e6, Requests: ListOf(r)})
	for _, id := range []string{"e2el.p50", "e2el_from_schedule.p50", "queue.p50", "request_throughput.mean",
		"input_throughput.mean", "success.rate"} {
		if _, ok := m[id]; !ok {
			t.Errorf("no %s", id)
		}
	}
	for _, id := range []string{"ttft.p50", "ttft_from_schedule.p50", "tpot.p50", "itl.p50", "itl_token.p50", "output_throughput.mean",
		"total_throughput.mean", "steady_output_throughput.mean"} {
		if v, ok := m[id]; ok {
			t.Errorf("%s = %v", id, v)
		}
	}
}

func TestSlope(t *testing.T) {
	if got := slope([]float64{1, 3, 5, 7}); math.Abs(got-2) > 1e-12 {
		t.Errorf("slope = %v, want 2", got)
	}
}
