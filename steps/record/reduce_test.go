package record_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps/record"
)

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func near(got, want, tol float64) bool {
	return math.Abs(got-want) <= tol*max(1e-9, math.Abs(want))
}

// TestReduceAgainstNumpy compares every metric with the formulas of the original tools
// computed by numpy (testdata/vectors.py).
func TestReduceAgainstNumpy(t *testing.T) {
	var run record.Run
	want := map[string]float64{}
	readJSON(t, "testdata/run.json", &run)
	readJSON(t, "testdata/expected.json", &want)
	got := record.Reduce(run)
	for id, w := range want {
		if g, ok := got[id]; !ok || !near(g, w, 1e-7) {
			t.Errorf("%s = %.12g (present %v), numpy says %.12g", id, g, ok, w)
		}
	}
	for id := range got {
		if _, ok := want[id]; !ok {
			t.Errorf("%s is reduced but has no reference value", id)
		}
	}
}

// TestReduceKnowsTheRegistry: every run-level metric of the registry that a run has by itself is reduced, and
// nothing else.
func TestReduceKnowsTheRegistry(t *testing.T) {
	var run record.Run
	readJSON(t, "testdata/run.json", &run)
	got := record.Reduce(run)
	for _, m := range metric.All() {
		if _, ok := got[m.ID]; !ok && m.Level == metric.RunLevel && !m.Quality && !m.Counted && m.Group != "capacity" &&
			m.Group != "session_time" {
			t.Errorf("%s is registered but not reduced", m.ID)
		}
	}
	for id := range got {
		if _, ok := metric.Lookup(id); !ok {
			t.Errorf("%s is reduced but not registered", id)
		}
	}
}

// ok is a successful request of one token at 10 ms.
func okRequest(i int) record.Request {
	return record.Request{Index: i, Planned: 0, Sent: 0, Headers: 1, Done: 11e6, Events: []record.Event{{At: 10e6, Tokens: 1}},
		PromptTokens: 5, WantTokens: 1, OutputTokens: 1, Status: 200, Finish: "length"}
}

func TestReduceLeavesOutWhatIsNotThere(t *testing.T) {
	noUsage := okRequest(0)
	noUsage.OutputTokens = 0
	closed := okRequest(0)
	closed.Planned = -1
	failed := okRequest(0)
	failed.Failure = record.FailCut
	cancelled := okRequest(0)
	cancelled.Failure = record.FailCancelled
	tests := []struct {
		name            string
		requests        []record.Request
		present, absent []string
	}{
		{"nothing", nil, nil, []string{"ttft.mean", "success.rate", "request_throughput.mean", "concurrency.peak"}},
		{"one token", []record.Request{okRequest(0)}, []string{"ttft.p99", "e2el.mean", "queue.mean", "output_throughput.mean"},
			[]string{"tpot.mean", "itl.p50", "itl_token.p50"}},
		{"no usage", []record.Request{noUsage}, []string{"ttft.mean", "request_throughput.mean", "input_throughput.mean"},
			[]string{"output_throughput.mean", "total_throughput.mean"}},
		{"closed loop", []record.Request{closed}, []string{"ttft.mean"}, []string{"queue.mean", "ttft_from_schedule.mean",
			"e2el_from_schedule.p50"}},
		{"all failed", []record.Request{failed}, []string{"success.rate", "concurrency.peak"}, []string{"ttft.mean", "request_throughput.mean"}},
		{"only cancelled", []record.Request{cancelled}, nil, []string{"success.rate", "ttft.mean"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := record.Reduce(record.Run{Duration: 11e6, Requests: record.ListOf(tt.requests...)})
			for _, id := range tt.present {
				if _, ok := got[id]; !ok {
					t.Errorf("%s is absent", id)
				}
			}
			for _, id := range tt.absent {
				if v, ok := got[id]; ok {
					t.Errorf("%s = %v, want it absent", id, v)
				}
			}
			for id, v := range got {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%s = %v", id, v)
				}
			}
		})
	}
}

// TestTokenGaps: an event without a token keeps the clock running, one with several
// spreads its gap over them.
func TestTokenGaps(t *testing.T) {
	r := okRequest(0)
	r.Events = []record.Event{{At: 10e6, Tokens: 1}, {At: 12e6, Tokens: 1}, {At: 20e6, Tokens: 3}}
	r.OutputTokens, r.Done = 3, 21e6
	s := record.Collect(record.Run{Requests: record.ListOf(r)})
	if want := []float64{0.005, 0.005}; len(s.ITLToken) != 2 || !near(s.ITLToken[0], want[0], 1e-12) || !near(s.ITLToken[1], want[1], 1e-12) {
		t.Errorf("ITLToken = %v, want %v", s.ITLToken, want)
	}
	if len(s.ITL) != 2 {
		t.Errorf("ITL = %v, want a gap per event", s.ITL)
	}
	r.OutputTokens = 4 // the events do not account for all tokens
	if s := record.Collect(record.Run{Requests: record.ListOf(r, okRequest(1))}); s.ITLToken != nil {
		t.Errorf("ITLToken = %v with inexact counts, want none", s.ITLToken)
	}
}

func TestStats(t *testing.T) {
	for _, v := range [][]float64{nil, {}} {
		if !math.IsNaN(record.Mean(v)) || !math.IsNaN(record.Std(v)) || !math.IsNaN(record.Quantile(v, 0.5)) {
			t.Errorf("statistics of an empty sample are numbers")
		}
	}
	if q := record.Quantile([]float64{1, 2, 4}, 0.75); q != 3 {
		t.Errorf("Quantile = %v, want 3", q)
	}
	if q := record.Quantile([]float64{1, 2, 4}, 1); q != 4 {
		t.Errorf("Quantile(1) = %v, want 4", q)
	}
}

// TestFailures: every class is counted, what we cancelled too, and nothing is where none
// failed.
func TestFailures(t *testing.T) {
	run := record.Run{Requests: record.ListOf(record.Request{}, record.Request{Failure: record.FailStatus},
		record.Request{Failure: record.FailCancelled},
		record.Request{Failure: record.FailStatus})}
	n, classes := record.Failures(run)
	if n != 3 || len(classes) != 2 || classes[string(record.FailStatus)] != 2 || classes[string(record.FailCancelled)] != 1 {
		t.Errorf("%d failed: %v", n, classes)
	}
	if n, classes := record.Failures(record.Run{Requests: record.ListOf(record.Request{})}); n != 0 || classes != nil {
		t.Errorf("without failures: %d, %v", n, classes)
	}
}

// TestSessionTimes: a session lasts from its first send to its last token, and has no time if a
// request of it failed or was cut.
func TestSessionTimes(t *testing.T) {
	at := func(session int, sent, last int64, failure record.Failure) record.Request {
		r := okRequest(0)
		r.Session, r.Sent, r.Failure, r.Events = &session, sent, failure, []record.Event{{At: last, Tokens: 1}}
		return r
	}
	run := record.Run{Requests: record.ListOf(
		at(4, 5e9, 6e9, ""), at(1, 0, 1e9, ""), at(2, 0, 1e9, ""), at(4, 1e9, 3e9, ""), at(1, 2e9, 4e9, record.FailStatus),
		at(2, 3e9, 8e9, ""), okRequest(7),
	)}
	got := record.Reduce(run)
	if mean, late := got["session_time.mean"], got["session_time.p90"]; mean != 6.5 || math.Abs(late-7.7) > 1e-9 {
		t.Errorf("mean %g s and p90 %g s, want 6.5 and 7.7 of 5 and 8", mean, late)
	}
}
