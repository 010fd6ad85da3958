package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/result"
)

// TestAttemptsFollowThePullRequest: a push is a further attempt, a gate that was red is
// remembered, and what the merge queue measures is counted apart.
func TestAttemptsFollowThePullRequest(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	event := filepath.Join(t.TempDir(), "event.json")
	try := func(name, payload string, verdict result.Verdict) *plan.Plan {
		t.Helper()
		if err := os.WriteFile(event, []byte(payload), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": event, "GITHUB_REPOSITORY": "o/r"}
		a := &app{Streams: Streams{Getenv: func(name string) string { return env[name] }, Err: t.Output()}, publishers: allPublishers()}
		p := &plan.Plan{File: "f.hcl", Alpha: 0.05, Gates: []plan.Gate{{Addr: "gate.a", Actions: result.Actions{OnInconclusive: "warn"}},
			{Addr: "gate.b", Actions: result.Actions{OnInconclusive: "warn"}}}}
		tries := a.tries(p, runFlags{})
		tries.count(a, p)
		doc := &result.Document{
			RunID: time.Duration(len(payload)).String() + name + string(verdict), Status: result.StatusComplete, Verdict: verdict,
			Gates: []result.Gate{{Addr: "gate.a", Verdict: verdict}, {Addr: "gate.b", Verdict: result.Pass}},
		}
		tries.note(a, p, &session.Result{Document: doc, Dir: t.TempDir()})
		return p
	}
	const (
		first  = `{"pull_request":{"number":7,"base":{"ref":"main"},"head":{"sha":"1"}}}`
		second = `{"pull_request":{"number":7,"base":{"ref":"main"},"head":{"sha":"2 "}}}`
		third  = `{"pull_request":{"number":7,"base":{"ref":"main"},"head":{"sha":"3  "}}}`
		other  = `{"pull_request":{"number":8,"base":{"ref":"main"},"head":{"sha":"1"}}}`
		review = `{"pull_request":{"number":7,"base":{"ref":"main"},"head":{"sha":"4   "}},"review":{}}`
		queue  = `{"merge_group":{"head_ref":"refs/heads/gh-readonly-queue/main/pr-7-abc","base_ref":"refs/heads/main","head_sha":"5"}}`
	)
	for _, tt := range []struct {
		event, payload string
		verdict        result.Verdict
		attempt        int
		red            []string
	}{
		{"pull_request", first, result.Inconclusive, 1, nil},
		{"pull_request", second, result.Regression, 2, nil},
		{"pull_request", third, result.Inconclusive, 3, []string{"gate.a"}},
		{"pull_request", other, result.Pass, 1, nil},
		{"pull_request_review", review, result.Pass, 4, []string{"gate.a"}},
		{"merge_group", queue, result.Pass, 1, nil},
	} {
		p := try(tt.event, tt.payload, tt.verdict)
		if p.Attempt != tt.attempt || !slices.Equal(p.Red, tt.red) {
			t.Errorf("%s %s: attempt %d after red %v, want %d after %v", tt.event, tt.payload, p.Attempt, p.Red, tt.attempt, tt.red)
		}
		for _, g := range p.Gates {
			if fails := p.OnInconclusive(g) == "fail"; fails != slices.Contains(tt.red, g.Addr) {
				t.Errorf("%s: inconclusive fails for %s: %v", tt.payload, g.Addr, fails)
			}
		}
	}
}
