package comparability_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
)

// worked is a cell of two valid runs, in one of which two of ten requests failed, and a void one.
func worked(work map[string]string) *result.Cell {
	run := func(status result.RunStatus, hash string, failed, prompts int) result.Run {
		return result.Run{Status: status, Sent: 10, Failed: failed, Audit: map[string]any{"work_hash": hash}, Requests: &result.RunRequests{
			PromptTokens: prompts, OutputTokens: 2 * prompts / 5, Characters: 8 * prompts / 5}}
	}
	runs := []result.Run{run(result.RunOK, "a", 2, 800), run(result.RunOK, "b", 0, 1000), run(result.RunVoid, "c", 0, 5000)}
	for i := range runs {
		runs[i].Repeat = i + 1
	}
	return &result.Cell{Target: "server.a", Work: work, Runs: runs}
}

// TestWorkOfASession: means are taken over the answered requests of valid runs. Prompts are compared only for runs in which
// every request was answered.
func TestWorkOfASession(t *testing.T) {
	doc := &result.Document{
		Machine: map[string]string{"gpu_count": "1"},
		Targets: []result.Target{{Addr: "server.a", Engine: "vllm", Model: "m"}},
	}
	common := map[string]string{"temperature": "0", "parameter.x": "1"}
	with := func(add map[string]string) map[string]string {
		out := maps.Clone(add)
		out["temperature"], out[comparability.Engine] = "0", "vllm"
		return out
	}
	answered := map[string]string{"answered.output_tokens": "40", "answered.characters": "4"}
	of := func(c *result.Cell) (map[string]string, map[string]int) {
		w := comparability.WorkOf(doc, c)
		return w.Facts, w.Prompts
	}
	facts, prompts := of(worked(common))
	own := with(answered)
	own["answered.prompt_tokens"] = "100"
	if diff := cmp.Diff(own, facts) + cmp.Diff(map[string]int{"b": 1000}, prompts); diff != "" {
		t.Error(diff)
	}
	talk := maps.Clone(common)
	talk["dataset_options"] = `{"real_answers":true}`
	facts, prompts = of(worked(talk))
	delete(facts, "dataset_options")
	if diff := cmp.Diff(with(answered), facts); diff != "" || len(prompts) > 0 {
		t.Errorf("prompts that repeat answers: %s, %v", diff, prompts)
	}
	foreign := worked(common)
	for i := range foreign.Runs {
		foreign.Runs[i].Failed, foreign.Runs[i].Requests = 0, nil
		foreign.Runs[i].Audit = map[string]any{"input_tokens": 500.0, "output_tokens": 70.0}
	}
	facts, _ = of(foreign)
	if diff := cmp.Diff(with(map[string]string{"answered.prompt_tokens": "50", "answered.output_tokens": "7"}), facts); diff != "" {
		t.Errorf("another load generator: %s", diff)
	}
}

// TestPromptsOfSessions: the same requests have the same prompt tokens, within a hundredth.
func TestPromptsOfSessions(t *testing.T) {
	of := func(hash string, tokens int) *comparability.Work {
		return &comparability.Work{Facts: comparability.Facts{}, Prompts: map[string]int{hash: tokens}}
	}
	for name, tt := range map[string]struct {
		then, now *comparability.Work
		want      int
	}{
		"equal": {of("a", 1000), of("a", 1000), 0}, "nearly": {of("a", 1000), of("a", 1009), 0}, "more": {of("a", 1000), of("a", 1015), 1},
		"fewer": {of("a", 1015), of("a", 1000), 1}, "others": {of("a", 1000), of("b", 2000), 0}, "unknown": {nil, of("a", 1), 0},
		"unknown now": {of("a", 1), nil, 0},
	} {
		if got := comparability.Sessions(tt.then, tt.now); len(got) != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
