package convert

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// readCSV reads a table with one result a row (columns named by the labels or keys of a
// load generator, or by our ids), or our own long form with one metric a row.
func readCSV(in *bufio.Reader, name string, opt ReadOptions) ([]Run, error) {
	r := csv.NewReader(in)
	head, _ := in.Peek(detectBytes) // as much as there is
	line, _, _ := strings.Cut(string(head), "\n")
	r.Comma = delimiter(line)
	header, err := r.Read()
	if err != nil {
		return nil, csvError(name, err)
	}
	header[0] = strings.TrimPrefix(header[0], "\xef\xbb\xbf")
	if isSections(header) {
		return readSections(r, header, name, opt)
	}
	if err := noResultCSV(header, name); err != nil {
		return nil, err
	}
	if slices.Contains(header, "metric") && slices.Contains(header, "value") {
		return readLong(r, header, name, opt)
	}
	var runs []Run
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return runs, nil
		}
		if err != nil {
			return nil, csvError(name, err) // which knows its line
		}
		line, _ := r.FieldPos(0)
		run := Run{Source: name, Line: line, Format: FormatCSV, Tool: opt.Tool}
		if err := run.row(header, cells, line); err != nil {
			return nil, err
		}
		if run.Tool == "" {
			run.retool("")
		}
		if runs = append(runs, run); len(runs) > opt.Limits.Runs {
			return nil, fmt.Errorf("%s: more than %d results: %w", name, opt.Limits.Runs, ErrLimit)
		}
	}
}

func csvError(name string, err error) error {
	line := 1
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		line, err = parse.Line, parse.Err
	}
	return &Error{name, line, err}
}

// row reads one result. Columns of our own export are ids ("ttft.p99", in stored units)
// and a few fixed names. The prefix arg_ makes a column a parameter whatever its name.
func (r *Run) row(header, cells []string, line int) error {
	var labels, values []string
	for i, h := range header {
		cell := unescapeCSV(cells[i])
		switch {
		case h == "tool":
			r.Tool = cell
		case h == "source" || h == "line" || h == "definitions":
		case strings.HasPrefix(h, "arg_"):
			r.setParam(strings.TrimPrefix(h, "arg_"), cell)
		case isID(h):
			if err := r.setID(h, cell, line); err != nil {
				return err
			}
		default:
			labels, values = append(labels, h), append(values, cell)
		}
	}
	if err := r.fill(r.columns(labels, values, line)); err != nil {
		return err
	}
	r.doubtLengths()
	return nil
}

// isID reports that a column is named by an id of a metric.
func isID(h string) bool {
	if _, ok := metric.Lookup(h); ok {
		return true
	}
	group, stat, ok := strings.Cut(h, ".")
	return ok && identifier.MatchString(group) && stat != "" && strings.ToLower(h) == h && !strings.ContainsAny(h, " /")
}

// setID stores a value that is already in the unit of its id.
func (r *Run) setID(id, text string, line int) error {
	if text == "" {
		return nil
	}
	if err := r.storeID(id, text); err != nil {
		return &Error{r.Source, line, err}
	}
	return nil
}

// storeID stores the value of an id.
func (r *Run) storeID(id, text string) error {
	v, err := parseNumber(text, 0)
	if err == nil {
		err = plausible(id, v, text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	if old, ok := r.Metrics[id]; ok && old != v {
		return fmt.Errorf("%s: %w", id, errTwice)
	}
	if r.Metrics == nil {
		r.Metrics = map[string]float64{}
	}
	r.Metrics[id] = v
	if m, ok := metric.Lookup(id); !ok || m.Tool != "" {
		group, stat, _ := strings.Cut(id, ".")
		r.define(id, foreignDefinition(r.Tool, group, stat))
	}
	return nil
}

// foreignDefinition explains an id that has its own name already.
func foreignDefinition(tool, group, stat string) string {
	for name, groups := range unlike {
		for _, u := range groups {
			if u.group == group {
				return fmt.Sprintf("%s of %s: %s", stat, name, u.why)
			}
		}
	}
	return describeForeign(tool, group, stat)
}

// unescapeCSV removes the apostrophe that keeps a spreadsheet from computing a text.
func unescapeCSV(s string) string {
	if len(s) > 1 && s[0] == '\'' && strings.IndexByte("=+-@\t\r'", s[1]) >= 0 {
		return s[1:]
	}
	return s
}

// readLong reads our export of runs: one row for each metric of each run.
func readLong(r *csv.Reader, header []string, name string, opt ReadOptions) ([]Run, error) {
	value, id := slices.Index(header, "value"), slices.Index(header, "metric")
	runs, index := []Run{}, map[string]int{}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return runs, nil
		}
		if err != nil {
			return nil, csvError(name, err) // which knows its line
		}
		line, _ := r.FieldPos(0)
		var key strings.Builder
		for i, h := range header {
			if h != "metric" && h != "value" && h != "unit" {
				key.WriteString(cells[i] + "\x00")
			}
		}
		at, ok := index[key.String()]
		if !ok {
			if at = len(runs); at >= opt.Limits.Runs {
				return nil, fmt.Errorf("%s: more than %d results: %w", name, opt.Limits.Runs, ErrLimit)
			}
			index[key.String()] = at
			run, err := longRun(name, line, header, cells)
			if err != nil {
				return nil, err
			}
			runs = append(runs, run)
		}
		if cells[id] == "" {
			continue // a run without a value
		}
		if err := runs[at].setID(unescapeCSV(cells[id]), cells[value], line); err != nil {
			return nil, err
		}
	}
}

// longRun begins a run with what its rows repeat.
func longRun(name string, line int, header, cells []string) (Run, error) {
	r := Run{Source: name, Line: line, Format: FormatCSV, Tool: toolPipeline}
	for i, h := range header {
		cell := unescapeCSV(cells[i])
		switch h {
		case "metric", "value", "unit":
		case "sent", "failed":
			n, err := parseCount(cell)
			if err == nil && n > 1<<31-1 {
				err = fmt.Errorf("%d requests are too many", n)
			}
			if err != nil {
				return r, &Error{name, line, fmt.Errorf("%s: %w", h, err)}
			}
			if h == "sent" {
				r.Counts.Sent, r.Counts.FailedKnown = int(n), true
			} else {
				r.Counts.Failed = int(n)
			}
		default:
			r.setParam(h, cell)
		}
	}
	if r.Counts.Failed > r.Counts.Sent {
		return r, &Error{name, line, fmt.Errorf("%d of %d requests failed", r.Counts.Failed, r.Counts.Sent)}
	}
	r.Counts.Succeeded = r.Counts.Sent - r.Counts.Failed
	return r, nil
}
