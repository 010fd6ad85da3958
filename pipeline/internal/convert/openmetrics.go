package convert

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// openMetricsHead finds a family of WriteOpenMetrics among the first lines of a file.
var openMetricsHead = regexp.MustCompile(`(?m)^# TYPE pipeline_[a-z0-9_]+ gauge\r?$`)

// A sample is a name, labels in braces and a value; label finds one of the labels.
var (
	sampleLine  = regexp.MustCompile(`^(pipeline_[a-z0-9_]+)\{((?:[^"{}]|"(?:[^"\\]|\\.)*")*)\} (\S+)(?: \S+)?$`)
	sampleLabel = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?`)
	unescape    = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

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
	parts := sampleLine.FindStringSubmatch(text)
	if parts == nil {
		return fmt.Errorf("%s is no sample of ours", clip(text))
	}
	family, value := parts[1], parts[3]
	labels, err := labelsOf(parts[2])
	if err != nil {
		return err
	}
	stat := labels["stat"]
	delete(labels, "stat")
	r, err := m.run(labels, line)
	if err != nil {
		return err
	}
	if family == requestsFamily {
		n, err := parseCount(value)
		if err == nil && n > 1<<31-1 {
			err = fmt.Errorf("%d requests are too many", n)
		}
		r.Counts.Sent = int(n)
		return err
	}
	for _, w := range works {
		if w.family == family {
			return r.setWork(w, family, value)
		}
	}
	id, err := idOf(family, stat)
	if err != nil {
		return err
	}
	return r.storeID(id, value)
}

func labelsOf(text string) (map[string]string, error) {
	labels := map[string]string{}
	for text != "" && len(labels) < maxParams {
		m := sampleLabel.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("%s is no label", clip(text))
		}
		labels[m[1]] = unescape.Replace(m[2])
		text = text[len(m[0]):]
	}
	return labels, nil
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
	r := &Run{Source: m.source, Line: line, Format: FormatOpenMetrics, Tool: cmp.Or(m.opt.Tool, labels["tool"])}
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
