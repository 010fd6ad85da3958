package event

import (
	"bytes"
	"io"
	"path"
	"slices"
	"sync"
)

// Writer masks secrets in a stream, also those that are spread over several writes. It
// holds back only bytes that may be the beginning of a secret. It is safe for concurrent
// use; a process's stdout and stderr may share one.
type Writer struct {
	redact *Redactor
	w      io.Writer

	mu      sync.Mutex
	pending []byte
	state   masker
}

// Writer returns a stream to w. Close it to write out what it holds back; w stays open.
func (r *Redactor) Writer(w io.Writer) *Writer {
	return &Writer{redact: r, w: w}
}

// Write masks and passes on p.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.pass(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what was held back: the stream has ended, no secret can go on.
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
	buf := slices.Concat(w.pending, p)
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
	w.pending = buf
	return out
}

// FileWriter returns a stream to w for a file of this name. JSON is masked text by text,
// so that it stays JSON whatever a secret looks like; it is written when the stream is
// closed.
func (r *Redactor) FileWriter(name string, w io.Writer) io.WriteCloser {
	if path.Ext(name) == ".json" {
		return &jsonWriter{redact: r, w: w}
	}
	return r.Writer(w)
}

type jsonWriter struct {
	redact *Redactor
	w      io.Writer
	text   bytes.Buffer
}

func (j *jsonWriter) Write(p []byte) (int, error) { return j.text.Write(p) }

func (j *jsonWriter) Close() error {
	_, err := j.w.Write(j.redact.JSON(j.text.Bytes()))
	return err
}
