package gates_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// side makes runs of 1,000 requests with the given failures; −1 is a server that failed.
func side(failed ...int) []gates.Run {
	runs := make([]gates.Run, len(failed))
	for i, f := range failed {
		runs[i] = gates.Run{Repeat: i + 1, Sent: 1000, Failed: max(f, 0), ServerFailed: f < 0}
	}
	return runs
}

func judgeSuccess(t *testing.T, base, head []gates.Run) gates.Decision {
	t.Helper()
	s := gates.Success{ID: "success", Gate: "gate.g", Base: base, Head: head, CanFail: true}
	return judge(t, gates.Family{Success: []gates.Success{s}}).Success[0]
}

func TestSuccess(t *testing.T) {
	tests := map[string]struct {
		base, head []gates.Run
		want       gates.Verdict
		reason     string
	}{
		"no failures": {side(0, 0, 0, 0), side(0, 0, 0, 0), gates.Pass, "0 of 4000"},
		"head fails in two runs": {side(0, 0, 0, 0), side(4, 0, 5, 0), gates.Inconclusive,
			"in 2 of 4 runs of the head and 0 of 4 of the base"},
		"head fails in all runs":      {side(0, 0, 0, 0), side(4, 6, 5, 5), gates.Regression, "run by run"},
		"head fails in one run":       {side(0, 0, 0, 0), side(200, 0, 0, 0), gates.Inconclusive, "one run only"},
		"two requests":                {side(0, 0, 0, 0), side(1, 1, 0, 0), gates.Inconclusive, "not significant"},
		"both alike":                  {side(3, 2, 4, 3), side(3, 3, 3, 4), gates.Pass, "both sides fail"},
		"both, head far more":         {side(3, 2, 4, 3), side(30, 34, 28, 31), gates.Regression, ""},
		"both, head in one run":       {side(3, 2, 4, 3), side(90, 0, 0, 0), gates.Inconclusive, "one run only"},
		"both, clustered in the head": {side(0, 3, 0, 0), side(1, 90, 0, 0), gates.Inconclusive, "not significant"},
		"base fails more":             {side(4, 5, 5, 6), side(0, 0, 0, 0), gates.Improvement, "significantly fewer"},
		"one request in each run":     {side(0, 0, 0, 0), side(1, 1, 1, 1), gates.Inconclusive, "in 4 of 4 runs"},
		"base fails in both runs":     {side(4, 5), side(0, 0), gates.Pass, ""}, // two runs do that by chance
		"base fails once":             {side(4, 0, 0, 0), side(0, 0, 0, 0), gates.Pass, ""},

		"head does not start": {side(0, 0, 0, 0), side(-1, -1, -1, -1), gates.Regression,
			"4 of 4 repeats, the base's in none: significantly"},
		"head did not start three times": {side(0, 0, 0), side(-1, -1, -1), gates.Inconclusive,
			"a regression if it fails in the next repeat as well"},
		"head crashes in most repeats": {side(0, 0, 0, 0, 0, 0), side(-1, -1, 0, -1, -1, -1), gates.Regression, "5 of 6 repeats"},
		"head never starts, the base once not": {side(0, 0, -1, 0, 0, 0, 0, 0), side(-1, -1, -1, -1, -1, -1, -1, -1), gates.Regression,
			"the base's in 1"},
		"head crashes twice": {side(0, 0, 0, 0), side(0, -1, 0, -1), gates.Inconclusive, "in 2 of 4 repeats"},
		"head crashes once": {side(0, 0, 0, 0), side(0, -1, 0, 0), gates.Inconclusive,
			"in each of the next 5 repeats as well"},
		"base fails too":                           {side(-1, 0, 0), side(-1, -1, 0), gates.Invalid, "base fails too"},
		"only the base does not":                   {side(-1, -1, -1, -1), side(0, 0, 0, 0), gates.Improvement, "the base's in 4"},
		"base crashes once":                        {side(-1, 0, 0), side(0, 0, 0), gates.Inconclusive, "the base's in 1"},
		"one crash and many failures":              {side(0, 0, 0, 0), side(-1, 32, 30, 28), gates.Regression, "90 of 3000"},
		"base crashed twice, head's requests fail": {side(-1, 0, 0, -1, 0, 0), side(30, 35, 28, 32, 31, 34), gates.Regression, "190 of 6000"},
		"base crashed twice, head unclear":         {side(-1, 0, -1, 0), side(1, 0, 0, 0), gates.Inconclusive, "the base's in 2"},
		"base crashed and fails requests":          {side(-1, 30, 28, 31, 29), side(0, 0, 0, 0, 0), gates.Improvement, "significantly fewer"},
		"head crashed, base fails requests":        {side(0, 30, 20, 0), side(-1, 0, 0, 0), gates.Inconclusive, "head's server failed in 1"},

		"base hardly starts, the head's requests are unclear": {side(-1, -1, -1, -1, -1, 0), side(0, 0, 0, 0, 0, 3), gates.Inconclusive,
			"one run only"},
		"head crashed and fails, base not begun": {nil, side(-1, -1, 3, 3), gates.Inconclusive, "no repeat has a run of both sides"},

		"head crashed, base not begun": {nil, side(-1), gates.Inconclusive, "no repeat has a run of both sides"},

		"nothing ran":     {nil, nil, gates.Missing, "no requests"},
		"head has no run": {side(0, 0), nil, gates.Missing, "no requests"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := judgeSuccess(t, tt.base, tt.head)
			if d.Verdict != tt.want || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("%s: %s (p = %g), want %s: …%s…", d.Verdict, d.Reason, d.Outcome.P, tt.want, tt.reason)
			}
			if d.Infrastructure != (tt.want == gates.Invalid) {
				t.Errorf("infrastructure: %v", d.Infrastructure)
			}
		})
	}
}

func TestSuccessCounts(t *testing.T) {
	d := judgeSuccess(t, side(0, 0, 0), side(-1, 6, 0))
	want := gates.Failures{Runs: 3, ServerFailed: 1, WithFailures: 1, Sent: 2000, Failed: 6}
	if got := d.Requests.Head; got != want {
		t.Errorf("%+v", got)
	}
	if once := judgeSuccess(t, side(4, 0, 0, 0), side(0, 9, 0, 0)).Outcome; d.N != 2 || once.P != 1 || once.PBetter != 1 {
		t.Errorf("of %d repeats; one run of a side is evidence: %+v", d.N, once)
	}
	if d.Difference.Head != 1-6.0/2000 || d.Difference.Base != 1 || d.Metric.ID != "success.rate" {
		t.Errorf("%+v", d)
	}
}

func TestSuccessIsPartOfTheFamily(t *testing.T) {
	f := gates.Family{Success: []gates.Success{{ID: "success", Gate: "gate.g", Base: side(0, 0, 0), Head: side(3, 4, 3), CanFail: true}}}
	if d := judge(t, f).Success[0]; d.Verdict != gates.Regression {
		t.Fatalf("alone: %s, p = %g", d.Verdict, d.Outcome.P)
	}
	for _, id := range []string{"ttft.p50", "ttft.p90", "ttft.p95", "ttft.p99", "tpot.p50", "tpot.p99", "itl.p99"} {
		f.Comparisons = append(f.Comparisons, comparison(t, id, ratios(1, 1.01, 0.99, 1.02)))
	}
	d := judge(t, f).Success[0]
	if d.Verdict != gates.Invalid || d.Infrastructure || d.GroupSize != 8 || !strings.Contains(d.Reason, "plan at least 4") {
		t.Errorf("in a family of 8: %s, p after Holm = %g", d.Verdict, d.Outcome.PHolm)
	}
	f.Success[0].Base = side(1, 0, 0)
	if d := judge(t, f).Success[0]; d.Verdict != gates.Inconclusive {
		t.Errorf("the base fails, too: %s: %s", d.Verdict, d.Reason)
	}
	f.Success[0].Base = side(0, 0, 0)
	for i := range 4 { // the level of each of 12 takes one run more
		c := comparison(t, "itl.p50", ratios(1, 1.01, 0.99, 1.02))
		c.ID = fmt.Sprint(c.ID, i)
		f.Comparisons = append(f.Comparisons, c)
	}
	if d := judge(t, f).Success[0]; d.Verdict != gates.Invalid || !strings.Contains(d.Reason, "plan at least 5") {
		t.Errorf("in a family of 12: %s: %s", d.Verdict, d.Reason)
	}
}

func TestAFailureNeverLooksLikeASpeedUp(t *testing.T) {
	tests := map[string]struct {
		head    []gates.Run
		ratio   float64
		want    gates.Verdict
		warning string
		base    []gates.Run // nil if nothing failed
	}{
		"pass, head fails in one run": {side(60, 0, 0), 1.0, gates.Pass, "in one run only", nil},
		"pass, two requests fail":     {side(1, 1, 0), 1.0, gates.Pass, "not significant", nil},
		"pass, both crash":            {side(-1, -1, 0), 1.0, gates.Pass, "success rates are invalid (success): base fails too", side(-1, -1, 0)},

		"improvement, head fails":    {side(20, 30, 25), 0.8, gates.Inconclusive, "", nil},
		"pass, head fails":           {side(20, 30, 25), 1.0, gates.Inconclusive, "", nil},
		"regression, head fails":     {side(20, 30, 25), 1.2, gates.Regression, "", nil},
		"pass, head crashed once":    {side(0, 0, -1), 1.0, gates.Pass, "success rates are inconclusive", nil},
		"improvement, nothing fails": {side(0, 0, 0), 0.8, gates.Improvement, "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			guarded := comparison(t, "ttft.p99", ratios(1, tt.ratio, tt.ratio*1.001, tt.ratio*0.999))
			other := guarded
			other.ID = "another cell"
			base := tt.base
			if base == nil {
				base = side(0, 0, 0)
			}
			j := judge(t, gates.Family{
				Comparisons: []gates.Comparison{guarded, other},
				Success: []gates.Success{{ID: "success", Gate: "gate.g", Base: base, Head: tt.head, CanFail: true,
					Metrics: []string{"ttft.p99"}}},
			})
			d := j.Comparisons[0]
			if d.Verdict != tt.want {
				t.Errorf("%s: %s, want %s", d.Verdict, d.Reason, tt.want)
			}
			if tt.want == gates.Inconclusive && !strings.Contains(d.Reason, "never looks like a speed-up") {
				t.Errorf("reason: %s", d.Reason)
			}
			if !strings.Contains(strings.Join(d.Warnings, "\n"), tt.warning) {
				t.Errorf("warnings: %q", d.Warnings)
			}
			if v := j.Comparisons[1].Verdict; v == gates.Inconclusive {
				t.Error("a comparison of another cell was guarded as well")
			}
		})
	}
}

// TestCrashedRunsHaveNoRequests: a run whose server failed does not change the comparison of success rates, however many
// requests it sent.
func TestCrashedRunsHaveNoRequests(t *testing.T) {
	for _, unpaired := range []bool{false, true} {
		p := func(crashed ...gates.Run) float64 {
			s := gates.Success{ID: "success", Gate: "gate.g", Base: append(side(0, 1, 0, 2), crashed...), Head: append(side(9, 3, 8, 5), crashed...),
				CanFail: true, Unpaired: unpaired}
			return judge(t, gates.Family{Success: []gates.Success{s}}).Success[0].Outcome.P
		}
		without, again, apart := p(), p(gates.Run{Repeat: 4, ServerFailed: true}), p(gates.Run{Repeat: 5, Sent: 1000, ServerFailed: true})
		if again != without || apart != without {
			t.Errorf("unpaired %v: p = %g, with a crash in a repeat %g, in one of its own %g", unpaired, without, again, apart)
		}
	}
}
