package capacity_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/capacity"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// TestNowhere: an SLO that holds nowhere is told with its limits; tokens that a proxy gathers are named
// as what hides the times between them, other than a value that is just missing.
func TestNowhere(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  result.Run
		want string
	}{
		{"slow", result.Run{Sent: 80, Metrics: map[string]float64{"tpot.p50": 0.06, "success.rate": 1}},
			"the SLO does not hold at 4 req/s, the least load of the search: TPOT p50 60 ms, limit 40 ms. Lower min, or allow more"},
		{"gathered", result.Run{Sent: 80, Metrics: map[string]float64{"success.rate": 1}, Audit: map[string]any{result.OnePiece: 79.0}},
			"TPOT p50 unknown, since the tokens of 79 of 80 requests came in one piece, limit 40 ms. See what gathers them: the server under " +
				"load, its streaming interval, or a proxy"},
		{"no answers", result.Run{Sent: 80, Failed: 80, Metrics: map[string]float64{"success.rate": 0}},
			"TPOT p50 without a value, limit 40 ms; Success rate 0 %, limit 99 %. Lower min, or allow more"},
	} {
		s, err := capacity.New(steps.Load{Arrival: "poisson", Requests: 80, Search: &steps.Search{Min: 4, Max: 64, Resolution: 0.02, Probes: 8,
			SLO: []steps.Objective{{Metric: "tpot.p50", Limit: 0.04}, {Metric: "success.rate", Limit: 0.99}}}})
		if err != nil {
			t.Fatal(err)
		}
		for step := s.Next(); step != nil; step = s.Next() {
			s.Add(s.Probe(step, tt.run))
		}
		if got := s.Nowhere(); !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s:\n%s\n%s", tt.name, got, tt.want)
		}
	}
}

// TestLostClient: where the client was the limit twice in a row, what lower loads held is no capacity.
func TestLostClient(t *testing.T) {
	s, err := capacity.New(steps.Load{Arrival: "poisson", Requests: 80, Search: &steps.Search{Min: 4, Max: 4000, Resolution: 0.02, Probes: 8,
		SLO: []steps.Objective{{Metric: "ttft.p50", Limit: 0.5}}}})
	if err != nil {
		t.Fatal(err)
	}
	held := result.Run{Sent: 80, Status: result.RunOK, Metrics: map[string]float64{"ttft.p50": 0.1}}
	lost := result.Run{Sent: 80, Status: result.RunVoid, Reason: "the client was late", Metrics: held.Metrics}
	for i, run := range []result.Run{held, lost, lost} {
		if goesOn := s.Add(s.Probe(s.Next(), run)); goesOn != (i < 2) {
			t.Fatalf("probe %d: goes on: %v", i+1, goesOn)
		}
	}
	if found := s.Found(); found.Capacity != nil || found.Lower != nil || len(found.Probes) != 3 {
		t.Errorf("%+v", found)
	}
	if m := s.Metrics(); len(m) > 0 {
		t.Errorf("%v", m)
	}
}

// TestALoadThatMissesBelowTheCapacity: a search of a server with a dip at a low load says where it missed.
func TestALoadThatMissesBelowTheCapacity(t *testing.T) {
	for _, tt := range []struct {
		dip  float64 // of the latency at 16 req/s, of the limit
		want string
	}{{0.5, ""}, {1.4, ", but missed at 16 req/s"}} {
		s, err := capacity.New(steps.Load{Arrival: "poisson", Requests: 80, Search: &steps.Search{Min: 4, Max: 64, Resolution: 0.02, Probes: 8,
			SLO: []steps.Objective{{Metric: "ttft.p50", Limit: 0.1}}}})
		if err != nil {
			t.Fatal(err)
		}
		dipped := false
		for step := s.Next(); step != nil; step = s.Next() {
			latency := 0.1 * step.Offer * step.Offer / 2500
			if step.Offer == 16 && !dipped {
				latency, dipped = 0.1*tt.dip, true
			}
			s.Add(s.Probe(step, result.Run{Sent: 80, Status: result.RunOK, Metrics: map[string]float64{"ttft.p50": latency}}))
		}
		if got := capacity.FoundText(s.Found()); !strings.HasSuffix(got, ")"+tt.want) {
			t.Errorf("%q, want the end %q; %+v", got, tt.want, s.Found().Probes)
		}
	}
}
