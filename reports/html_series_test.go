package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// A page has a chart for each figure that the runs of a comparison have, by member, and
// takes the better source.
func TestRunCharts(t *testing.T) {
	doc := regression()
	times := []float64{0, 1, 2}
	for b := range doc.Benchmarks {
		for c := range doc.Benchmarks[b].Cells {
			for r := range doc.Benchmarks[b].Cells[c].Runs {
				doc.Benchmarks[b].Cells[c].Runs[r].Series = []result.Series{
					{Name: "running", Source: "log", T: times, V: []float64{900, 900, 900}},
					{Name: "running", Source: "metrics", T: times, V: []float64{1, 2, 3}},
					{Name: "kv_usage", Member: "decode", Source: "metrics", T: times, V: []float64{0, 0.5, 1}},
					{Name: "kv_usage", Member: "prefill", Source: "metrics", T: times, V: []float64{0, 0.1, 0.2}},
					{Name: "waiting", Member: "decode", Source: "metrics", T: times, V: []float64{0, 0, 0}},
					{Name: "untrusted", Source: "metrics", T: times, V: times},
					{Name: "waiting", Source: "elsewhere", T: times, V: times},
				}
			}
		}
	}
	var out bytes.Buffer
	if err := reports.HTML(&out, doc, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for text, want := range map[string]bool{
		"Requests in the batch over the run": true, "KV cache in use over the run, decode": true, "KV cache in use over the run, prefill": true,
		"Over the time of a run</h": true, "Over the time of a run: decode</h": true, "Over the time of a run: prefill</h": true,
		"Requests in the queue over the run": false, "untrusted": false, ">900<": false, ">100<": true, // percent
	} {
		if strings.Contains(page, text) != want {
			t.Errorf("%q is there: %v", text, !want)
		}
	}
}
