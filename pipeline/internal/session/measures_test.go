package session_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// TestMeasures rehearses examples/measures: a metric that the file declares is what the server counted, is judged
// in the direction that the file declares, and everything that reads the document has its unit from there.
func TestMeasures(t *testing.T) {
	files, requests := 1, 60
	if *full {
		files, requests = max(*ofFiles, 5), 300
	}
	for drafts, verdict := range map[string]result.Verdict{"4": result.Pass, "5": result.Regression} {
		r, p := rehearsePlan(t, loadExample(t, "measures", "drafts="+drafts))
		for i := range p.Benchmarks[0].Cells {
			p.Benchmarks[0].Cells[i].Workload.Load.Requests = requests
		}
		otherwise := 0
		for seed := range files {
			doc, err := r.Run(seed)
			if err != nil {
				t.Fatal(err)
			}
			g := doc.Gates[slices.IndexFunc(doc.Gates, func(g result.Gate) bool { return g.Addr == "gate.waste" })]
			i := slices.IndexFunc(g.Decisions, func(d result.Decision) bool { return d.Metric == "measure.drafted" })
			d := g.Decisions[i]
			if d.Verdict != verdict {
				otherwise++
			}
			if d.Label != "Drafted per output token" || d.Unit != "tokens" || d.Direction != metric.LowerIsBetter || d.Scale != metric.Log {
				t.Errorf("%+v", d)
			}
			for _, cell := range doc.Benchmarks[0].Cells {
				for _, run := range cell.Runs {
					if want := run.Server[metric.CounterDraftTokens] / float64(run.Sent*128); math.Abs(run.Metrics["measure.drafted"]-want) > 1e-9 {
						t.Errorf("%g drafted tokens for one, and the server counted %g", run.Metrics["measure.drafted"], want)
					}
				}
			}
			if err := judge.Verify(doc, nil); err != nil {
				t.Errorf("judged again: %v", err)
			}
			if seed == 0 {
				checkDescribed(t, doc)
			}
		}
		t.Logf("%s drafts: %d of %d files otherwise", drafts, otherwise, files)
		if otherwise*100 > 5*files {
			t.Errorf("%s drafts: %d of %d files are not %s", drafts, otherwise, files, verdict)
		}
	}
}

// checkDescribed checks that the document cannot turn a metric of the registry around, and that the history
// compares no values of two definitions.
func checkDescribed(t *testing.T, doc *result.Document) {
	t.Helper()
	forged := *doc
	forged.Measures = append(slices.Clone(doc.Measures), result.Measure{Metric: "ttft.p99", Label: "TTFT", Unit: "s",
		Direction: metric.HigherIsBetter, Scale: metric.Log})
	if m, _ := forged.Metric("ttft.p99"); m.Direction != metric.LowerIsBetter {
		t.Error("a document changes what the registry says is better")
	}
	forged.Measures = slices.Clone(doc.Measures)
	for i := range forged.Measures {
		forged.Measures[i].Direction = metric.HigherIsBetter
	}
	if err := judge.Verify(&forged, nil); err == nil || !strings.Contains(err.Error(), "higher is better") &&
		!strings.Contains(err.Error(), "lower is better") {
		t.Errorf("with another direction: %v", err)
	}
	doc.RunID = "rehearsed"
	record, err := history.FromDocument(doc, history.Source{})
	if err != nil {
		t.Fatal(err)
	}
	h := &history.History{Records: []history.Record{record}}
	q := history.Query{Cell: record.Cells[0].Hash, Metric: "measure.drafted", Measures: doc.Measures, Simulated: record.Simulated,
		Machine: record.Machine, Model: record.Cells[0].Model}
	if w := h.Window(q); len(w.Points) != 1 {
		t.Errorf("by the same definition: %+v", w)
	}
	q.Measures = slices.Clone(q.Measures)
	for i := range q.Measures {
		q.Measures[i].Definition += ", times 2"
	}
	if w := h.Window(q); len(w.Points) != 0 || !strings.Contains(w.Note, "by another definition of this metric") {
		t.Errorf("by another definition: %+v", w)
	}
}
