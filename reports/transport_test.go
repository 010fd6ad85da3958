package reports_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// A report says for each deployment how its KV cache moved, and what was seen where that
// is not proved.
func TestTransports(t *testing.T) {
	run := func(status result.TransportStatus, reason string) result.Run {
		return result.Run{Status: result.RunOK, Transport: &result.Transport{Intent: "rdma", Status: status, Reason: reason}}
	}
	doc := &result.Document{
		Targets: []result.Target{{Addr: "deployment.honest"}, {Addr: "deployment.liar"}, {Addr: "server.vllm.one"}},
		Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Cells: []result.Cell{
			{Hash: "a", Target: "deployment.honest", Runs: []result.Run{
				run(result.TransportProved, "all of it, over RDMA"), run(result.TransportProved, "99 %, over RDMA"),
				run(result.TransportProved, "all of it, over RDMA"),
			}},
			{Hash: "b", Target: "deployment.liar", Runs: []result.Run{
				run(result.TransportContradicted, "KV went over TCP"), run(result.TransportUnproven, "nothing tells"),
				run(result.TransportProved, "all of it"),
			}},
			{Hash: "c", Target: "server.vllm.one", Runs: []result.Run{{Status: result.RunOK}}},
		}}},
	}
	s := sectionOf(doc, "transports")
	if got := s.Title.String(); got != "KV transfer: proved in 4 of 6 runs" || s.Folded {
		t.Errorf("title %q, folded %t", got, s.Folded)
	}
	var rows []string
	for _, r := range s.Tables[0].Rows {
		cells := make([]string, len(r.Cells))
		for i, c := range r.Cells {
			cells[i] = c.String()
		}
		rows = append(rows, strings.Join(cells, " | "))
	}
	want := []string{
		"deployment.honest | rdma | 3 | 3 | 0 | 0 | all of it, over RDMA",
		"deployment.liar | rdma | 3 | 1 | 1 | 1 | KV went over TCP",
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	doc.Benchmarks[0].Cells = doc.Benchmarks[0].Cells[2:]
	if s := sectionOf(doc, "transports"); len(s.Tables) > 0 {
		t.Error("a section without a transfer")
	}
}
