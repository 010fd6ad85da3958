package judge_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// TestUnwatched: a head that passes and is worse in what no gate compares is named. What a gate compares, what
// chance explains, less than the margin, and comparisons that did not pass are not.
func TestUnwatched(t *testing.T) {
	wobble := func(r *result.Run) float64 { return 1 + 0.004*float64(r.Repeat%2) }
	// twelve repeats, in one of which the tail of the head differs from the others
	twelve := func(exception float64) func(session) {
		return func(s session) {
			s.plan.Benchmarks[0].RepeatMax = 12
			for r := repeats + 1; r <= 12; r++ {
				s.add(0, run(r, 0.1))
				s.add(1, run(r, 0.1))
			}
			s.each(1, func(r *result.Run) {
				if r.Repeat == 5 {
					r.Metrics["ttft.p99"] *= exception
				} else {
					r.Metrics["ttft.p99"] *= 1.3 * wobble(r)
				}
			})
		}
	}
	for _, tt := range []struct {
		name   string
		change func(s session)
		want   string // "" for no warning
	}{
		{"equal sides", func(session) {}, ""},
		{"a slower tail", func(s session) {
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p99"] *= 1.3 * wobble(r) })
		}, "TTFT p99 300 ms → 391 ms (+30.3 %)"},
		{"the statistic of a quantity that is worst", func(s session) {
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p99"] *= 1.3; r.Metrics["ttft.mean"] = 0.2 * wobble(r) })
			s.each(0, func(r *result.Run) { r.Metrics["ttft.mean"] = 0.1 })
		}, "TTFT mean 100 ms → 200 ms (+100 %)"},
		{"less throughput", func(s session) {
			s.each(0, func(r *result.Run) { r.Metrics["request_throughput.mean"] = 10 * wobble(r) })
			s.each(1, func(r *result.Run) { r.Metrics["request_throughput.mean"] = 5 })
		}, "Request throughput 10.0 req/s → 5.00 req/s (−50.1 %)"},
		{"a start that takes longer", func(s session) {
			s.each(0, func(r *result.Run) { r.Metrics["startup.time"] = 0.01 + float64(r.Repeat%2) })
			s.each(1, func(r *result.Run) { r.Metrics["startup.time"] = 9 })
		}, "Startup time 0.510 s → 9.00 s"},
		{"a start of milliseconds", func(s session) {
			s.each(0, func(r *result.Run) { r.Metrics["startup.time"] = 0.01 })
			s.each(1, func(r *result.Run) { r.Metrics["startup.time"] = 0.03 * wobble(r) })
		}, ""},
		{"a faster tail", func(s session) {
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p99"] *= 0.7 * wobble(r) })
		}, ""},
		{"less than the margin", func(s session) {
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p99"] *= 1.03 * wobble(r) })
		}, ""},
		{"a noisy tail", func(s session) {
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p99"] *= 1.02 + 0.5*float64(r.Repeat%2) })
		}, ""},
		{"a tail that is slower in each of twelve repeats", twelve(1.3), "TTFT p99 300 ms → 391 ms"},
		{"a tail that is faster in one of twelve repeats", twelve(0.99), ""}, // however small the p value
		{"the tail has a gate of its own", func(s session) {
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p99"] *= 1.3 * wobble(r) })
			tail := s.plan.Gates[0]
			tail.Addr, tail.Metrics, tail.Margin = "gate.tail", []string{"ttft.p99"}, 0.5
			s.plan.Gates = append(s.plan.Gates, tail)
		}, ""},
		{"a regression is red already", func(s session) {
			s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 1.3; r.Metrics["ttft.p99"] *= 1.3 * wobble(r) })
		}, ""},
		{"a margin in seconds", func(s session) {
			s.each(0, func(r *result.Run) { r.Metrics["queue.p50"] = 0.01 })
			s.each(1, func(r *result.Run) { r.Metrics["queue.p50"] = 0.01; r.Metrics["ttft.p50"] *= 1.2 * wobble(r) })
			s.plan.Gates[0].Metrics, s.plan.Gates[0].Terms = []string{"queue.p50"}, gates.Terms{Claim: gates.Claim{Margin: 3},
				Rule: gates.Rule{TestName: "paired_t"}}
		}, "TTFT p50 100 ms → 120 ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession()
			tt.change(s)
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, g := range s.doc.Gates {
				for _, d := range g.Decisions {
					if d.MovedCost != "" {
						got = append(got, d.MovedCost)
					}
				}
			}
			if len(got) > 1 || (len(got) == 1) != (tt.want != "") || tt.want != "" && !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
