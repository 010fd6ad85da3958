package convert

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
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
			_, unreported := r.Audit[auditFailures]
			return float64(r.Failed), !unreported
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
	{"requests-unreported", "",
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
	reported, passes := map[string]bool{}, false
	eachRun(doc, func(_ *result.Benchmark, _ *result.Cell, r *result.Run) {
		passes = passes || r.Pass > 0
		for _, w := range works {
			if _, ok := w.of(r); ok {
				reported[w.unit] = true
			}
		}
	})
	return slices.DeleteFunc(slices.Clone(works), func(w work) bool { return !reported[w.unit] || w.unit == launchNumber && !passes })
}

// launchNumber is the unit of the number of a launch among the lines of one name.
const launchNumber = "launch-number"

// requestsFamily are the requests sent of each run in OpenMetrics.
const requestsFamily = "pipeline_requests"

// auditFailures is where a run says that its tool reports no failures.
const auditFailures = "failures"

// auditRequests is where a run says that its tool reports no number of requests.
const auditRequests = "requests"

// measuredBy is the tool that measured all runs, "" if it is not one or a run does not say.
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

// benchHead finds the lines of WriteGoBench among the first of a file: benchmarks of Go
// itself have no unit with the id of a metric in it.
var benchHead = regexp.MustCompile(`(?m)^(?:Unit [a-z0-9_]+\.[a-z0-9_.]+(?:-[\w-]+)? better=|Benchmark\S+ \d+ [0-9.e+-]+ [a-z0-9_]+\.[a-z0-9_.]+)`)

// readBench reads what WriteGoBench wrote: each line is a run, its axes are parameters, and
// the lines of one name are numbered by "repeat", from 1.
func readBench(in *bufio.Reader, name string, opt ReadOptions) ([]Run, error) {
	var runs []Run
	tool := opt.Tool
	seen := map[string]int{}
	for line := 1; ; line++ {
		text, complete, err := readLine(in, opt.Limits.Line)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if text != "" && !complete {
			return nil, &Error{name, line, errors.New("the file ends in the middle of this line: it was cut; export or copy it again")}
		}
		if measured, ok := strings.CutPrefix(text, "# measured-by "); ok && opt.Tool == "" {
			tool = strings.TrimSpace(measured)
		}
		if strings.HasPrefix(text, "Benchmark") {
			run, err := benchRun(*opt.newRun(FormatBench, tool, name, line), text)
			if err != nil {
				return nil, &Error{name, line, err}
			}
			key := strings.Fields(text)[0]
			seen[key]++
			if _, reported := run.Params["repeat"]; !reported {
				run.setParam("repeat", fmt.Sprint(seen[key]))
			}
			if runs = append(runs, run); len(runs) > opt.Limits.Runs {
				return nil, fmt.Errorf("%s: more than %d results: %w", name, opt.Limits.Runs, ErrLimit)
			}
		}
		if err != nil {
			return runs, nil
		}
	}
}

// benchRun reads one line.
func benchRun(r Run, text string) (Run, error) {
	fields := strings.Fields(text)
	if len(fields) < 4 || len(fields)%2 != 0 {
		return r, errors.New("not a line of a benchmark: a name, a number of requests, and values with their units")
	}
	for part := range strings.SplitSeq(fields[0], "/") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		key, keyErr := url.PathUnescape(key)
		value, err := url.PathUnescape(value)
		if err := errors.Join(keyErr, err); err != nil {
			return r, fmt.Errorf("the name %s: %w", clip(part), err)
		}
		r.setParam(key, value)
	}
	var err error
	if r.Counts.Sent, err = parseRequests(fields[1]); err != nil {
		return r, err
	}
	for i := 2; i < len(fields); i += 2 {
		if err := r.benchValue(fields[i], fields[i+1]); err != nil {
			return r, err
		}
	}
	return r, r.finishWork()
}

// benchValue reads a value with its unit: the id of a metric, or what the run did.
func (r *Run) benchValue(value, unit string) error {
	for _, w := range works {
		if w.unit == unit {
			return r.setWork(w, unit, value)
		}
	}
	id, _, _ := strings.Cut(unit, "-")
	if !isID(id) || benchUnit(id) != unit {
		return fmt.Errorf("%s is no unit of ours: Go benchmarks of other programs are not results of a load", clip(unit))
	}
	return r.storeID(id, value)
}

// setWork reads what a run did.
func (r *Run) setWork(w work, name, value string) error {
	v, err := parseNumber(value, 0)
	if err == nil && (v < 0 || v > 1<<53) {
		err = fmt.Errorf("%s is out of range", clip(value))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	w.set(r, v)
	return nil
}

// finishWork completes the counts of a run whose requests and failures have been read.
func (r *Run) finishWork() error {
	if r.Counts.Failed > r.Counts.Sent {
		return fmt.Errorf("%d of %d requests failed", r.Counts.Failed, r.Counts.Sent)
	}
	r.Counts.Succeeded = r.Counts.Sent - r.Counts.Failed
	return nil
}
