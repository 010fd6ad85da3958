package main_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// realMeasures holds the metrics of counters to what a real vLLM says elsewhere: to what its own
// log says of drafts, to what the prompts repeat, and to measures that the file declares of the same series.
func realMeasures(t *testing.T, venv string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	keepLogs(t, out)
	text, code := pipeline(t, ".", "run", filepath.Join("testdata", "vllm-measures.pipeline.hcl"), "--var", "venv="+venv, "--out", out,
		"--progress", "plain")
	doc, err := store.ReadDocument(out)
	if err != nil || code != 0 {
		t.Fatalf("exit status %d: %v\n%s", code, err, text)
	}
	run := doc.Benchmarks[0].Cells[0].Runs[0]
	if run.Status != result.RunOK {
		t.Fatalf("%s: %s", run.Status, run.Reason)
	}
	checkObserved(t, run, 384)
	drafted, accepted := drafts(t, out)
	t.Logf("%v; the log says %g of %g", run.Metrics, accepted, drafted)
	same := func(what string, got, want, margin float64) {
		t.Helper()
		if !(math.Abs(got-want) <= margin) {
			t.Errorf("%s is %g, want %g ± %g", what, got, want, margin)
		}
	}
	m := run.Metrics
	same("acceptance.rate beside the log", m["acceptance.rate"], accepted/drafted, 0.03)
	same("measure.acceptance", m["measure.acceptance"], m["acceptance.rate"], 1e-12)
	// Four tokens at most come from a step: three drafts and the model's own.
	same("acceptance.length", m["acceptance.length"], 1+3*m["acceptance.rate"], 0.05)
	// All but the first of the prompts find the 256 tokens that they share of their 288, and what is preempted looks again.
	same("prefix_cache.hit_rate", m["prefix_cache.hit_rate"], 256./288, 0.05)
	same("measure.queued", m["measure.queued"], m["server_queue.mean"], 1e-9)
	if m["server_queue.mean"] <= 0 || m["preemptions.per_request"] <= 0 || m["measure.accepted"] <= 0 || m["measure.accepted"] >= 384 {
		t.Errorf("%v", m)
	}
}

// specLine is what vLLM logs of the drafts of its last interval.
var specLine = regexp.MustCompile(`SpecDecoding metrics: .*Accepted: (\d+) tokens, Drafted: (\d+) tokens`)

// drafts adds up what the logs of a run say.
func drafts(t *testing.T, out string) (drafted, accepted float64) {
	t.Helper()
	for _, path := range under(t, out) {
		if filepath.Ext(path) != ".log" {
			continue
		}
		log, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range specLine.FindAllSubmatch(log, -1) {
			a, err1 := strconv.ParseFloat(string(line[1]), 64)
			d, err2 := strconv.ParseFloat(string(line[2]), 64)
			if err1 != nil || err2 != nil {
				t.Fatalf("%s", line[0])
			}
			accepted, drafted = accepted+a, drafted+d
		}
	}
	if drafted == 0 {
		t.Error("the log says nothing of drafts")
	}
	return drafted, accepted
}
