package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/servegate/pipeline/pipeline/internal/event"
)

// The size of the tail that is kept for failures.
const (
	tailLines = 50
	tailWidth = 2000 // bytes in a line
)

// maxLog is how much of a log is stored, in bytes. A server that logs a line per token can fill a disk in a
// night.
const maxLog = 64 << 20

// Log writes the output of a server or step to a file, with secrets masked, and keeps its last lines in memory.
// Beyond 64 MiB the file gets only the last lines. It is safe for concurrent use.
type Log struct {
	name   string
	file   io.WriteCloser
	masked *event.Writer
	// again masks the file once more if secrets became known while it was written.
	again func() error

	mu      sync.Mutex
	room    int64 // bytes left for the file
	leftOut int64 // bytes left out of the file
	tail    tail
	err     error
}

// Log opens logs/NAME.log for appending.
func (d *Dir) Log(name string) (*Log, error) {
	file := path.Join(logsDir, Name(name)+".log")
	f, err := d.root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the log: %w", err), f.Close())
	}
	l := &Log{name: file, file: f, room: max(0, maxLog-info.Size())}
	l.masked = d.redact.Writer((*unmasked)(l))
	known := d.redact.Known()
	l.again = func() error {
		if d.redact.Known() == known {
			return nil
		}
		return d.maskAgain(file)
	}
	return l, nil
}

// Path returns the path of the log below the directory.
func (l *Log) Path() string { return l.name }

// Write never fails, because the program must not stop if its log cannot be written. See Err.
func (l *Log) Write(p []byte) (int, error) {
	return l.masked.Write(p) // unmasked stores the error for Err
}

// Tail returns the last lines so far, at most 50, each at most 2,000 bytes. Before Close it may lack the last
// few bytes, which may begin a secret.
func (l *Log) Tail() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail.last()
}

// Err returns the first write error.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close writes buffered output, closes the file and returns the first error.
func (l *Log) Close() error {
	return errors.Join(l.masked.Close(), l.ending(), l.Err(), l.file.Close(), l.again())
}

// maskAgain masks a file that may contain secrets that became known later.
func (d *Dir) maskAgain(name string) error {
	text, err := d.root.ReadFile(name)
	if err != nil {
		return fmt.Errorf("mask %s: %w", name, err)
	}
	masked := d.redact.Bytes(text)
	if bytes.Equal(masked, text) {
		return nil
	}
	return d.atomic(name, func(w io.Writer) error {
		_, err := w.Write(masked)
		return err
	})
}

// ending writes what the file lacks, and the last lines.
func (l *Log) ending() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leftOut == 0 || l.err != nil {
		return nil
	}
	_, err := fmt.Fprintf(l.file, "\n[pipeline: %d bytes are left out here, since a log is cut at %d MiB; the last lines were:]\n%s\n",
		l.leftOut, maxLog>>20, strings.Join(l.tail.last(), "\n"))
	l.leftOut = 0
	return err
}

// unmasked receives a Log's output after the redactor.
type unmasked Log

func (u *unmasked) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tail.add(p)
	if u.err != nil {
		return len(p), nil
	}
	kept := p[:min(int64(len(p)), u.room)]
	u.room -= int64(len(kept))
	u.leftOut += int64(len(p) - len(kept))
	if _, err := u.file.Write(kept); err != nil {
		u.err = fmt.Errorf("write %s: %w", u.name, err)
	}
	return len(p), nil
}

// tail holds the last lines.
type tail struct {
	lines   []string
	current []byte
}

func (t *tail) add(p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if room := tailWidth - len(t.current); room > 0 {
			t.current = append(t.current, line[:min(room, len(line))]...)
		}
		p = rest
		if ended {
			t.push()
		}
	}
}

func (t *tail) push() {
	if len(t.lines) == tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, text(t.current))
	t.current = t.current[:0]
}

func (t *tail) last() []string {
	lines := append([]string(nil), t.lines...)
	if len(t.current) > 0 {
		lines = append(lines, text(t.current))
	}
	return lines[max(0, len(lines)-tailLines):]
}

// text makes a line valid for JSON. Of a progress bar with carriage returns it keeps the last state.
func text(line []byte) string {
	line = bytes.TrimRight(line, "\r")
	line = line[bytes.LastIndexByte(line, '\r')+1:]
	return strings.ToValidUTF8(string(line), "\uFFFD")
}
