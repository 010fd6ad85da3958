package main_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// realBenchServe has a real `vllm bench serve` measure a simulated server as the driver
// of a benchmark: its file, its printed block and our own measurement of the same server
// must agree, each as exactly as it can.
func realBenchServe(t *testing.T, venv string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	keepLogs(t, out)
	text, code := pipeline(t, ".", "run", filepath.Join("testdata", "bench-serve.pipeline.hcl"), "--simulate", "--var", "venv="+venv,
		"--out", out, "--progress", "plain")
	t.Log(text)
	if code != 0 {
		t.Fatalf("exit status %d", code)
	}
	doc, err := store.ReadDocument(out)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]result.Run{}
	for _, b := range doc.Benchmarks {
		runs[b.Addr] = b.Cells[0].Runs[0]
	}
	theirs, ours := runs["benchmark.theirs"], runs["benchmark.ours"]
	if theirs.Status != result.RunOK || theirs.Sent != 40 || theirs.Failed != 0 || theirs.Audit["output_tokens"] != 640.0 {
		t.Errorf("theirs: %+v", theirs)
	}
	if theirs.Server["generation_tokens"] < 640 { // their test request comes on top
		t.Errorf("the server counted %v", theirs.Server)
	}
	for _, id := range []string{"ttft.p50", "tpot.p50", "e2el.p50", "itl.mean"} {
		if a, b := theirs.Metrics[id], ours.Metrics[id]; a <= 0 || b <= 0 || a > 5*b || b > 5*a {
			t.Errorf("%s: %g s by their client, %g s by ours", id, a, b)
		}
	}
	if len(theirs.Histograms) == 0 {
		t.Error("a detailed file gives histograms")
	}
	if w, _ := theirs.Audit["import_warnings"].(string); strings.Contains(w, "by the requests") {
		t.Errorf("figures recomputed from the requests differ from the file's own: %s", w)
	}
	checkPrinted(t, out, theirs)
}

// checkPrinted holds the block that the tool printed to the file that it wrote.
func checkPrinted(t *testing.T, out string, theirs result.Run) {
	t.Helper()
	log, _ := theirs.Audit["driver_log"].(string)
	file, err := os.Open(filepath.Join(out, log))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // opened for reading
	printed, err := convert.Read(file, log, convert.ReadOptions{})
	if err != nil || len(printed) != 1 {
		t.Fatalf("%d blocks in %s, %v", len(printed), log, err)
	}
	compared := 0
	for id, p := range printed[0].Metrics {
		v, ok := theirs.Metrics[id]
		if !ok || !strings.HasPrefix(id, "ttft.") && !strings.HasPrefix(id, "tpot.") && !strings.HasPrefix(id, "itl.") &&
			!strings.HasPrefix(id, "e2el.") {
			continue
		}
		compared++
		if math.Abs(v-p) > 0.0051e-3 { // printed to the hundredth of a millisecond
			t.Errorf("%s: %g s printed, %g s in the file", id, p, v)
		}
	}
	if compared < 12 {
		t.Errorf("%d figures of the block are in the file: %v", compared, printed[0].Metrics)
	}
}
