// Package publishtest has what the tests of all publishers need.
package publishtest

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/result"
)

// SHA is the commit that is measured, and Later one that was pushed afterwards.
const (
	SHA   = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	Later = "2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e"
)

// Document returns a result with one verdict on a number of gates.
func Document(verdict result.Verdict, count int) *result.Document {
	doc := &result.Document{
		Schema: result.Schema, RunID: "7f3a", File: "perf/gate.hcl", Status: result.StatusComplete, Verdict: verdict, Alpha: 0.05, FamilySize: 1,
		RepeatsPlanned: 6, RepeatsDone: 6,
		Benchmarks: []result.Benchmark{{Addr: "benchmark.chat", Axes: []string{"rate"}}},
	}
	for i := range count {
		name := fmt.Sprint(i)
		doc.Benchmarks[0].Cells = append(doc.Benchmarks[0].Cells,
			result.Cell{Hash: name, Values: []result.AxisValue{{Name: "rate", Value: name}}})
		lower, upper := 0.136, 0.152
		doc.Gates = append(doc.Gates, result.Gate{
			Addr: "gate.g" + name, Benchmark: "benchmark.chat", Verdict: verdict, Terms: gates.Terms{Claim: gates.Claim{Margin: 0.05}},
			Range: result.Range{File: "perf/gate.hcl", Line: 10 * (i + 1), EndLine: 10*(i+1) + 4},
			Decisions: []result.Decision{{
				ID: name, Kind: result.KindMetric, Cell: name, Values: []result.AxisValue{{Name: "rate", Value: name}},
				Metric: "ttft.p99", Label: "TTFT p99",
				Unit: "s", Direction: "lower", Scale: "log", Verdict: verdict, N: 6, BaseValue: new(0.7), HeadValue: new(0.8),
				Change: new(0.144), Margin: 0.05,
				Lower: &lower, Upper: &upper,
			}},
		})
	}
	doc.ExitCode = result.Exit(doc)
	return doc
}
