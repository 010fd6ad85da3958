package history

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Change identifies what was measured repeatedly: a change to the code.
type Change struct {
	// ID is the pull request, or the commit if none is known.
	ID string
	// Base is the branch that the change is for.
	Base string
	// File is the pipeline file, and Leg the part of a job that has several for one file.
	File, Leg string
}

// Attempt is a run that was judged.
type Attempt struct {
	ID   string    `json:"id"`
	Dir  string    `json:"dir"` // absolute
	Time time.Time `json:"time"`
	// Plan is the fingerprint of the plan. Only a run of the same plan can be resumed.
	Plan string `json:"plan,omitempty"`
	// Red are the gates that found a regression.
	Red []string `json:"red,omitempty"`
}

// Attempts counts the runs of one file that judged the same change on this machine, so that
// re-running until it passes does not help: see plan.Plan.Attempt. Each push to a pull request is a
// further attempt at the same change.
//
//	l := history.Attempts{Dir: folder}
//	earlier, err := l.Earlier(history.Change{ID: "owner/name#7", Base: "main", File: p.File})
//	… run …
//	err = l.Note(change, history.Attempt{ID: id, Dir: dir, Time: now, Red: gates})
//
// Anyone who can write to the folder can delete attempts. The runner's own count and --attempt
// cover attempts that are not in it.
type Attempts struct {
	// Dir has one file for each change. It need not exist.
	Dir string
}

const (
	maxAttempts = 1000     // to read for one change
	maxAttempt  = 64 << 10 // bytes
)

// Earlier returns the attempts at a change, oldest first. It skips broken lines after a full disk
// or a crash. With an error it returns the attempts that were read before it.
func (a Attempts) Earlier(c Change) ([]Attempt, error) {
	f, err := os.Open(a.file(c))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading earlier attempts: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	var out []Attempt
	seen := map[string]bool{}
	lines := bufio.NewScanner(io.LimitReader(f, maxAttempts*maxAttempt))
	lines.Buffer(nil, maxAttempt)
	for lines.Scan() && len(out) < maxAttempts {
		var read Attempt
		if json.Unmarshal(lines.Bytes(), &read) == nil && read.ID != "" && !seen[read.ID] {
			out = append(out, read)
			seen[read.ID] = true
		}
	}
	if err := lines.Err(); err != nil {
		return out, fmt.Errorf("reading earlier attempts: %w", err)
	}
	return out, nil
}

// Note adds an attempt. A run that is resumed keeps its ID and counts once.
func (a Attempts) Note(c Change, attempt Attempt) error {
	line, err := json.Marshal(attempt)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return fmt.Errorf("noting the attempt: %w", err)
	}
	f, err := os.OpenFile(a.file(c), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("noting the attempt: %w", err)
	}
	// One write that begins a new line, in case the previous one was cut off.
	_, err = f.Write(bytes.Join([][]byte{nil, line, nil}, []byte("\n")))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("noting the attempt: %w", err)
	}
	return nil
}

func (a Attempts) file(c Change) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "attempt/2 %q %q %q %q", c.ID, c.Base, c.File, c.Leg))
	return filepath.Join(a.Dir, hex.EncodeToString(sum[:16])+".jsonl")
}
