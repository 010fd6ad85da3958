package event

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// File is what a journal is written to.
type File interface {
	io.Writer
	Sync() error
}

// Journal writes the stored events as lines of JSON and syncs the file after those that
// resume relies on. Its error is sticky: after one nothing more is written, so that a
// journal is always a prefix of what happened.
type Journal struct {
	file   File
	redact *Redactor

	mu  sync.Mutex
	err error
}

// NewJournal returns a journal on file, in which secrets are masked.
func NewJournal(file File, redact *Redactor) *Journal {
	return &Journal{file: file, redact: redact}
}

// Handle writes one event.
func (j *Journal) Handle(e Event) {
	keep := infoOf(e.Type).Keep
	if keep == Shown {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return
	}
	line, err := json.Marshal(e)
	if err != nil {
		j.err = fmt.Errorf("encode event %d (%s): %w", e.Seq, e.Type, err)
		return
	}
	if _, err := j.file.Write(append(j.redact.JSON(line), '\n')); err != nil {
		j.err = fmt.Errorf("write the journal: %w", err)
		return
	}
	if keep != Synced {
		return
	}
	if err := j.file.Sync(); err != nil {
		j.err = fmt.Errorf("sync the journal: %w", err)
	}
}

// Err returns the first error of the journal.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}
