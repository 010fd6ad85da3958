package event

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"sync"
)

// Writer masks secrets in a stream, including those that are spread over several writes. It only
// holds back bytes that may begin a secret. It is safe for concurrent use; a process's stdout and
// stderr may share one.
type Writer struct {
	redact *Redactor
	w      io.Writer
	// lines releases everything at the end of a write that ends a line.
	lines bool

	mu      sync.Mutex
	pending []byte
	// enough is the number of pending bytes from which they are scanned again.
	enough int
	state  masker
}

// Scanning the pending bytes again for each byte of a stream would take quadratic time. So from longPending bytes on they are
// scanned when they have grown by a quarter.
const (
	longPending = 1 << 10
	grown       = 4
)

// Writer returns a stream to w. Close it to write the held bytes; w stays open.
func (r *Redactor) Writer(w io.Writer) *Writer {
	return &Writer{redact: r, w: w}
}

// LineWriter returns a stream to w for a live reader, such as a terminal or the log of a job. It
// holds nothing back after a write that ends with a newline. It finds a secret that is wrapped over
// several lines only if one write contains these lines. Close it to write the held bytes; w stays
// open.
func (r *Redactor) LineWriter(w io.Writer) *Writer {
	return &Writer{redact: r, w: w, lines: true}
}

// Write masks p and passes it on.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.pass(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes the held bytes: the stream has ended, so no secret can continue.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(nil, true)
}

func (w *Writer) pass(p []byte, final bool) error {
	out := p
	if w.redact != nil {
		out = w.masked(p, final)
	}
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}

func (w *Writer) masked(p []byte, final bool) []byte {
	final = final || w.lines && bytes.HasSuffix(p, []byte("\n"))
	w.pending = append(w.pending, p...)
	buf := w.pending
	if !final && len(buf) < w.enough {
		return nil
	}
	var out []byte
	for len(buf) > 0 {
		last := len(buf) <= piece
		var n int
		out, n = w.state.scan(w.redact.set.Load(), out, buf[:min(len(buf), piece)], final && last)
		buf = buf[n:]
		if last || n == 0 {
			break
		}
	}
	w.pending, w.enough = slices.Clone(buf), 0 // out may share the memory of buf
	if len(buf) >= longPending {
		w.enough = len(buf) + len(buf)/grown
	}
	return out
}

// FileWriter returns a stream to w for a file of this name. It masks JSON string by string, so that
// it stays valid whatever the secrets. Close it to write the held bytes.
func (r *Redactor) FileWriter(name string, w io.Writer) io.WriteCloser {
	if path.Ext(name) == ".json" && r != nil {
		return &jsonWriter{redact: r, w: w}
	}
	return r.Writer(w)
}

// jsonWriter masks the strings of JSON as soon as they are complete.
type jsonWriter struct {
	redact *Redactor
	w      io.Writer
	// text is the present string, from its quote; empty between strings.
	text    []byte
	escaped bool
	// long handles the rest of a string that is too long to hold.
	long *Writer
}

// longString is longer than any string that this program writes.
const longString = 1 << 20

func (j *jsonWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if len(j.text) == 0 && j.long == nil {
			at := bytes.IndexByte(rest, '"')
			if at < 0 {
				at = len(rest)
			}
			if _, err := j.w.Write(rest[:at]); err != nil {
				return 0, err
			}
			if rest = rest[at:]; len(rest) > 0 {
				j.text, rest = append(j.text, '"'), rest[1:]
			}
			continue
		}
		n, ended := j.within(rest)
		if err := j.take(rest[:n], ended); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// within returns how many bytes belong to the present string, and whether it ends there.
func (j *jsonWriter) within(p []byte) (n int, ended bool) {
	for i, c := range p {
		switch {
		case j.escaped:
			j.escaped = false
		case c == '\\':
			j.escaped = true
		case c == '"':
			return i + 1, true
		}
	}
	return len(p), false
}

func (j *jsonWriter) take(p []byte, ended bool) error {
	if j.long == nil && len(j.text)+len(p) > longString && !ended {
		j.long = j.redact.Writer(j.w)
		p, j.text = append(j.text, p...), nil
	}
	switch {
	case j.long != nil:
		_, err := j.long.Write(p)
		if ended {
			err = errors.Join(err, j.long.Close())
			j.long = nil
		}
		return err
	case !ended:
		j.text = append(j.text, p...)
		return nil
	}
	j.text = append(j.text, p...)
	out, changed := j.redact.literal(j.text)
	if !changed {
		out = j.text
	}
	_, err := j.w.Write(out)
	j.text = j.text[:0]
	return err
}

// Close writes the held bytes. A string that does not end is not JSON.
func (j *jsonWriter) Close() error {
	var err error
	if j.long != nil {
		err = j.long.Close()
	}
	if len(j.text) > 0 {
		_, more := j.w.Write(j.redact.Bytes(j.text))
		err = errors.Join(err, more)
	}
	j.text, j.long = nil, nil
	return err
}
