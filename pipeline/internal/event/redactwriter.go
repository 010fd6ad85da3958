package event

import (
	"io"
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
	if r == nil {
		r = &Redactor{}
	}
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
	buf := slices.Concat(w.pending, p)
	out, n := w.state.scan(w.redact, make([]byte, 0, len(buf)), buf, final)
	w.pending = buf[n:]
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}
