package reports

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// The members of a row of PyTorch's benchmark database, which vLLM's benchmarks write with
// SAVE_TO_PYTORCH_BENCHMARK_FORMAT: one row for each metric of a cell.
type (
	hudRow struct {
		Benchmark hudBenchmark `json:"benchmark"`
		Model     hudModel     `json:"model"`
		Metric    hudMetric    `json:"metric"`
	}
	hudBenchmark struct {
		Name  string            `json:"name"`
		Mode  string            `json:"mode"`
		Extra map[string]string `json:"extra_info"`
	}
	hudModel struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Backend string `json:"backend,omitempty"`
	}
	hudMetric struct {
		Name   string            `json:"name"`
		Values []float64         `json:"benchmark_values"`
		Extra  map[string]string `json:"extra_info"`
	}
)

// PyTorchHUD writes the values of the valid runs as rows of PyTorch's benchmark database, one for each metric of each
// cell. Metrics that vLLM's benchmarks have too are named as there (median_ttft_ms, output_throughput). It ignores the
// options, and writes no verdict: the database has none.
func PyTorchHUD(w io.Writer, doc *result.Document, _ Options) error {
	rows := []hudRow{}
	targets := map[string]result.Target{}
	for _, t := range doc.Targets {
		targets[t.Addr] = t
	}
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			rows = append(rows, hudCell(doc, b, c, targets[c.Target])...)
		}
	}
	return model.JSON(w, rows)
}

// hudCell returns the rows of a cell.
func hudCell(doc *result.Document, b result.Benchmark, c result.Cell, t result.Target) []hudRow {
	values := map[string][]float64{}
	for _, r := range c.Current() {
		if r.Status != result.RunOK {
			continue
		}
		for id, v := range r.Metrics {
			values[id] = append(values[id], v)
		}
	}
	text := func(s string) string { return escape.Text(s, model.MaxCell) }
	extra := map[string]string{"benchmark": text(b.Addr), "target": text(c.Target), "run_id": text(doc.RunID), "version": text(t.Version())}
	for _, v := range c.Values {
		extra["arg."+text(v.Name)] = text(v.Value)
	}
	if doc.Simulated != "" {
		extra["simulated"] = text(doc.Simulated)
	}
	if doc.Source != nil {
		extra["commit"], extra["branch"] = text(doc.Source.Commit), text(doc.Source.Branch)
	}
	maps.DeleteFunc(extra, func(_, v string) bool { return v == "" })
	var out []hudRow
	for _, id := range slices.Sorted(maps.Keys(values)) {
		m, ok := doc.Metric(id)
		if !ok {
			continue
		}
		name, factor, unit := hudName(m)
		one := values[id]
		for i := range one {
			one[i] *= factor
		}
		out = append(out, hudRow{
			Benchmark: hudBenchmark{Name: "pipeline", Mode: "inference", Extra: extra},
			Model:     hudModel{Name: text(t.Model), Type: "LLM serving", Backend: text(t.Engine)},
			Metric:    hudMetric{Name: name, Values: one, Extra: map[string]string{"id": id, "unit": unit, "better": string(m.Direction)}},
		})
		if b := boundOf(&c, m.Group); b != "" {
			out[len(out)-1].Metric.Extra["bound"] = string(b)
		}
	}
	return out
}

// hudName returns the name of a metric as vLLM's benchmarks have it, with the factor and the unit of its values.
func hudName(m metric.Metric) (name string, factor float64, unit string) {
	factor, unit = 1, string(m.Unit)
	stat := m.Stat
	if stat == "p50" {
		stat = "median"
	}
	name = stat + "_" + m.Group
	if m.Unit == "s" {
		name, factor, unit = name+"_ms", 1000, "ms"
	}
	if strings.HasSuffix(m.Group, "throughput") && m.Stat == "mean" {
		name = m.Group
	}
	return name, factor, unit
}
