package reports_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// ofOneCell is a document with the runs of one cell.
func ofOneCell(runs ...result.Run) *result.Document {
	return &result.Document{Status: result.StatusComplete, Targets: []result.Target{{Addr: "server.vllm.a"}}, Benchmarks: []result.Benchmark{
		{Addr: "benchmark.b", Cells: []result.Cell{{Hash: "c", Target: "server.vllm.a", Runs: runs}}}}}
}

func runWith(repeat, pass int, v float64) result.Run {
	return result.Run{Repeat: repeat, Pass: pass, Status: result.RunOK, Metrics: map[string]float64{"ttft.p50": v}}
}

// Passes of a launch are no further samples of what varies between launches.
func TestPassesAreOneSample(t *testing.T) {
	for name, tt := range map[string]struct {
		runs []result.Run
		mean float64
	}{
		"passes":  {[]result.Run{runWith(1, 1, 0.1), runWith(1, 2, 0.4), runWith(2, 1, 0.3), runWith(2, 2, 0.3)}, math.Sqrt(0.2 * 0.3)},
		"repeats": {[]result.Run{runWith(1, 0, 0.1), runWith(2, 0, 0.4)}, 0.2},
		// Runs of other tools that name no repeat.
		"no repeats": {[]result.Run{runWith(0, 0, 0.1), runWith(0, 0, 0.4)}, 0.2},
	} {
		var out bytes.Buffer
		doc := ofOneCell(tt.runs...)
		if err := reports.Compare(&out, sidesOf(doc, doc), format("json"), reports.Options{}); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Rows []struct {
				Sides []struct {
					N     int
					Value float64
				}
			}
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got.Rows) != 1 {
			t.Fatalf("%s: %v\n%s", name, err, &out)
		}
		if side := got.Rows[0].Sides[0]; side.N != 2 || math.Abs(side.Value-tt.mean) > 1e-12 {
			t.Errorf("%s: %+v, want 2 samples with the mean %g", name, side, tt.mean)
		}
	}
}

// Reports say that a value of a repeat is a mean.
func TestPassesAreNamed(t *testing.T) {
	doc := ofOneCell(result.Run{Pass: 1}, result.Run{Pass: 3})
	doc.RepeatsDone, doc.RepeatsPlanned = 4, 4
	doc.Gates = []result.Gate{{Addr: "gate.g", Decisions: []result.Decision{{Metric: "ttft.p50"}}}}
	r := reports.Build(doc, reports.Options{})
	if lead := model.Join("\n", r.Lead...).String(); !strings.Contains(lead, "4 of 4 repeats of 3 passes") {
		t.Error(lead)
	}
	if got := r.Legend[0].String(); !strings.Contains(got, "means over the passes of a launch, 3 at most. ") {
		t.Error(got)
	}
}
