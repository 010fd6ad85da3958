package simulate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// liveResults names a run directory of examples/mooncake-a10, simulated or real.
const liveResults = "PIPELINE_SEED000_RESULTS"

// TestSeed000Live sets the published comparison beside what the whole of the program makes of the
// example:
//
//	pipeline run examples/mooncake-a10/mooncake-a10.pipeline.hcl --simulate=virtual --repeat 1 --out RUN
//	PIPELINE_SEED000_RESULTS=$PWD/RUN go test ./steps/simulate -run Seed000Live -v -count=1
//
// Its arrivals are another draw of the same process than the published ones.
func TestSeed000Live(t *testing.T) {
	dir := os.Getenv(liveResults)
	if dir == "" {
		t.Skip("a run directory is needed: " + liveResults + "=DIR, see the comment of this test")
	}
	measured := readMeasured(t, filepath.Join(dir, "results.json"))
	cells := readSeed000(t)
	for i := range cells {
		c := &cells[i]
		f, ok := measured[measuredCell(*c)]
		if !ok {
			t.Fatalf("%s has no valid run of %s at %s; run the whole matrix, on a machine with nothing else to do", dir, c.backend, c.workload())
		}
		c.simulated = f
	}
	s := reportSeed000(t, cells)
	if s.near < 45 || s.largeKept < 55 || s.mediumKept < 15 {
		t.Errorf("the targets are 45 of 50, 55 of 55 and 15 of 20")
	}
}

// measuredCell is the cell of the example that repeats a published one.
func measuredCell(c seedCell) [3]string {
	backend := c.backend
	if backend == "whole" {
		backend = "single"
	}
	return [3]string{backend, strconv.Itoa(c.input), strconv.FormatFloat(c.rate, 'g', -1, 64)}
}

// readMeasured takes the median over the valid runs of each cell, by backend, length and rate.
func readMeasured(t *testing.T, path string) map[[3]string]figures {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Warnings   []string `json:"warnings"`
		Benchmarks []struct {
			Cells []struct {
				Values []struct{ Name, Value string }
				Runs   []struct {
					Status  string
					Metrics map[string]float64
				}
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, w := range doc.Warnings {
		t.Logf("the run's own warning: %s", w)
	}
	out := map[[3]string]figures{}
	for _, b := range doc.Benchmarks {
		for _, cell := range b.Cells {
			var key [3]string
			for _, v := range cell.Values {
				if i := slices.Index([]string{"backend", "input_len", "qps"}, v.Name); i >= 0 {
					key[i] = v.Value
				}
			}
			var of [4][]float64
			for _, r := range cell.Runs {
				for i, id := range []string{"ttft.mean", "ttft.p50", "tpot.mean", "tpot.p50"} {
					if r.Status == "ok" {
						of[i] = append(of[i], r.Metrics[id]*1000)
					}
				}
			}
			if len(of[0]) > 0 {
				out[key] = figures{ttftMean: quantile(of[0], 0.5), ttftMedian: quantile(of[1], 0.5), tpotMean: quantile(of[2], 0.5),
					tpotMedian: quantile(of[3], 0.5)}
			}
		}
	}
	return out
}
