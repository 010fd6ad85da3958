package main_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/series"

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/reports/github/githubtest"
)

// nightly is a job of the default branch at a fake GitHub, with a history of its own.
func nightly(t *testing.T) *job {
	t.Helper()
	j := newJob(t)
	j.write(t, "event.json", `{"repository":{"default_branch":"main"}}`)
	j.env = append(j.env, "GITHUB_EVENT_NAME=schedule", "GITHUB_SHA="+headSHA, "GITHUB_REF_TYPE=branch", "GITHUB_REF_NAME=main",
		"GITHUB_SERVER_URL=https://github.com",
		"PIPELINE_HISTORY="+filepath.Join(j.dir, "past"), "USER=alice")
	return j
}

// measured adds nights to the history of a job: one value of TTFT p99 in seconds each, with
// 1 % of noise, and a throughput that stays.
func (j *job) measured(t *testing.T, from int, simulated string, levels ...float64) {
	t.Helper()
	s, err := history.Open(t.Context(), filepath.Join(j.dir, "past"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	rng := rand.New(rand.NewPCG(5, uint64(from)))
	for i, level := range levels {
		n := from + i
		r := history.Record{
			ID: fmt.Sprintf("night-%03d%s", n, simulated), Kind: history.Session, Time: time.Date(2026, 8, 1, 2, 17, 0, 0,
				time.UTC).AddDate(0, 0, n),
			Source: history.Source{Commit: fmt.Sprintf("%040x", n), Branch: "main"}, Simulated: simulated,
			Machine: map[string]string{"gpu_count": "1", "gpu_name": "NVIDIA H100"},
			Cells: []history.Cell{{
				Benchmark: "benchmark.chat", Hash: "c1", Label: "rate=8", Model: "m", Runs: 5, Sent: 5000, Metrics: map[string]float64{
					"ttft.p99": level * math.Exp(0.01*rng.NormFloat64()), "output_throughput.mean": 2000 * math.Exp(0.01*rng.NormFloat64()),
				},
			}},
		}
		if _, err := history.Add(t.Context(), s, r); err != nil {
			t.Fatal(err)
		}
	}
}

func repeated(level float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = level
	}
	return out
}

// ends demands an exit status and returns what was printed.
func (j *job) ends(t *testing.T, env []string, status int, args ...string) string {
	t.Helper()
	cmd, out := j.command(t, env, args...)
	_ = cmd.Run() // the status is what counts
	if got := cmd.ProcessState.ExitCode(); got != status {
		t.Fatalf("pipeline %s: exit status %d, want %d:\n%s", strings.Join(args, " "), got, status, out)
	}
	return out.String()
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

// TestNightly goes through the nights of a series by the commands of the workflow.
func TestNightly(t *testing.T) {
	j := nightly(t)
	j.measured(t, 0, "", repeated(0.4, 20)...)
	wants(t, j.ends(t, nil, 0, "history", "report"), "no regression in 2 series", "20 sessions from 2026-08-01 to 2026-08-20")
	wants(t, j.ends(t, nil, 0, "history", "issues"), "no news")

	// One night is suspected, the second one confirms it.
	j.measured(t, 20, "", 0.5)
	wants(t, j.ends(t, nil, 0, "history", "report", "--format", "markdown"), "1 of 2 series suspected")
	wants(t, j.ends(t, nil, 0, "history", "issues"), "no news")
	j.measured(t, 21, "", 0.5)
	wants(t, j.ends(t, nil, 0, "history", "issues", "--dry-run"), "would be opened: Performance regression: TTFT p99 of chat rate=8")
	if n := len(j.hub.Issues()); n != 0 {
		t.Fatalf("a dry run opened %d issues", n)
	}
	wants(t, j.ends(t, nil, 0, "history", "issues", "--label", "performance"),
		"opened: Performance regression: TTFT p99 of chat rate=8 (https://github.com/o/r/issues/")
	wants(t, j.ends(t, nil, 0, "history", "issues"), "no news")
	if all := j.hub.Issues(); len(all) != 1 || all[0].Closed || len(all[0].Labels) != 1 {
		t.Fatalf("%+v", all)
	}

	// The report of the night.
	wants(t, j.ends(t, nil, 0, "history", "report", "--out", "report"), "wrote report")
	for _, name := range []string{"history.html", "history.md", "history.txt"} {
		text, err := os.ReadFile(filepath.Join(j.dir, "report", name))
		if err != nil {
			t.Fatal(err)
		}
		wants(t, string(text), "1 of 2 series regressed", "2 days, 2 sessions")
	}
	text, err := os.ReadFile(filepath.Join(j.dir, "report", "history.json"))
	var doc series.History
	if err != nil || json.Unmarshal(text, &doc) != nil || len(doc.Trends) != 2 || doc.Schema != series.Schema {
		t.Errorf("history.json: %v, %+v", err, doc)
	}

	// The new level is accepted.
	j.ends(t, nil, 0, "accept", "night-021", "--metric", "ttft.p99", "--reason", "larger KV blocks")
	wants(t, j.ends(t, nil, 0, "history", "issues"), "closed: Performance regression")
	if all, said := j.hub.Issues(), j.hub.Comments(); len(all) != 1 || !all[0].Closed || len(said) != 1 ||
		!strings.Contains(said[0].Body, "accepted by alice: larger KV blocks") {
		t.Fatalf("%+v %+v", all, said)
	}
}

// What must not write issues does not, and what GitHub refuses is reported.
func TestNightlyRefusals(t *testing.T) {
	j := nightly(t)
	j.measured(t, 0, "", append(repeated(0.4, 20), repeated(0.5, 5)...)...)
	wants(t, j.ends(t, []string{"GITHUB_REF_NAME=topic"}, 3, "history", "issues"), "from the default branch (main) only: this is branch topic")
	wants(t, j.ends(t, []string{"GITHUB_EVENT_NAME=pull_request"}, 3, "history", "issues"), "this is pull_request")
	wants(t, j.ends(t, []string{"GITHUB_REPOSITORY="}, 3, "history", "issues"), "GITHUB_REPOSITORY is not set")
	wants(t, j.ends(t, []string{"GITHUB_TOKEN="}, 3, "history", "issues"), "no token")
	for _, bad := range []string{"5", "0%", "-1%", "ttft.p98=5%", "x%", "NaN%"} {
		j.ends(t, nil, 3, "history", "report", "--margin", bad)
	}
	wants(t, j.ends(t, nil, 0, "history", "report", "--margin", "ttft.p99=30%"), "no regression in 2 series")
	j.hub.FailAlways("POST issues", githubtest.Forbidden)
	wants(t, j.ends(t, nil, 4, "history", "issues"), "::warning::", "add `issues: write` to `permissions:`")
	if n := len(j.hub.Issues()); n != 0 {
		t.Errorf("%d issues", n)
	}
}

// Simulated sessions are never set beside real ones.
func TestSimulatedNightsStayApart(t *testing.T) {
	j := nightly(t)
	j.measured(t, 0, "process", append(repeated(0.4, 20), repeated(0.5, 5)...)...)
	wants(t, j.ends(t, nil, 0, "history", "report"), "no sessions yet", "there are only simulated sessions; --simulated shows them")
	wants(t, j.ends(t, nil, 0, "history", "issues"), "no news")
	j.measured(t, 0, "", repeated(0.3, 20)...)
	wants(t, j.ends(t, nil, 0, "history", "report"), "no regression in 2 series", "20 sessions")
	wants(t, j.ends(t, nil, 0, "history", "report", "--simulated"), "Simulated sessions:", "1 of 2 series regressed", "25 sessions")
	wants(t, j.ends(t, nil, 0, "history", "issues", "--simulated"), "(simulated)")
}
