package record

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/servegate/pipeline/steps"
)

// Schema is the version of the records file that this package writes. A reader
// accepts every file of the same major version.
const Schema = "pipeline/records/1.0"

// Header is the first line of a records file. It contains everything that a Run holds except the requests.
type Header struct {
	Schema string `json:"schema"`
	// Meta identifies the run (cell, side, repeat and so on) for a reader of the file alone.
	Meta map[string]string `json:"meta,omitempty"`
	// Duration as in Run, in nanoseconds.
	Duration int64 `json:"duration"`
	Audit    Audit `json:"audit"`
	// Goodput as in Run.
	Goodput steps.Goodput `json:"goodput,omitzero"`
	// Requests is the number of following lines; a file with fewer was cut.
	Requests int `json:"requests"`
}

// line is one request in the file. Token times are differences, so that a long stream needs few digits per
// token: Times[0] is relative to Sent, each further one to the previous. Counts are the tokens per event,
// omitted if all are one.
type line struct {
	Index    int     `json:"i"`
	Planned  int64   `json:"p"`
	Sent     int64   `json:"s"`
	Headers  int64   `json:"h"`
	Done     int64   `json:"d"`
	Times    []int64 `json:"t,omitempty"`
	Counts   []int   `json:"n,omitempty"`
	Prompt   int     `json:"in"`
	Want     int     `json:"want"`
	Output   int     `json:"out"`
	Cached   int     `json:"cached"`
	Status   int     `json:"status"`
	Finish   string  `json:"finish,omitempty"`
	Failure  Failure `json:"failure,omitempty"`
	ErrorMsg string  `json:"error,omitempty"`
	Asked    uint32  `json:"asked,omitempty"`
	Goes     bool    `json:"continues,omitempty"`
	Resent   bool    `json:"resent,omitempty"`
	Text     *Text   `json:"text,omitempty"`
	Answer   *Answer `json:"answer,omitempty"`
	Session  *int    `json:"session,omitempty"`
}

// compressors holds writers between runs: each has more than a megabyte of tables. The servers wait while records are
// written, so that their level is one that takes a third of the default's time, for files up to a quarter larger.
var compressors = sync.Pool{New: func() any {
	zw, _ := gzip.NewWriterLevel(nil, 3) // an error is another level's
	return zw
}}

// Write writes a run as a gzipped file of JSON lines: the header, then one line per request in the order of the
// run, as mask leaves it unless mask is nil. It sets all of h but Meta from the run. It does not sync; the caller owns the
// file.
func Write(w io.Writer, h Header, run Run, mask func(*Request)) error {
	h.Schema, h.Duration, h.Audit, h.Goodput, h.Requests = Schema, run.Duration, run.Audit, run.Goodput, run.Requests.Len()
	zw, _ := compressors.Get().(*gzip.Writer)
	defer compressors.Put(zw)
	zw.Reset(w)
	enc := json.NewEncoder(zw) // ends each value with a newline
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		return fmt.Errorf("write the header of the records: %w", err)
	}
	var l line
	for _, r := range run.Requests.All() {
		if mask != nil {
			mask(r)
		}
		l.pack(r)
		if err := enc.Encode(&l); err != nil {
			return fmt.Errorf("write the record of request %d: %w", r.Index, err)
		}
	}
	if err := zw.Close(); err != nil {
		return fmt.Errorf("finish the records: %w", err)
	}
	return nil
}

// pack sets the line to a request, in the memory of the one before.
func (l *line) pack(r *Request) {
	times, counts := l.Times[:0], l.Counts[:0]
	*l = line{
		Index: r.Index, Planned: r.Planned, Sent: r.Sent, Headers: r.Headers, Done: r.Done,
		Prompt: r.PromptTokens, Want: r.WantTokens, Output: r.OutputTokens, Cached: r.CachedTokens,
		Status: r.Status, Finish: r.Finish, Failure: r.Failure, ErrorMsg: r.Error, Answer: r.Answer, Session: r.Session,
		Asked: r.Asked, Goes: r.Continues, Resent: r.Resent, Text: r.Text,
	}
	at, n, ones := r.Sent, 0, true
	for _, e := range r.Events {
		times, counts = append(times, e.At-at), append(counts, e.Tokens-n)
		ones = ones && e.Tokens-n == 1
		at, n = e.At, e.Tokens
	}
	if ones {
		counts = counts[:0]
	}
	l.Times, l.Counts = times, counts
}

// ReadAnswers reads the answers to some requests from a file written by Write.
func ReadAnswers(r io.Reader, requests map[int]bool) (map[int]Answer, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read the records: %w", err)
	}
	dec := json.NewDecoder(zr)
	var h Header
	if err := dec.Decode(&h); err != nil {
		return nil, fmt.Errorf("read the header of the records: %w", err)
	}
	found := map[int]Answer{}
	for range h.Requests {
		var l line
		if err := dec.Decode(&l); err != nil {
			return found, fmt.Errorf("read the records: %w", err)
		}
		if requests[l.Index] && l.Answer != nil {
			found[l.Index] = *l.Answer
		}
	}
	return found, nil
}
