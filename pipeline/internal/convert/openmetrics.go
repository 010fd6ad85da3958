package convert

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/engine"
)

// openMetricsHead finds a family of WriteOpenMetrics among the first lines of a file.
var openMetricsHead = regexp.MustCompile(`(?m)^# TYPE pipeline_[a-z0-9_]+ gauge\r?$`)

// endOfMetrics is the last line of every file of the format.
const endOfMetrics = "# EOF"

// readOpenMetrics reads what WriteOpenMetrics wrote: a run for each set of labels but the
// statistic. Its axes are parameters, and so is the repeat.
func readOpenMetrics(in *bufio.Reader, name string, opt ReadOptions) ([]Run, error) {
	m := &metricsReader{source: name, opt: opt, runs: map[string]*Run{}}
	for line := 1; ; line++ {
		text, _, err := readLine(in, opt.Limits.Line)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if text == endOfMetrics {
			break
		}
		if err != nil {
			if text == "" {
				line-- // the last one that is there
			}
			return nil, &Error{name, line, fmt.Errorf("the file ends here, without a line %q: it was cut; export or copy it again", endOfMetrics)}
		}
		if text != "" && text[0] != '#' {
			if err := m.sample(text, line); err != nil {
				return nil, &Error{name, line, err}
			}
		}
	}
	var runs []Run
	for _, key := range m.order {
		r := m.runs[key]
		if err := r.finishWork(); err != nil {
			return nil, &Error{name, r.Line, err}
		}
		runs = append(runs, *r)
	}
	return runs, nil
}

type metricsReader struct {
	source string
	opt    ReadOptions
	runs   map[string]*Run
	order  []string
}

// sample reads one value into the run that its labels name.
func (m *metricsReader) sample(text string, line int) error {
	s, ok := engine.ParseSample(text)
	if !ok || !strings.HasPrefix(s.Name, "pipeline_") {
		return fmt.Errorf("%s is no sample of ours", clip(text))
	}
	stat := s.Labels["stat"]
	delete(s.Labels, "stat")
	r, err := m.run(s.Labels, line)
	if err != nil {
		return err
	}
	value := number(s.Value)
	if s.Name == requestsFamily {
		r.Counts.Sent, err = parseRequests(value)
		return err
	}
	for _, w := range works {
		if w.family == s.Name {
			return r.setWork(w, s.Name, value)
		}
	}
	id, err := idOf(s.Name, stat)
	if err != nil {
		return err
	}
	return r.storeID(id, value)
}

// run is that of a set of labels, a new one the first time.
func (m *metricsReader) run(labels map[string]string, line int) (*Run, error) {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&key, "%q=%q,", name, labels[name])
	}
	if r := m.runs[key.String()]; r != nil {
		return r, nil
	}
	if len(m.order) >= m.opt.Limits.Runs {
		return nil, fmt.Errorf("more than %d results: %w", m.opt.Limits.Runs, ErrLimit)
	}
	r := m.opt.newRun(FormatOpenMetrics, cmp.Or(m.opt.Tool, labels["tool"]), m.source, line)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if axis, ok := strings.CutPrefix(name, "axis_"); ok {
			r.setParam(axis, labels[name])
		} else if name == "repeat" || name == "pass" {
			r.setParam(name, labels[name])
		}
	}
	m.runs[key.String()] = r
	m.order = append(m.order, key.String())
	return r, nil
}

// idOf is the id of a metric by its family and statistic.
func idOf(family, stat string) (string, error) {
	body := strings.TrimPrefix(family, "pipeline_")
	for _, suffix := range append(slices.Sorted(maps.Values(unitSuffix)), "") {
		group, cut := strings.CutSuffix(body, suffix)
		if id := group + "." + stat; cut && stat != "" && isID(id) && familyOf(id) == family {
			return id, nil
		}
	}
	return "", fmt.Errorf("%s is no metric of ours", clip(family))
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
