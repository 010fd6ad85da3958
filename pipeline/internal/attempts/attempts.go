// Package attempts counts how often the same change was measured by the same file on this
// machine, so that running again until it is green does not work: see plan.Plan.Attempt.
// A change is a pull request, whatever its commits: each push to it is a further attempt.
//
//	l := attempts.Open(folder)
//	earlier, err := l.Earlier(attempts.Key{Change: "owner/name#7", Base: "main", File: p.File})
//	… run …
//	err = l.Note(key, attempts.Run{ID: id, Dir: dir, Time: now, Red: gates})
//
// It counts runs that were judged. It is a memory of the machine and no proof: whoever can
// write to the folder can forget. What it cannot see, the runner's own count of tries and
// --attempt say.
package attempts

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

// Key is what makes two runs attempts at the same.
type Key struct {
	// Change is the pull request, or the commit where none is known.
	Change string
	// Base is the branch that the change is for.
	Base string
	// File is the pipeline's, and Leg the part of a job that has several for the same file.
	File, Leg string
}

// Run that was judged.
type Run struct {
	ID   string    `json:"id"`
	Dir  string    `json:"dir"` // absolute
	Time time.Time `json:"time"`
	// Plan is the fingerprint of what was planned: only a run of the same can be gone on with.
	Plan string `json:"plan,omitempty"`
	// Red are the gates that found a regression.
	Red []string `json:"red,omitempty"`
}

// Ledger is a folder with one file for each key.
type Ledger struct{ dir string }

// Open names the folder. It need not exist.
func Open(dir string) Ledger { return Ledger{dir} }

// most runs of one key that are read.
const most = 1000

// maxLine bounds a line that is read.
const maxLine = 64 << 10

// Earlier are the runs of a key, oldest first. Lines that are no runs, as a full disk or
// a crash leaves them, are passed over.
func (l Ledger) Earlier(k Key) ([]Run, error) {
	f, err := os.Open(l.file(k))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading earlier attempts: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	var out []Run
	seen := map[string]bool{}
	lines := bufio.NewScanner(io.LimitReader(f, most*maxLine))
	lines.Buffer(nil, maxLine)
	for lines.Scan() && len(out) < most {
		var r Run
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.ID != "" && !seen[r.ID] {
			out = append(out, r)
			seen[r.ID] = true
		}
	}
	return out, nil
}

// Note adds a run. A run that is resumed has its ID already and counts once.
func (l Ledger) Note(k Key, r Run) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("noting the attempt: %w", err)
	}
	f, err := os.OpenFile(l.file(k), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("noting the attempt: %w", err)
	}
	// One write, and a line of its own whatever was cut off before it.
	_, err = f.Write(bytes.Join([][]byte{nil, line, nil}, []byte("\n")))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("noting the attempt: %w", err)
	}
	return nil
}

func (l Ledger) file(k Key) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "attempt/2 %q %q %q %q", k.Change, k.Base, k.File, k.Leg))
	return filepath.Join(l.dir, hex.EncodeToString(sum[:16])+".jsonl")
}
