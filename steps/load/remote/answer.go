package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

// answerFile holds the result of the run.
const answerFile = "answer.json"

// maxAnswer is its largest size in bytes, enough for records of many millions of tokens.
const maxAnswer = 8 << 30

// answer is the result of a run.
type answer struct {
	Run    record.Run  `json:"run"`
	Warmup record.List `json:"warmup"`
	// After is the time from the begin signal to the zero of Run's times, in nanoseconds; nil if the run did
	// not begin. It is a duration, because the clocks of two nodes differ.
	After *int64 `json:"after,omitempty"`
	// Fault is the error of [load.Run], "" for none; Kind is the kind of error that the caller must
	// distinguish.
	Fault string `json:"fault,omitempty"`
	Kind  string `json:"kind,omitempty"`
}

// The kinds of faults.
const (
	faultStopped     = "stopped"     // interrupted
	faultDataset     = "dataset"     // a *dataset.InvalidError
	faultUnsupported = "unsupported" // steps.ErrUnsupported
)

func newAnswer(ctx context.Context, got load.Result, err error, begun time.Time) answer {
	a := answer{Run: got.Run, Warmup: got.Warmup}
	if !begun.IsZero() && !got.Start.IsZero() {
		after := int64(got.Start.Sub(begun))
		a.After = &after
	}
	if err == nil {
		return a
	}
	a.Fault = err.Error()
	invalid, isInvalid := errors.AsType[*dataset.InvalidError](err)
	switch {
	case ctx.Err() != nil:
		a.Kind = faultStopped
	case isInvalid:
		a.Kind, a.Fault = faultDataset, invalid.Reason
	case errors.Is(err, steps.ErrUnsupported):
		a.Kind = faultUnsupported
	}
	return a
}

// err returns the fault as [load.Run] returns it.
func (a answer) err() error {
	switch {
	case a.Fault == "":
		return nil
	case a.Kind == faultDataset:
		return &dataset.InvalidError{Reason: a.Fault}
	case a.Kind == faultUnsupported:
		return steps.Unsupported("", a.Fault)
	}
	return errors.New(a.Fault)
}

// result returns the answer as [load.Run] returns it. begun is when the caller learned that the run had begun.
func (a answer) result(begun time.Time) load.Result {
	got := load.Result{Run: a.Run, Warmup: a.Warmup}
	if a.After != nil && !begun.IsZero() {
		got.Start = begun.Add(time.Duration(*a.After))
	}
	return got
}

// write writes the answer atomically, readable by its owner only, and returns its SHA-256.
func (a answer) write(folder string) (sum string, err error) {
	text, err := json.Marshal(a)
	if err == nil {
		err = renameio.WriteFile(filepath.Join(folder, answerFile), text, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("write what was recorded: %w", err)
	}
	return sumOf(text), nil
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// How long a shared file system may take to show here a file written elsewhere.
const (
	answerWait    = 20 * time.Second
	interruptWait = time.Second // if the run was interrupted
	answerPoll    = 100 * time.Millisecond
)

// awaitAnswer waits for the answer with the given SHA-256 and reads it.
func awaitAnswer(folder, sum string, wait time.Duration) (answer, error) {
	for limit := time.Now().Add(wait); ; time.Sleep(answerPoll) {
		a, err := readAnswer(folder, sum)
		if err == nil || time.Now().After(limit) {
			return a, err
		}
	}
}

func readAnswer(folder, sum string) (answer, error) {
	text, err := readBounded(filepath.Join(folder, answerFile), maxAnswer)
	if err != nil {
		return answer{}, fmt.Errorf("what it recorded cannot be read: %w", err)
	}
	if sumOf(text) != sum {
		return answer{}, errors.New("what it recorded is not what it wrote: the file system lost some of it")
	}
	return parseAnswer(text)
}

func parseAnswer(text []byte) (answer, error) {
	var a answer
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&a); err != nil {
		return answer{}, fmt.Errorf("what it recorded: %w", err)
	}
	return a, nil
}

// readBounded reads a file of at most the given size.
func readBounded(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d MiB", path, most>>20)
	}
	return text, err
}
