package judge_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

var full = flag.Bool("full", false, "judge a run directory of 1,000 cells, not of 100")

// TestThousandCells checks that the run directory of 1,000 cells (100 without -full) with twelve runs each is written,
// read, judged and stored. testdata/pair.json is what one run of each of two servers left, which were simulated.
func TestThousandCells(t *testing.T) {
	cells := 100
	if *full {
		cells = 1000
	}
	cfg := judgedFile(t, "vllm", fmt.Sprintf("    rate = range(%d)", cells/2),
		"baseline \"paired\" \"base\" {\n  axis   = \"side\"\n  value  = \"base\"\n}\n",
		"metric.ttft.mean")
	p, diags := plan.Build(cfg, plan.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for i := range p.Benchmarks {
		p.Benchmarks[i].RepeatMin, p.Benchmarks[i].RepeatMax = 12, 12
	}
	run := t.TempDir()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run, store.PlanFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if size := writeLarge(t, filepath.Join(run, store.ResultsFile), p); size < int64(cells)*50<<10 || size > int64(cells)*75<<10 {
		t.Errorf("the results have %d bytes, want 5 KB a run: indented to the last figure they have 130 MB", size)
	}

	doc, err := judge.Rejudge(cfg, run, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(doc.Gates[0].Decisions); doc.Verdict != result.Pass || n != cells {
		t.Errorf("%s by %d decisions, want one of first tokens and one of success rates for each pair of cells; the first is %+v", doc.Verdict, n,
			doc.Gates[0].Decisions[0])
	}

	record, err := history.FromDocument(doc, history.Source{Branch: "main"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := history.Open(t.Context(), t.TempDir(), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := history.Add(t.Context(), s, record); err != nil {
		t.Fatal(err)
	}
	if h, err := history.Load(t.Context(), s); err != nil || len(h.Records) != 1 || len(h.Records[0].Cells) != cells {
		t.Errorf("the history has %d records: %v", len(h.Records), err)
	}
}

// launchID is the name of the launch of a repeat, from that of the first.
func launchID(first string, repeat int) string {
	return strings.Replace(first, "r1-", fmt.Sprintf("r%d-", repeat), 1)
}

// writeLarge gives twelve runs to each cell of a plan, and returns the size of the document.
func writeLarge(t *testing.T, path string, p *plan.Plan) int64 {
	t.Helper()
	doc, err := store.ReadDocument(filepath.Join("testdata", "pair.json"))
	if err != nil {
		t.Fatal(err)
	}
	b := &doc.Benchmarks[0]
	sides := map[string]result.Cell{}
	for _, c := range b.Cells {
		sides[c.Values[0].Value] = c
	}
	b.Addr, b.Cells = p.Benchmarks[0].Addr, nil
	for repeat := 2; repeat <= 12; repeat++ {
		for _, l := range doc.Launches[:2] {
			l.ID, l.Repeat = launchID(l.ID, repeat), repeat
			doc.Launches = append(doc.Launches, l)
		}
	}
	for _, planned := range p.Benchmarks[0].Cells {
		c := sides[planned.Values[0].Value]
		measured := c.Runs[0]
		c.Hash, c.Values, c.Runs = planned.Hash, planned.Values, nil
		for repeat := 1; repeat <= 12; repeat++ {
			again := measured
			again.Repeat, again.Launch = repeat, launchID(measured.Launch, repeat)
			c.Runs = append(c.Runs, again)
		}
		b.Cells = append(b.Cells, c)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Encode(f, doc); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
