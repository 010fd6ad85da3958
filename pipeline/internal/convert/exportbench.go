package convert

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// WriteGoBench writes a document in the Go benchmark format
// (https://golang.org/design/14313-benchmark-format), so that benchstat reads it: one line
// for each valid run, named by the axis values, with every metric under its id and unit
// ("ttft.p99-s"), and what the run did ("failed-requests", "input-tokens"). Unit lines say
// which direction is better. The iteration count is the number of requests. Where the
// figures come from is a comment: benchstat compares nothing between files that say
// different things of themselves in lines of "key: value". Read reads it again without loss.
func WriteGoBench(w io.Writer, doc *result.Document) error {
	b := bufio.NewWriter(w)
	for _, head := range [][2]string{{"tool", doc.Tool}, {"file", doc.File}, {"measured-by", measuredBy(doc)}} {
		if value := oneLine(head[1]); value != "" {
			fmt.Fprintf(b, "# %s %s\n", head[0], value)
		}
	}
	ids := map[string]bool{}
	eachRun(doc, func(_ *result.Benchmark, _ *result.Cell, r *result.Run) {
		for id := range r.Metrics {
			ids[id] = true
		}
	})
	order := inRegistryOrder(ids)
	for _, id := range order {
		fmt.Fprintf(b, "Unit %s better=%s\n", benchUnit(id), betterOf(id))
	}
	works := worksOf(doc)
	for _, w := range works {
		fmt.Fprintf(b, "Unit %s assume=nothing\n", w.unit)
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

// benchName is the name of a cell as sub-benchmarks are named: Chat/qps=2/input_len=256.
func benchName(bench *result.Benchmark, c *result.Cell) string {
	name := bench.Addr[strings.LastIndexByte(bench.Addr, '.')+1:]
	name = benchWord(strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):])
	for _, v := range c.Values {
		name += "/" + benchWord(v.Name) + "=" + benchWord(v.Value)
	}
	return name
}

// benchWord escapes what separates words and parts of names in the format, as URLs do.
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

// work is what a run did, which is none of its metrics: by its unit in the Go benchmark
// format and its family in OpenMetrics, where the repeat and the pass are labels.
type work struct {
	unit, family string
	of           func(*result.Run) (float64, bool)
	set          func(*Run, float64)
}

var works = []work{
	{"failed-requests", "pipeline_failed_requests",
		func(r *result.Run) (float64, bool) {
			_, untold := r.Audit[auditFailures]
			return float64(r.Failed), !untold
		},
		func(r *Run, v float64) { r.Counts.Failed, r.Counts.FailedKnown = int(v), true }},
	{"input-tokens", "pipeline_input_tokens",
		func(r *result.Run) (float64, bool) { v, ok := r.Audit["input_tokens"].(float64); return v, ok },
		func(r *Run, v float64) { r.Counts.InputTokens = int64(v) }},
	{"output-tokens", "pipeline_output_tokens",
		func(r *result.Run) (float64, bool) { v, ok := r.Audit["output_tokens"].(float64); return v, ok },
		func(r *Run, v float64) { r.Counts.OutputTokens = int64(v) }},
	{"duration-s", "pipeline_duration_seconds",
		func(r *result.Run) (float64, bool) { return r.Duration, r.Duration > 0 },
		func(r *Run, v float64) { r.Duration = v }},
	// The format wants a number of requests.
	{"requests-not-told", "",
		func(r *result.Run) (float64, bool) { return 1, r.Sent == 0 },
		func(r *Run, _ float64) { r.Counts.Sent = 0 }},
	// Lines of one name are repeats in their order, unless a launch has several.
	{launchNumber, "",
		func(r *result.Run) (float64, bool) { return float64(r.Repeat), true },
		func(r *Run, v float64) { r.setParam("repeat", number(v)) }},
	{"pass-number", "",
		func(r *result.Run) (float64, bool) { return float64(r.Pass), r.Pass > 0 },
		func(r *Run, v float64) { r.setParam("pass", number(v)) }},
}

// worksOf are those that runs of a document have; the numbers of launches only where some
// have several runs.
func worksOf(doc *result.Document) []work {
	told, passes := map[string]bool{}, false
	eachRun(doc, func(_ *result.Benchmark, _ *result.Cell, r *result.Run) {
		passes = passes || r.Pass > 0
		for _, w := range works {
			if _, ok := w.of(r); ok {
				told[w.unit] = true
			}
		}
	})
	return slices.DeleteFunc(slices.Clone(works), func(w work) bool { return !told[w.unit] || w.unit == launchNumber && !passes })
}

// launchNumber is the unit of the number of a launch among the lines of one name.
const launchNumber = "launch-number"

// requestsFamily are the requests sent of each run in OpenMetrics.
const requestsFamily = "pipeline_requests"

// auditFailures is where a run says that its tool tells no failures.
const auditFailures = "failures"

// auditRequests is where a run says that its tool tells no number of requests.
const auditRequests = "requests"

// measuredBy is the tool that measured all runs, "" if it is not one or a run does not tell.
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

// betterOf is the direction of an id. Of the ids of other tools only throughputs are better
// when they are higher.
func betterOf(id string) metric.Direction {
	if m, ok := metric.Lookup(id); ok {
		return m.Direction
	}
	if strings.Contains(id, "throughput") || strings.HasPrefix(id, "goodput.") {
		return metric.HigherIsBetter
	}
	return metric.LowerIsBetter
}

// oneLine is text without control characters and line ends.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
}

// WriteOpenMetrics writes a document in the OpenMetrics text format: a gauge for each
// group of metrics, with the statistic, the cell and the repeat as labels.
func WriteOpenMetrics(w io.Writer, doc *result.Document) error {
	b := bufio.NewWriter(w)
	families := map[string][]string{}
	eachRun(doc, func(bench *result.Benchmark, c *result.Cell, r *result.Run) {
		at := metricLabels(bench, c, r)
		for _, id := range slices.Sorted(maps.Keys(r.Metrics)) {
			if v := r.Metrics[id]; !math.IsNaN(v) && !math.IsInf(v, 0) {
				name := familyOf(id)
				_, stat, _ := strings.Cut(id, ".")
				families[name] = append(families[name], fmt.Sprintf("%s{%s,stat=%s} %s\n", name, at, labelValue(stat), number(v)))
			}
		}
		if r.Sent > 0 {
			families[requestsFamily] = append(families[requestsFamily], fmt.Sprintf("%s{%s} %d\n", requestsFamily, at, r.Sent))
		}
		for _, w := range works {
			if v, ok := w.of(r); ok && w.family != "" {
				families[w.family] = append(families[w.family], fmt.Sprintf("%s{%s} %s\n", w.family, at, number(v)))
			}
		}
	})
	// The requests first, which every run has: so who reads has the runs in their order.
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(families)), func(name string) bool { return name == requestsFamily })
	if len(families[requestsFamily]) > 0 {
		names = append([]string{requestsFamily}, names...)
	}
	for _, name := range names {
		fmt.Fprintf(b, "# TYPE %s gauge\n", name)
		for _, line := range families[name] {
			fmt.Fprint(b, line)
		}
	}
	fmt.Fprintln(b, endOfMetrics)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write OpenMetrics: %w", err)
	}
	return nil
}

// unitSuffix are the base units of OpenMetrics by ours.
var unitSuffix = map[metric.Unit]string{
	metric.Seconds: "_seconds", metric.TokensPerSecond: "_tokens_per_second", metric.RequestsPerSec: "_requests_per_second", metric.Fraction: "_ratio",
	metric.Bytes: "_bytes",
}

func familyOf(id string) string {
	group, _, _ := strings.Cut(id, ".")
	return "pipeline_" + slug(group) + unitSuffix[unitOf(id)]
}

// unitOf is the unit of an id; a statistic that the registry lacks has that of its group.
func unitOf(id string) metric.Unit {
	m, ok := metric.Lookup(id)
	if !ok {
		group, _, _ := strings.Cut(id, ".")
		m, _ = metric.Lookup(group + ".mean")
	}
	return m.Unit
}

// metricLabels names a run. Axes are prefixed, so that none takes another label's name;
// those whose names come to be the same get a number.
func metricLabels(bench *result.Benchmark, c *result.Cell, r *result.Run) string {
	labels := []string{"benchmark=" + labelValue(bench.Addr), "cell=" + labelValue(c.Hash)}
	seen := map[string]int{}
	for _, v := range c.Values {
		name := "axis_" + slug(v.Name)
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s_%d", name, seen[name])
		}
		labels = append(labels, name+"="+labelValue(v.Value))
	}
	if tool, ok := r.Audit["tool"].(string); ok {
		labels = append(labels, "tool="+labelValue(tool))
	}
	labels = append(labels, fmt.Sprintf("repeat=\"%d\"", r.Repeat))
	if r.Pass > 0 {
		labels = append(labels, fmt.Sprintf("pass=\"%d\"", r.Pass))
	}
	return strings.Join(labels, ",")
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func labelValue(s string) string {
	return `"` + labelEscapes.Replace(strings.ToValidUTF8(s, "\ufffd")) + `"`
}
