package result_test

import (
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

func TestOverallIsTheWorst(t *testing.T) {
	order := []result.Verdict{result.Regression, result.Invalid, result.Missing, result.Inconclusive, result.Pass, result.Improvement}
	for i, worse := range order {
		for _, better := range order[i:] {
			for _, gates := range [][]result.Gate{{{Verdict: worse}, {Verdict: better}}, {{Verdict: better}, {Verdict: worse}}} {
				if got := result.Overall(gates); got != worse {
					t.Errorf("Overall(%s, %s) = %s", gates[0].Verdict, gates[1].Verdict, got)
				}
			}
		}
	}
	if got := result.Overall(nil); got != "" {
		t.Errorf("Overall of no gates = %q", got)
	}
}

func TestExit(t *testing.T) {
	gate := func(on result.Action, verdicts ...result.Verdict) result.Gate {
		g := result.Gate{Actions: result.Actions{OnRegression: on, OnInconclusive: on, OnMissing: on, OnInvalid: on},
			Verdict: result.Worst(verdicts...)}
		for _, v := range verdicts {
			g.Decisions = append(g.Decisions, result.Decision{Verdict: v})
		}
		return g
	}
	infrastructure := gate("ignore", result.Invalid)
	infrastructure.Decisions[0].Infrastructure = true
	tests := []struct {
		name   string
		status result.Status
		gates  []result.Gate
		want   int
	}{
		{"no gates", result.StatusComplete, nil, 0},
		{"all pass", result.StatusComplete, []result.Gate{gate("fail", result.Pass, result.Improvement)}, 0},
		{"regression", result.StatusComplete, []result.Gate{gate("fail", result.Pass, result.Regression)}, 1},
		{"regression that warns", result.StatusComplete, []result.Gate{gate("warn", result.Regression)}, 0},
		{"inconclusive", result.StatusComplete, []result.Gate{gate("fail", result.Inconclusive)}, 5},
		{"missing", result.StatusComplete, []result.Gate{gate("fail", result.Missing)}, 5},
		{"invalid", result.StatusComplete, []result.Gate{gate("fail", result.Invalid)}, 5},
		{"invalid, ignored", result.StatusComplete, []result.Gate{gate("ignore", result.Invalid)}, 0},
		{"regression before inconclusive", result.StatusComplete, []result.Gate{gate("fail", result.Inconclusive),
			gate("fail", result.Regression)}, 1},
		{"hidden behind a worse one that warns", result.StatusComplete, []result.Gate{{
			Actions: result.Actions{OnRegression: "warn", OnInvalid: "fail"}, Verdict: result.Regression,
			Decisions: []result.Decision{{Verdict: result.Regression}, {Verdict: result.Invalid}},
		}}, 5},
		{"regression before infrastructure", result.StatusComplete, []result.Gate{gate("fail", result.Regression), infrastructure}, 1},
		{"regression before failed", result.StatusFailed, []result.Gate{gate("fail", result.Regression)}, 1},
		{"infrastructure alone", result.StatusComplete, []result.Gate{gate("fail", result.Pass), infrastructure}, 4},
		{"failed without gates", result.StatusFailed, nil, 4},
		{"interrupted before it passes", result.StatusInterrupted, []result.Gate{gate("fail", result.Pass)}, 5},
		{"interrupted without gates", result.StatusInterrupted, nil, 5},
		{"regression before interrupted", result.StatusInterrupted, []result.Gate{gate("fail", result.Regression)}, 1},
		{"gate without decisions", result.StatusComplete, []result.Gate{{Actions: result.Actions{OnMissing: "fail"}, Verdict: result.Missing}},
			5},
		{"default of regression", result.StatusComplete, []result.Gate{gate("", result.Regression)}, 1},
		{"default of inconclusive", result.StatusComplete, []result.Gate{gate("", result.Inconclusive)}, 0},
		{"default of missing", result.StatusComplete, []result.Gate{gate("", result.Missing)}, 5},
	}
	for _, tt := range tests {
		if got := result.Exit(&result.Document{Status: tt.status, Gates: tt.gates}); got != tt.want {
			t.Errorf("%s: exit %d, want %d", tt.name, got, tt.want)
		}
	}
}
