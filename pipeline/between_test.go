package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// What goes by between the runs of a launch, with servers that are processes: reports, records and
// journal of one run, and the prompts of the next.
func BenchmarkBetweenRuns(b *testing.B) {
	var between []float64
	for range b.N {
		run := filepath.Join(b.TempDir(), "run")
		out, code := pipeline(b, filepath.Join("..", "examples", "quickstart"), "run", "--simulate", "--time-scale", "20", "--repeat", "2",
			"--progress", "quiet", "--out", run, "quickstart.pipeline.hcl")
		data, err := os.ReadFile(filepath.Join(run, "results.json"))
		if err != nil {
			b.Fatalf("exit status %d: %v\n%s", code, err, out)
		}
		var doc result.Document
		if err := json.Unmarshal(data, &doc); err != nil {
			b.Fatal(err)
		}
		for _, benchmark := range doc.Benchmarks {
			for _, c := range benchmark.Cells {
				for _, r := range c.Runs {
					if r.Between > 0 {
						between = append(between, r.Between)
					}
				}
			}
		}
	}
	if len(between) == 0 {
		b.Fatal("no run followed another")
	}
	slices.Sort(between)
	b.ReportMetric(1000*between[len(between)/2], "ms/between(median)")
	b.ReportMetric(1000*between[len(between)-1], "ms/between(max)")
}
