package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits bound what a reader accepts, because a records file may come from anywhere.
type Limits struct {
	// Line is the longest line in bytes, Bytes the whole file after decompression, and
	// Requests the number of requests. Zero means the default: 16 MiB, 4 GiB, 10 million.
	Line     int
	Bytes    int64
	Requests int
}

func (l Limits) withDefaults() Limits {
	if l.Line <= 0 {
		l.Line = 16 << 20
	}
	if l.Bytes <= 0 {
		l.Bytes = 4 << 30
	}
	if l.Requests <= 0 {
		l.Requests = 10_000_000
	}
	return l
}

// Errors that a reader's error can be compared with (errors.Is).
var (
	// ErrNotRecords: not a records file at all.
	ErrNotRecords = errors.New("not a records file")
	// ErrVersion: a records file of a version that this program does not read.
	ErrVersion = errors.New("unsupported version of the records file")
	// ErrTruncated: fewer requests than the header says.
	ErrTruncated = errors.New("truncated records file")
	// ErrTooLarge: beyond the Limits.
	ErrTooLarge = errors.New("records file beyond its limits")
)

// Reader reads a records file one request at a time.
type Reader struct {
	header Header
	lim    Limits
	src    *io.LimitedReader
	buf    *bufio.Reader
	long   []byte
	n      int
}

// NewReader opens a records file and reads its header.
func NewReader(r io.Reader, lim Limits) (*Reader, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRecords, err)
	}
	lim = lim.withDefaults()
	src := &io.LimitedReader{R: zr, N: lim.Bytes}
	rd := &Reader{lim: lim, src: src, buf: bufio.NewReaderSize(src, 64<<10)}
	b, err := rd.line()
	if err != nil {
		return nil, fmt.Errorf("%w: no header: %w", ErrNotRecords, err)
	}
	if err := json.Unmarshal(b, &rd.header); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrNotRecords, err)
	}
	return rd, rd.checkHeader()
}

func (r *Reader) checkHeader() error {
	name, version, _ := strings.Cut(r.header.Schema, "records/")
	if name != "pipeline/" {
		return fmt.Errorf("%w: schema %q", ErrNotRecords, r.header.Schema)
	}
	if major, _, _ := strings.Cut(version, "."); major != "1" {
		return fmt.Errorf("%w: %q, this program reads %s; use the program that wrote it or a newer one",
			ErrVersion, r.header.Schema, Schema)
	}
	if r.header.Requests < 0 || r.header.Requests > r.lim.Requests {
		return fmt.Errorf("%w: %d requests, at most %d", ErrTooLarge, r.header.Requests, r.lim.Requests)
	}
	return nil
}

// Header of the file.
func (r *Reader) Header() Header { return r.header }

// Next returns the next request, io.EOF after the last one, or ErrTruncated when the
// file ends before the number of requests that its header names.
func (r *Reader) Next() (Request, error) {
	if r.n == r.header.Requests {
		if b, err := r.line(); !errors.Is(err, io.EOF) {
			if err != nil {
				return Request{}, err
			}
			return Request{}, fmt.Errorf("%w: more than the %d requests of its header: %.40q", ErrNotRecords, r.n, b)
		}
		return Request{}, io.EOF
	}
	b, err := r.line()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Request{}, fmt.Errorf("%w: %d of %d requests", ErrTruncated, r.n, r.header.Requests)
	}
	if err != nil {
		return Request{}, err
	}
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return Request{}, fmt.Errorf("record %d: %w", r.n, err)
	}
	q, err := unpack(&l)
	if err != nil {
		return Request{}, fmt.Errorf("record %d: %w", r.n, err)
	}
	r.n++
	return q, nil
}

// line returns the next line without its newline, valid until the next call.
func (r *Reader) line() ([]byte, error) {
	r.long = r.long[:0]
	for {
		part, err := r.buf.ReadSlice('\n')
		if len(r.long)+len(part) > r.lim.Line {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrTooLarge, r.lim.Line)
		}
		switch {
		case err == nil && len(r.long) == 0:
			return bytes.TrimSuffix(part, []byte("\n")), nil
		case err == nil:
			return bytes.TrimSuffix(append(r.long, part...), []byte("\n")), nil
		case errors.Is(err, bufio.ErrBufferFull):
			r.long = append(r.long, part...)
		case errors.Is(err, io.EOF) && r.src.N <= 0:
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, r.lim.Bytes)
		case errors.Is(err, io.EOF) && len(r.long)+len(part) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// unpack turns differences back into times. Sums that overflow would make times go
// backwards unnoticed, so every running value must stay in range.
func unpack(l *line) (Request, error) {
	r := Request{
		Index: l.Index, Planned: l.Planned, Sent: l.Sent, Headers: l.Headers, Done: l.Done,
		PromptTokens: l.Prompt, WantTokens: l.Want, OutputTokens: l.Output, CachedTokens: l.Cached,
		Status: l.Status, Finish: l.Finish, Failure: l.Failure, Error: l.ErrorMsg,
	}
	if l.Counts != nil && len(l.Counts) != len(l.Times) {
		return r, fmt.Errorf("%d token counts for %d times", len(l.Counts), len(l.Times))
	}
	if len(l.Times) == 0 {
		return r, nil
	}
	r.Events = make([]Event, len(l.Times))
	at, n := r.Sent, 0
	for k, d := range l.Times {
		c := 1
		if l.Counts != nil {
			c = l.Counts[k]
		}
		sum, tokens := at+d, n+c
		if (d >= 0) != (sum >= at) || (c >= 0) != (tokens >= n) {
			return r, fmt.Errorf("event %d: a time or count is out of range", k)
		}
		at, n = sum, tokens
		r.Events[k] = Event{At: at, Tokens: n}
	}
	return r, nil
}

// Read reads a whole records file.
func Read(r io.Reader, lim Limits) (Header, Run, error) {
	rd, err := NewReader(r, lim)
	if err != nil {
		return Header{}, Run{}, err
	}
	h := rd.Header()
	run := Run{Duration: h.Duration, Audit: h.Audit, Goodput: h.Goodput}
	for {
		q, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return h, run, nil
		}
		if err != nil {
			return h, run, err
		}
		run.Requests = append(run.Requests, q)
	}
}
