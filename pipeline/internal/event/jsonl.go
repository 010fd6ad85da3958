package event

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// File is the destination of a journal.
type File interface {
	io.Writer
	Sync() error
}

// Journal writes the stored events as lines of JSON and syncs the file after those that resume
// relies on. Its error is sticky: after one it writes nothing more, so that a journal is always a
// prefix of the events. Views see each event behind it, so that an event is encoded and masked once for all of them.
type Journal struct {
	file   File
	redact *Redactor
	views  []Handler

	mu  sync.Mutex
	err error
}

// NewJournal returns a journal on file that masks secrets.
func NewJournal(file File, redact *Redactor) *Journal {
	return &Journal{file: file, redact: redact}
}

// Show passes each later event on to a view, with the secrets in all its texts masked.
func (j *Journal) Show(view Handler) { j.views = append(j.views, view) }

// Handle writes one event and shows it.
func (j *Journal) Handle(e Event) {
	keep := infoOf(e.Type).Keep
	if keep == Shown && len(j.views) == 0 {
		return
	}
	line, err := json.Marshal(e)
	masked := j.redact.JSON(line)
	if keep != Shown {
		j.keep(e, masked, err, keep == Synced)
	}
	if err == nil {
		j.show(e, line, masked)
	}
}

// keep writes the line of an event.
func (j *Journal) keep(e Event, line []byte, err error, sync bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return
	}
	if err != nil {
		j.err = fmt.Errorf("encode event %d (%s): %w", e.Seq, e.Type, err)
		return
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		j.err = fmt.Errorf("write the journal: %w", err)
		return
	}
	if !sync {
		return
	}
	if err := j.file.Sync(); err != nil {
		j.err = fmt.Errorf("sync the journal: %w", err)
	}
}

// show passes an event without secrets on as it is. It drops an event that cannot be read from its masked form, rather
// than show a secret.
func (j *Journal) show(e Event, line, masked []byte) {
	if !bytes.Equal(masked, line) {
		var clean Event
		if json.Unmarshal(masked, &clean) != nil {
			return
		}
		e = clean
	}
	for _, view := range j.views {
		view.Handle(e)
	}
}

// Err returns the first error of the journal.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// maxLine limits a line of a journal. A run_end with all its histograms has some 10 KiB.
const maxLine = 16 << 20

// Read calls fn for every event of a journal and returns the number of bytes up to the end of its
// last valid line. Invalid data after that line is the torn end that a crash leaves. An invalid
// line before valid ones is an error, and so is a stream of another major version.
func Read(r io.Reader, fn func(Event) error) (good int64, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var offset int64
	var torn error
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return good, nil // a line without its newline is incomplete
		}
		if err != nil {
			return good, fmt.Errorf("journal, line %d: %w", n, err)
		}
		offset += int64(len(line))
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			if torn == nil {
				torn = fmt.Errorf("journal, line %d: %w", n, err)
			}
			continue
		}
		if torn != nil {
			return good, torn
		}
		if err := checkVersion(e); err != nil {
			return good, err
		}
		if err := fn(e); err != nil {
			return good, err
		}
		good = offset
	}
}

func checkVersion(e Event) error {
	if e.Type != Version {
		return nil
	}
	if major, _, _ := strings.Cut(e.Schema, "."); major != "1" {
		return fmt.Errorf("journal of version %q, this program reads %s: continue it with the program that wrote it", e.Schema, Schema)
	}
	return nil
}

// readLine returns the next line with its newline; io.EOF if no complete line is left.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("longer than %d bytes: not a line of a journal", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		default:
			return line, err
		}
	}
}
