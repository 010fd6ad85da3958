package dataset

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// traceForm is one format of traces with a JSON object per line.
type traceForm struct {
	// member is the name of a member that only this format has.
	member string
	// says describes the format, for messages.
	says string
	// begin returns functions that read a line and finish after the last.
	begin func(*Table) (line func(n int, text []byte) error, end func() error)
}

// traceForms lists the formats in the order in which they are tried.
var traceForms = []traceForm{
	{"input_length", "Mooncake's, with or without sessions", beginMooncake},
	{"requests", "that of Weka's and AgentX's agents", beginWeka},
	{"resourceSpans", "OTLP's, spans of OpenTelemetry", beginOTLP},
}

// csvForm is one format of CSV traces.
type csvForm struct {
	// time, input and output are the names of its columns.
	time, input, output string
	// images, if not empty, is the column with a request's number of images.
	images string
	// ignored lists columns that do not describe the work.
	ignored []string
	// seconds parses a time, relative to any origin.
	seconds func(string) (float64, error)
}

// csvForms lists the formats: BurstGPT's (https://github.com/HPMLL/BurstGPT), and Azure's of LLM inference
// (https://github.com/Azure/AzurePublicDataset).
var csvForms = []csvForm{
	{
		time: "Timestamp", input: "Request tokens", output: "Response tokens", ignored: []string{"Model", "Total tokens",
			"Log Type", "Elapsed time"},
		seconds: func(text string) (float64, error) { return strconv.ParseFloat(text, 64) },
	},
	{time: "TIMESTAMP", input: "ContextTokens", output: "GeneratedTokens", images: "NumImages", seconds: dateSeconds},
}

// dateSeconds parses a date and time, with or without a time zone.
func dateSeconds(text string) (float64, error) {
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		at, err = time.Parse("2006-01-02 15:04:05Z07:00", text)
	}
	return float64(at.UnixMicro()) / 1e6, err
}

// readTrace reads a trace of arrivals: a CSV in one of the csvForms, or lines of JSON in one of the traceForms.
func readTrace(r io.Reader) (*Table, error) {
	t := &Table{}
	br := bufio.NewReaderSize(r, 1<<20)
	var err error
	switch first, peekErr := firstByte(br); {
	case peekErr != nil:
		return nil, errors.New("the trace is empty")
	case first == '{':
		err = t.readForm(br)
	default:
		err = t.readCSV(br)
	}
	if err != nil || len(t.Entries) == 0 {
		return t, err
	}
	start := t.Entries[0].At
	for i := range t.Entries {
		t.Entries[i].At -= start
	}
	return t, nil
}

// readForm reads lines of JSON in the format of the first line.
func (t *Table) readForm(r io.Reader) error {
	var line func(int, []byte) error
	var end func() error
	err := eachLine(r, func(n int, text []byte) error {
		if line == nil {
			form, err := formOf(text)
			if err != nil {
				return err
			}
			line, end = form.begin(t)
		}
		return line(n, text)
	})
	if err != nil {
		return err
	}
	return end()
}

// formOf returns the format of a line.
func formOf(text []byte) (traceForm, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return traceForm{}, fmt.Errorf("not a JSON object of a trace, which is to be on one line: %w", err)
	}
	var known []string
	for _, f := range traceForms {
		if members[f.member] != nil {
			return f, nil
		}
		known = append(known, fmt.Sprintf("%s (%s)", f.member, f.says))
	}
	return traceForm{}, errors.New("no form of a trace that is known; its lines have one of: " + strings.Join(known, "; "))
}

// firstByte returns the first byte that is not white space, without consuming it.
func firstByte(br *bufio.Reader) (byte, error) {
	for n := 1; ; n++ {
		head, err := br.Peek(n)
		if err != nil {
			return 0, err
		}
		if b := head[n-1]; bytes.IndexByte([]byte(" \t\r\n"), b) < 0 {
			return b, nil
		}
	}
}

// seconds converts a time of a trace.
func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// addTimed adds an entry at a time in seconds, which must not precede the previous entry's.
func (t *Table) addTimed(e Entry, at float64) error {
	if err := t.addAt(e, at); err != nil {
		return err
	}
	if n := len(t.Entries); n > 1 && t.Entries[n-1].At < t.Entries[n-2].At {
		return errors.New("its time is before that of the line above: sort the trace by time")
	}
	return nil
}

// addAt adds an entry at a time in seconds.
func (t *Table) addAt(e Entry, at float64) error {
	switch {
	case e.Input < 1 || e.Input > maxLength || e.Output < 1 || e.Output > maxLength:
		return fmt.Errorf("lengths %d and %d: both must be at least 1", e.Input, e.Output)
	case math.IsNaN(at) || math.Abs(at) > maxTraceTime.Seconds():
		return fmt.Errorf("the time %g s is out of range", at)
	}
	e.At = seconds(at)
	return t.add(e)
}

// readCSV reads a CSV. It drops requests without an answer, which failed in the recorded service, as vLLM does.
func (t *Table) readCSV(r io.Reader) error {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	head, err := c.Read()
	if err != nil {
		return fmt.Errorf("neither a JSON object a line nor a CSV: %w", err)
	}
	form, at, err := csvFormOf(head)
	if err != nil {
		return err
	}
	notes := newCSVNotes(form, head, at)
	var begin *float64
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			t.Notes = notes.texts()
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := c.FieldPos(0)
		seconds, err := form.seconds(row[at[0]])
		if begin == nil {
			begin = &seconds
		}
		if err == nil {
			notes.count(row)
			err = t.addRow(seconds-*begin, row[at[1]], row[at[2]], line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// csvFormOf returns the format of a CSV by its header, and the positions of its columns.
func csvFormOf(head []string) (csvForm, [3]int, error) {
	var known []string
	for _, f := range csvForms {
		at := [3]int{slices.Index(head, f.time), slices.Index(head, f.input), slices.Index(head, f.output)}
		if !slices.Contains(at[:], -1) {
			return f, at, nil
		}
		known = append(known, strings.Join([]string{f.time, f.input, f.output}, ", "))
	}
	return csvForm{}, [3]int{}, fmt.Errorf("the CSV has not all columns of a form that is known: %s", strings.Join(known, "; or "))
}

// csvNotes counts what of a CSV is not replayed.
type csvNotes struct {
	form                          csvForm
	output, images                int // columns; images is -1 without one
	rows, unanswered, illustrated int
	unread                        []string
}

func newCSVNotes(form csvForm, head []string, at [3]int) *csvNotes {
	n := &csvNotes{form: form, output: at[2], images: -1}
	for i, name := range head {
		switch {
		case slices.Contains(at[:], i) || slices.Contains(form.ignored, name):
		case form.images != "" && name == form.images:
			n.images = i
		default:
			n.unread = append(n.unread, name)
		}
	}
	return n
}

// count counts a row.
func (n *csvNotes) count(row []string) {
	n.rows++
	if v, err := strconv.Atoi(row[n.output]); err == nil && v == 0 {
		n.unanswered++
		return
	}
	if n.images >= 0 {
		if v, err := strconv.Atoi(row[n.images]); err != nil || v != 0 {
			n.illustrated++
		}
	}
}

func (n *csvNotes) texts() []string {
	var out []string
	if n.unanswered > 0 {
		out = append(out, fmt.Sprintf("%d of %d requests have no output token and are left out: they failed in the recorded service",
			n.unanswered, n.rows))
	}
	if n.illustrated > 0 {
		out = append(out, fmt.Sprintf("%d of %d requests had images (%s), which are not sent: each is replayed as text of its number of tokens",
			n.illustrated, n.rows, n.form.images))
	}
	if len(n.unread) > 0 {
		out = append(out, "columns that are not replayed: "+strings.Join(n.unread, ", "))
	}
	return out
}

func (t *Table) addRow(at float64, input, output string, line int) error {
	in, err1 := strconv.Atoi(input)
	out, err2 := strconv.Atoi(output)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if out == 0 {
		return nil
	}
	return t.addTimed(Entry{Input: in, Output: out, line: line}, at)
}
