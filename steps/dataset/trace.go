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
	"strconv"
	"time"
)

// readTrace reads a trace of arrivals in one of two forms, which the first byte distinguishes:
// Mooncake's, a JSON object a line with timestamp in milliseconds, input_length,
// output_length and hash_ids (https://github.com/kvcache-ai/Mooncake), and BurstGPT's, a
// CSV with Timestamp in seconds, Request tokens and Response tokens
// (https://github.com/HPMLL/BurstGPT). Times must not go back.
func readTrace(r io.Reader) (*Table, error) {
	t := &Table{}
	br := bufio.NewReaderSize(r, 1<<20)
	var err error
	switch first, peekErr := firstByte(br); {
	case peekErr != nil:
		return nil, errors.New("the trace is empty")
	case first == '{':
		err = eachLine(br, t.addMooncake)
	default:
		err = t.readBurstGPT(br)
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

// firstByte looks at the first byte that is not white space.
func firstByte(br *bufio.Reader) (byte, error) {
	b, err := br.ReadByte()
	for err == nil && bytes.IndexByte([]byte(" \t\r\n"), b) >= 0 {
		b, err = br.ReadByte()
	}
	if err != nil {
		return 0, err
	}
	return b, br.UnreadByte()
}

func (t *Table) addMooncake(n int, line []byte) error {
	var l struct {
		Timestamp *float64 `json:"timestamp"`
		Input     *int     `json:"input_length"`
		Output    *int     `json:"output_length"`
		HashIDs   []int64  `json:"hash_ids"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return fmt.Errorf("not a JSON object of a trace: %w", err)
	}
	if l.Timestamp == nil || l.Input == nil || l.Output == nil {
		return errors.New("it needs timestamp (milliseconds), input_length and output_length")
	}
	return t.addTimed(Entry{Input: *l.Input, Output: *l.Output, Blocks: l.HashIDs, line: n}, *l.Timestamp/1000)
}

// addTimed adds an entry at a time in seconds.
func (t *Table) addTimed(e Entry, seconds float64) error {
	switch {
	case e.Input < 1 || e.Input > maxLength || e.Output < 1 || e.Output > maxLength:
		return fmt.Errorf("lengths %d and %d: both must be at least 1", e.Input, e.Output)
	case math.IsNaN(seconds) || math.Abs(seconds) > maxTraceTime.Seconds():
		return fmt.Errorf("the time %g s is out of range", seconds)
	}
	e.At = time.Duration(math.Round(seconds * 1e9))
	if n := len(t.Entries); n > 0 && e.At < t.Entries[n-1].At {
		return errors.New("its time is before that of the line above: sort the trace by time")
	}
	return t.add(e)
}

// readBurstGPT reads the CSV form. Requests without an answer failed in the recorded
// service; they are left out, as vLLM does.
func (t *Table) readBurstGPT(r io.Reader) error {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	head, err := c.Read()
	if err != nil {
		return fmt.Errorf("neither a JSON object a line nor a CSV: %w", err)
	}
	column := map[string]int{}
	for i, name := range head {
		column[name] = i
	}
	var at [3]int
	for i, name := range []string{"Timestamp", "Request tokens", "Response tokens"} {
		var ok bool
		if at[i], ok = column[name]; !ok {
			return fmt.Errorf("the CSV has no column %q; it needs Timestamp, Request tokens and Response tokens", name)
		}
	}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := c.FieldPos(0)
		if err := t.addRow(row[at[0]], row[at[1]], row[at[2]], line); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func (t *Table) addRow(timestamp, input, output string, line int) error {
	seconds, err1 := strconv.ParseFloat(timestamp, 64)
	in, err2 := strconv.Atoi(input)
	out, err3 := strconv.Atoi(output)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if out == 0 {
		return nil
	}
	return t.addTimed(Entry{Input: in, Output: out, line: line}, seconds)
}
