package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// TestAnswersInVirtualTime rehearses examples/answers: of 100 files with equal sides five regress at
// most, of those with wrong answers 95 at least, and a document is judged again from what it holds.
func TestAnswersInVirtualTime(t *testing.T) {
	files := 2
	if *full {
		files = 40
	}
	for _, tt := range []struct {
		corrupt string
		want    func(result.Verdict) bool
	}{
		{"0%", func(v result.Verdict) bool { return v != result.Regression }},
		{"4%", func(v result.Verdict) bool { return v == result.Regression }},
	} {
		r := rehearse(t, answersExample(t, tt.corrupt, "1%", 400))
		var otherwise []string
		for seed := range files {
			doc, err := r.Run(seed)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(doc.Gates, func(g result.Gate) bool { return g.Addr == "gate.same_answers" })
			if g := doc.Gates[i]; !tt.want(g.Verdict) {
				otherwise = append(otherwise, fmt.Sprintf("seed %d: %s: %s", seed, g.Verdict, g.Decisions[0].Reason))
			}
			if doc.Answers == nil || len(doc.Answers[0].Compared) == 0 {
				t.Fatal("no answers in the document")
			}
			for _, r := range doc.Benchmarks[1].Cells[0].Runs {
				if r.Answers == nil || r.Answers.Prompts != 400 || !r.Answers.Logprobs || r.Answers.Digest != "" {
					t.Errorf("answers of a run: %+v", r.Answers)
				}
			}
			if err := judge.Verify(doc, nil); err != nil {
				t.Errorf("judged again: %v", err)
			}
		}
		if len(otherwise)*100 > 5*files {
			t.Errorf("%s corrupted, %d files: %q", tt.corrupt, files, otherwise)
		}
	}
}

// TestWrongInEveryAnswerIsNeverGreen rehearses examples/answers with a head that answers every prompt wrong, whose launches
// differ in next to nothing, in most prompts, and in nearly all: with each gate of answers alone, and with both.
func TestWrongInEveryAnswerIsNeverGreen(t *testing.T) {
	files := 1
	if *full {
		files = 40
	}
	for _, divergence := range []string{"1%", "60%", "97%", "100%"} {
		r := rehearse(t, answersExample(t, "100%", divergence, 200))
		for seed := range files {
			doc, err := r.Run(seed)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range doc.Gates {
				alone := result.Document{Status: doc.Status, Gates: []result.Gate{g}}
				if strings.HasPrefix(g.Benchmark, "answers.") && alone.Outcome().Check == result.CheckSuccess {
					t.Errorf("%s diverge, seed %d: %s is %s: %s", divergence, seed, g.Addr, g.Verdict, g.Decisions[0].Reason)
				}
			}
			if doc.ExitCode == result.ExitOK {
				t.Errorf("%s diverge, seed %d: exit status 0", divergence, seed)
			}
			if err := judge.Verify(doc, nil); err != nil {
				t.Errorf("%s diverge, seed %d, judged again: %v", divergence, seed, err)
			}
		}
	}
}

// answersExample is the example with fewer prompts and repeats.
func answersExample(t *testing.T, corrupt, divergence string, prompts int) *config.Config {
	t.Helper()
	cfg := loadExample(t, "answers", "corrupt="+corrupt, "divergence="+divergence, "repeats=5")
	return eachWorkload(cfg, func(w *steps.Workload) {
		if w.Load.Requests = prompts; w.Answers == nil {
			w.Load.Requests = 20
		}
		w.Dataset.OutputMin, w.Dataset.OutputMax = 24, 24
	})
}

// TestAnswersWithoutLogprobs: a server that gives no log-probabilities makes what is judged by
// them invalid, and nothing else; and figures of answers that do not follow are noticed.
func TestAnswersWithoutLogprobs(t *testing.T) {
	r, p := rehearsePlan(t, answersExample(t, "0%", "1%", 200))
	doc, err := r.Run(1)
	if err != nil {
		t.Fatal(err)
	}
	a := &doc.Answers[0]
	a.Compared = slices.DeleteFunc(a.Compared, func(c result.ComparedAnswers) bool { return c.Metric == "logprob_difference.mean" })
	a.Reason = "answers of the head came without a log-probability for each token"
	if err := judge.Judge(p, doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]result.Verdict{"gate.same_answers": result.Pass, "gate.same_probabilities": result.Invalid}
	for _, g := range doc.Gates {
		if v, ok := want[g.Addr]; ok && g.Decisions[0].Verdict != v && (v != result.Pass || g.Decisions[0].Verdict != result.Inconclusive) {
			t.Errorf("%s is %s: %s", g.Addr, g.Decisions[0].Verdict, g.Decisions[0].Reason)
		}
	}
	if doc.ExitCode != result.ExitUndecided {
		t.Errorf("exit status %d", doc.ExitCode)
	}
	if err := judge.Verify(doc, nil); err != nil {
		t.Errorf("judged again: %v", err)
	}
	last := &a.Compared[len(a.Compared)/2-1] // of agreement
	last.Pairs[0].Head -= 0.5
	if judge.Verify(doc, nil) == nil {
		t.Error("another figure of answers is not noticed")
	}
}
