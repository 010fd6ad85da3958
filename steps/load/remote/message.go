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

func (s *messageWriter) write(m message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.out.Write(append(text, '\n')); err != nil {
		s.failed(err)
		return err
	}
	return nil
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
}

func (l *messageReader) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
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
		l.handle(m)
		return
	}
	l.spill()
	_, _ = l.rest.Write([]byte("\n"))
	l.long = false
}
