package convert

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// WriteGoBench writes a document in the Go benchmark format
// (https://golang.org/design/14313-benchmark-format) for benchstat: one line for each valid run,
// named by the axis values, with every metric under its id and unit ("ttft.p99-s") and the counts
// of the run ("failed-requests", "input-tokens"). Unit lines say which direction is better. The
// iteration count is the number of requests. The source of the figures is a comment, because
// benchstat does not compare files with different "key: value" lines.
func WriteGoBench(w io.Writer, doc *result.Document) error {
	b := bufio.NewWriter(w)
	for _, head := range [][2]string{{"tool", doc.Tool}, {"file", doc.File}, {"measured-by", measuredBy(doc)}} {
		if value := oneLine(head[1]); value != "" {
			fmt.Fprintf(b, "# %s %s\n", head[0], value)
		}
	}
	ids, reported := map[string]bool{}, map[string]bool{}
	eachRun(doc, func(_ *result.Benchmark, _ *result.Cell, r *result.Run) {
		for id := range r.Metrics {
			ids[id] = true
		}
		for _, w := range works {
			if _, ok := w.of(r); ok {
				reported[w.unit] = true
			}
		}
	})
	order := inRegistryOrder(ids)
	for _, id := range order {
		fmt.Fprintf(b, "Unit %s better=%s\n", benchUnit(id), betterOf(id))
	}
	for _, w := range works {
		if reported[w.unit] {
			fmt.Fprintf(b, "Unit %s assume=nothing\n", w.unit)
		}
	}
	eachRun(doc, func(bench *result.Benchmark, c *result.Cell, r *result.Run) {
		fmt.Fprintf(b, "Benchmark%s %d", benchName(bench, c), max(1, r.Sent))
		for _, id := range order {
			if v, ok := r.Metrics[id]; ok {
				fmt.Fprintf(b, " %s %s", number(v), benchUnit(id))
			}
		}
		for _, w := range works {
			if v, ok := w.of(r); ok {
				fmt.Fprintf(b, " %s %s", number(v), w.unit)
			}
		}
		fmt.Fprintln(b)
	})
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write benchmark format: %w", err)
	}
	return nil
}

// eachRun visits the valid runs with a metric, in the order of the document.
func eachRun(doc *result.Document, visit func(*result.Benchmark, *result.Cell, *result.Run)) {
	for i := range doc.Benchmarks {
		bench := &doc.Benchmarks[i]
		for j := range bench.Cells {
			c := &bench.Cells[j]
			for _, r := range c.Current() {
				if r.Status == result.RunOK && len(r.Metrics) > 0 {
					visit(bench, c, &r)
				}
			}
		}
	}
}

// benchName returns the name of a cell in the form of sub-benchmarks: Chat/qps=2/input_len=256.
func benchName(bench *result.Benchmark, c *result.Cell) string {
	name := bench.Addr[strings.LastIndexByte(bench.Addr, '.')+1:]
	name = benchWord(strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):])
	for _, v := range c.Values {
		name += "/" + benchWord(v.Name) + "=" + benchWord(v.Value)
	}
	return name
}

// benchWord escapes the separators of words and parts of names in the format, as in URLs.
func benchWord(s string) string {
	var b strings.Builder
	for _, c := range []byte(strings.ToValidUTF8(s, "\ufffd")) {
		if c <= ' ' || c == 0x7f || strings.IndexByte("/=%", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) || unicode.IsControl(c) {
			return '_'
		}
		return c
	}, b.String())
}

// work is a count of a run that is not a metric, by its unit in the Go benchmark format and its
// family in OpenMetrics.
type work struct {
	unit, family string
	of           func(*result.Run) (float64, bool)
}

var works = []work{
	{"failed-requests", "pipeline_failed_requests", func(r *result.Run) (float64, bool) {
		_, unreported := r.Audit[auditFailures]
		return float64(r.Failed), !unreported
	}},
	{"input-tokens", "pipeline_input_tokens", func(r *result.Run) (float64, bool) {
		v, ok := r.Audit["input_tokens"].(float64)
		return v, ok
	}},
	{"output-tokens", "pipeline_output_tokens", func(r *result.Run) (float64, bool) {
		v, ok := r.Audit["output_tokens"].(float64)
		return v, ok
	}},
	{"duration-s", "pipeline_duration_seconds", func(r *result.Run) (float64, bool) { return r.Duration, r.Duration > 0 }},
}

// requestsFamily is the family for the requests sent of each run in OpenMetrics.
const requestsFamily = "pipeline_requests"

// auditFailures is the audit key of a run whose tool reports no failures.
const auditFailures = "failures"

// auditRequests is the audit key of a run whose tool reports no number of requests.
const auditRequests = "requests"

// measuredBy returns the tool that measured all runs, "" if there are several or a run does not
// report it.
func measuredBy(doc *result.Document) string {
	var tools []string
	eachRun(doc, func(_ *result.Benchmark, _ *result.Cell, r *result.Run) {
		if tool, _ := r.Audit["tool"].(string); !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
	})
	if len(tools) != 1 {
		return ""
	}
	return tools[0]
}

func benchUnit(id string) string {
	if unit := unitOf(id); unit != "" && unit != metric.Count {
		return benchWord(id) + "-" + strings.ReplaceAll(string(unit), "/", "-per-")
	}
	return benchWord(id)
}

// betterOf returns the direction of an id. Of the ids of other tools only throughputs and goodputs
// are better if higher.
func betterOf(id string) metric.Direction {
	if m, ok := metric.Lookup(id); ok {
		return m.Direction
	}
	if strings.Contains(id, "throughput") || strings.HasPrefix(id, "goodput.") {
		return metric.HigherIsBetter
	}
	return metric.LowerIsBetter
}

// oneLine returns text without control characters and line ends.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
}
