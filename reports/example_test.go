package reports_test

import (
	"fmt"
	"os"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

func ExampleMarkdown() {
	doc := &result.Document{
		Schema: result.Schema, File: "gate.hcl", Status: result.StatusComplete, RunID: "7f3a",
		Benchmarks: []result.Benchmark{{Addr: "benchmark.chat", Cells: []result.Cell{{
			Hash: "1", Values: []result.AxisValue{{Name: "rate", Value: "4"}}, Summary: map[string]float64{"ttft.p99": 0.4117},
		}}}},
	}
	if err := reports.Markdown(os.Stdout, doc, reports.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ### ℹ️ Performance: measured, no gates — `gate.hcl`
	//
	// #### Measured values of 1 cell (geometric means over valid runs)
	//
	// `benchmark.chat`
	//
	// | cell | runs | TTFT p99, ms |
	// |:--|--:|--:|
	// | `rate=4` | 0 | 412 |
	//
	// <sub>Run `7f3a`</sub>
}
