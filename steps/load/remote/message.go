package remote

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/servegate/pipeline/steps/load"
)

// message is a line of the process's standard output.
type message struct {
	Moment   string         `json:"load"`
	Progress *load.Progress `json:"progress,omitempty"`
	// Sum is the SHA-256 of the answer file.
	Sum string `json:"sum,omitempty"`
	// Size is the size of an answer that follows the line, in bytes.
	Size int64 `json:"size,omitempty"`
}

// The moments of a run.
const (
	momentReady    = "ready"    // the warm-up has ended
	momentBegun    = "begun"    // the begin signal has arrived
	momentProgress = "progress" // of the measured requests
	momentDone     = "done"     // the result is written
)

// messageWriter writes messages. A write error ends the run.
type messageWriter struct {
	mu     sync.Mutex
	out    io.Writer
	failed func(error)
}

// write writes a message, and what follows it.
func (s *messageWriter) write(m message, behind ...byte) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err = s.out.Write(append(text, '\n')); err == nil && len(behind) > 0 {
		_, err = s.out.Write(behind)
	}
	if err != nil {
		s.failed(err)
	}
	return err
}

// maxMessage is the largest length of a message in bytes.
const maxMessage = 1 << 16

// messageReader extracts messages from the output of a process. It writes all other output, such as the
// greeting of a login shell, to rest.
type messageReader struct {
	rest   io.Writer
	handle func(message)
	line   []byte
	long   bool // the rest of the line is not a message

	left   int64  // bytes of the answer to come
	answer []byte // behind the last message
}

func (l *messageReader) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if l.left > 0 {
			n := min(l.left, int64(len(rest)))
			l.answer = append(l.answer, rest[:n]...)
			l.left, rest = l.left-n, rest[n:]
			continue
		}
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		l.take(part)
		if whole {
			l.end()
		}
	}
	return len(p), nil
}

func (l *messageReader) take(part []byte) {
	if l.long || len(l.line)+len(part) > maxMessage {
		l.spill()
		l.long = true
		_, _ = l.rest.Write(part) // a log; never fails
		return
	}
	l.line = append(l.line, part...)
}

func (l *messageReader) spill() {
	_, _ = l.rest.Write(l.line)
	l.line = l.line[:0]
}

func (l *messageReader) end() {
	var m message
	if !l.long && json.Unmarshal(l.line, &m) == nil && m.Moment != "" {
		l.line = l.line[:0]
		if m.Moment == momentDone && m.Size > 0 && m.Size <= maxAnswer {
			l.left, l.answer = m.Size, nil
		}
		l.handle(m)
		return
	}
	l.spill()
	_, _ = l.rest.Write([]byte("\n"))
	l.long = false
}
