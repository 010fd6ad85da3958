package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Metrics of a launch are judged as others are: a capacity that is the same in every launch
// has no spread, and that is a pass, not a division by zero.
func TestMetricsOfALaunch(t *testing.T) {
	for _, tt := range []struct {
		name string
		head float64
		want result.Verdict
	}{
		{"same", 40_000, result.Pass},
		{"a tenth less", 36_000, result.Regression},
		{"a tenth more", 44_000, result.Improvement},
		{"unknown", 0, result.Missing},
	} {
		s := newSession()
		s.plan.Gates[0].Metrics = []string{"kv_cache.tokens"}
		s.plan.Gates[0].Comparisons = append(s.plan.Gates[0].Comparisons, plan.Comparison{
			Head: "base", Base: "head", HeadValue: "base", BaseValue: "head", SameLaunches: true,
		})
		for cell, tokens := range []float64{40_000, tt.head} {
			s.each(cell, func(r *result.Run) {
				if tokens > 0 {
					r.Metrics["kv_cache.tokens"] = tokens
				}
			})
		}
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		var found []result.Decision
		for _, d := range s.doc.Gates[0].Decisions {
			if d.Metric == "kv_cache.tokens" {
				found = append(found, d)
			}
		}
		if len(found) != 1 || found[0].Verdict != tt.want {
			t.Errorf("%s: %+v, want one decision, %s", tt.name, found, tt.want)
		}
	}
}

// Start-up times of launches that filled their caches are left out of both sides without a loss of the
// verdict; one that is missing for no such reason allows no pass, and neither does a side that fills its
// caches with every launch.
func TestStartUpTimesOfFilledCaches(t *testing.T) {
	for _, tt := range []struct {
		name    string
		filling func(side string, repeat int) bool
		without func(side string, repeat int) bool // a value
		want    result.Verdict
		pairs   int
	}{
		{"the first of each side", func(_ string, r int) bool { return r == 1 }, nil, result.Pass, repeats - 1},
		{"the first of the head", func(side string, r int) bool { return r == 1 && side == "head" }, nil, result.Pass, repeats - 1},
		{"none", func(string, int) bool { return false }, func(side string, r int) bool { return side == "head" && r == 2 },
			result.Missing, repeats - 1},
		{"every one of the head", func(side string, _ int) bool { return side == "head" }, nil, result.Missing, 0},
	} {
		s := newSession()
		s.plan.Gates[0].Metrics = []string{"startup.time"}
		for cell, side := range []string{"base", "head"} {
			s.each(cell, func(r *result.Run) {
				r.Launch = fmt.Sprint(side, r.Repeat)
				fills := tt.filling(side, r.Repeat)
				s.doc.Launches = append(s.doc.Launches, result.Launch{ID: r.Launch, Repeat: r.Repeat, Target: "server.vllm." + side, Filling: fills})
				if !fills && (tt.without == nil || !tt.without(side, r.Repeat)) {
					r.Metrics["startup.time"] = 30 + 0.1*float64(r.Repeat%3)
				}
			})
		}
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		d := s.doc.Gates[0].Decisions[0]
		if d.Metric != "startup.time" || d.Verdict != tt.want || len(d.Pairs) != tt.pairs {
			t.Errorf("%s: %s of %s with %d pairs (%s), want %s with %d", tt.name, d.Verdict, d.Metric, len(d.Pairs), d.Reason, tt.want, tt.pairs)
		}
		said := strings.Contains(strings.Join(d.Warnings, "\n"), "are left out, in which caches were filled")
		if want := tt.without == nil; said != want {
			t.Errorf("%s: warnings %q", tt.name, d.Warnings)
		}
	}
}
