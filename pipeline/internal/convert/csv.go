package convert

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/servegate/pipeline/gates/metric"
)

// sheet reads the rows of a CSV file.
type sheet struct {
	*csv.Reader
	name   string
	header []string
	cells  []string // of the last row, and its line
	line   int
	err    error
}

// next reads a row, and reports whether there was one.
func (s *sheet) next() bool {
	cells, err := s.Read()
	if err == nil {
		s.cells = cells
		s.line, _ = s.FieldPos(0)
		return true
	}
	if !errors.Is(err, io.EOF) || s.header == nil {
		line := 1
		if parse, ok := errors.AsType[*csv.ParseError](err); ok {
			line, err = parse.Line, parse.Err
		}
		s.err = &Error{s.name, line, err}
	}
	return false
}

// readCSV reads a table with one result a row. Columns are named by labels or keys of a load
// generator, or by our ids.
func readCSV(in *bufio.Reader, name string, opt ReadOptions) ([]Run, error) {
	s := &sheet{Reader: csv.NewReader(in), name: name}
	head, _ := in.Peek(detectBytes) // or less, at the end of the file
	line, _, _ := strings.Cut(string(head), "\n")
	s.Comma = delimiter(line)
	if !s.next() {
		return nil, s.err
	}
	s.header = s.cells
	s.header[0] = strings.TrimPrefix(s.header[0], "\xef\xbb\xbf")
	if isSections(s.header) {
		return readSections(s, opt)
	}
	if instead := opt.Tools.sheet(s.header); instead != "" {
		return nil, &Error{name, 1, fmt.Errorf("%w: %s", ErrNoResult, instead)}
	}
	var rows []tableRow
	for s.next() {
		if rows = append(rows, tableRow{s.cells, s.line}); len(rows) > opt.Limits.Runs {
			return nil, fmt.Errorf("%s: more than %d results: %w", name, opt.Limits.Runs, ErrLimit)
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	dropIndex(s.header, rows)
	header := withMeasuredRates(s.header, func(col int) []string {
		cells := make([]string, len(rows))
		for i, row := range rows {
			cells[i] = unescapeCSV(row.cells[col])
		}
		return cells
	})
	table := openTable{header: header}
	columns, sides := table.sides()
	var runs []Run
	for _, row := range rows {
		for _, side := range orNone(sides) {
			run := opt.newRun(FormatCSV, opt.Tool, name, row.line)
			names, cells := header, row.cells
			if side != "" {
				names, cells, _ = table.ofSide(row, columns, side)
				run.setParam("column", side)
			}
			if err := run.row(names, cells, row.line); err != nil {
				return nil, withReasons(err, names, cells)
			}
			if run.Tool == "" {
				run.assumeTool("")
			}
			runs = append(runs, *run)
		}
	}
	return runs, nil
}

// dropIndex blanks the index that pandas writes in the first column: the number of each row, from 0. It is not a setting,
// and would pair the rows of two files by their places.
func dropIndex(header []string, rows []tableRow) {
	if heading := strings.TrimSpace(header[0]); heading != "" && heading != "Unnamed: 0" {
		return
	}
	next := 0
	for _, row := range rows {
		if row.cells[0] == "0" {
			next = 0 // joined frames begin anew
		}
		if row.cells[0] != strconv.Itoa(next) {
			return
		}
		next++
	}
	for _, row := range rows {
		row.cells[0] = ""
	}
}

// orNone returns the sides of a table, or one without a name.
func orNone(sides []string) []string {
	if len(sides) == 0 {
		return []string{""}
	}
	return sides
}

// withReasons adds to the error of a row without figures why its columns are none.
func withReasons(err error, header, cells []string) error {
	if !errors.Is(err, errNoFigure) {
		return err
	}
	for i, h := range header {
		if why := whyNot(h, cells[i]); why != "" {
			err = fmt.Errorf("%w; %s", err, why)
		}
	}
	return err
}

// sheet returns what to import instead of a CSV file without results, "" for other files.
func (t Tools) sheet(header []string) string {
	for _, row := range t {
		for _, s := range row.Sheets {
			if slices.ContainsFunc(s.Headers, func(columns string) bool { return containsAll(header, strings.Split(columns, ",")) }) {
				return s.Instead
			}
		}
	}
	return ""
}

func containsAll(header, columns []string) bool {
	return !slices.ContainsFunc(columns, func(c string) bool {
		return !slices.ContainsFunc(header, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), c) })
	})
}

// row reads one result. Columns of our own export are ids ("ttft.p99", in stored units) and a few
// fixed names. The prefix arg_ makes any column a parameter.
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
	r.checkLengths()
	return nil
}

// isID reports whether a column is named by the id of a metric.
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
	put(&r.Metrics, id, v)
	if m, ok := metric.Lookup(id); !ok || m.Tool != "" {
		group, stat, _ := strings.Cut(id, ".")
		put(&r.Definitions, id, describeForeign(r.Tool, group, stat))
	}
	return nil
}

// unescapeCSV removes the apostrophe that stops a spreadsheet from computing a text.
func unescapeCSV(s string) string {
	if len(s) > 1 && s[0] == '\'' && strings.IndexByte("=+-@\t\r'", s[1]) >= 0 {
		return s[1:]
	}
	return s
}

// counted is a count of a result, with its names in exports. The value is nil if its source did not
// report it, because a zero would be a figure.
type counted struct {
	vllm, csv, own string
	value          any
}

func (r *Run) counted() []counted {
	c := r.Counts
	when := func(reported bool, value any) any {
		if !reported {
			return nil
		}
		return value
	}
	return []counted{
		{"completed", "successful_requests", "succeeded", when(c.Succeeded > 0 || c.FailedKnown, c.Succeeded)},
		{"failed", "failed_requests", "failed", when(c.FailedKnown, c.Failed)},
		{"total_input_tokens", "total_input_tokens", "input_tokens", when(c.InputTokens > 0, c.InputTokens)},
		{"total_output_tokens", "total_generated_tokens", "output_tokens", when(c.OutputTokens > 0, c.OutputTokens)},
		{"duration", "benchmark_duration_s", "duration_s", when(r.Duration > 0, json.Number(number(r.Duration)))},
	}
}

// WriteCSV writes runs as a table, one a row: source, parameters (columns that begin with arg_),
// counts, and metrics by id in stored units. Read reads it again without loss, except records,
// engine lines, audit and warnings.
func WriteCSV(w io.Writer, runs []Run) error {
	params, ids := map[string]bool{}, map[string]bool{}
	for i := range runs {
		for key := range runs[i].Params {
			params[key] = true
		}
		for id := range runs[i].Metrics {
			ids[id] = true
		}
	}
	keys, metrics := slices.Sorted(maps.Keys(params)), inRegistryOrder(ids)
	header := []string{"source", "line", "tool"}
	for _, key := range keys {
		header = append(header, "arg_"+key)
	}
	for _, c := range (&Run{}).counted() {
		header = append(header, c.csv)
	}
	out := csv.NewWriter(w)
	write := func(cells []string) {
		for i, c := range cells {
			cells[i] = escapeCSV(c)
		}
		_ = out.Write(cells) // Error returns the errors of a csv.Writer later
	}
	write(append(header, metrics...))
	for i := range runs {
		write(csvRow(&runs[i], keys, metrics))
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

func csvRow(r *Run, keys, metrics []string) []string {
	row := []string{r.Source, strconv.Itoa(r.Line), r.Tool}
	for _, key := range keys {
		row = append(row, r.Params[key])
	}
	for _, c := range r.counted() {
		cell := ""
		if c.value != nil {
			cell = fmt.Sprint(c.value)
		}
		row = append(row, cell)
	}
	for _, id := range metrics {
		cell := ""
		if v, ok := r.Metrics[id]; ok {
			cell = number(v)
		}
		row = append(row, cell)
	}
	return row
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// inRegistryOrder sorts ids in the order of the registry, and unknown ones after them by name.
func inRegistryOrder(ids map[string]bool) []string {
	var out, rest []string
	for _, m := range metric.All() {
		if ids[m.ID] {
			out = append(out, m.ID)
		}
	}
	for id := range ids {
		if _, ok := metric.Lookup(id); !ok || !slices.Contains(out, id) {
			rest = append(rest, id)
		}
	}
	slices.Sort(rest)
	return append(out, rest...)
}

// escapeCSV puts an apostrophe before text that a spreadsheet would compute. It replaces control
// characters, which would reach the terminal of anyone who prints the file.
func escapeCSV(s string) string {
	s = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return '\ufffd'
		}
		return c
	}, s)
	if s != "" && strings.IndexByte("=+-@\t\r'", s[0]) >= 0 && !isNumber(s) {
		return "'" + s
	}
	return s
}
