package convert

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
)

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
			run, err := benchRun(Run{Source: name, Line: line, Format: FormatBench, Tool: tool}, text)
			if err != nil {
				return nil, &Error{name, line, err}
			}
			key := strings.Fields(text)[0]
			seen[key]++
			if _, told := run.Params["repeat"]; !told {
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
	sent, err := parseCount(fields[1])
	if err != nil || sent > 1<<31-1 {
		return r, fmt.Errorf("%s is not a number of requests", clip(fields[1]))
	}
	r.Counts.Sent = int(sent)
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
