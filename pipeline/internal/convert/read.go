package convert

import (
	"cmp"
	"errors"
	"fmt"
	"io"
)

// ReadOptions bound and direct Read. The zero value is usable.
type ReadOptions struct {
	// Tools whose files are read; StandardTools unless set.
	Tools Tools
	// Tool that measured what a table or a CSV file shows, where the file does not say.
	Tool string
	// Records asks for Run.Records from files that hold every request.
	Records bool
	// Limits of what is accepted; a zero field means its default.
	Limits Limits
}

// Limits bound what Read accepts, because a file may come from anywhere.
type Limits struct {
	Bytes  int64 // of the whole file, 16 GiB
	Line   int   // bytes of a line of text that are read, 1 MiB
	Runs   int   // results in one file, 10,000
	Values int   // values of one JSON object besides the arrays over requests, 1,000,000
	Depth  int   // of nested JSON, 32
	String int   // bytes of one JSON string that are kept, 64 KiB
	// Requests and Events are those of one run that are kept as records: 2,000,000 and
	// 16,000,000 (about 1.5 GB while they are reduced). Of a larger run the file's own aggregates are kept.
	Requests, Events int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Bytes: cmp.Or(l.Bytes, 16<<30), Line: cmp.Or(l.Line, 1<<20), Runs: cmp.Or(l.Runs, 10_000), Values: cmp.Or(l.Values, 1_000_000),
		Depth: cmp.Or(l.Depth, 32), String: cmp.Or(l.String, 64<<10), Requests: cmp.Or(l.Requests, 2_000_000),
		Events: cmp.Or(l.Events, 16_000_000),
	}
}

// Errors that an error of Read can be compared with (errors.Is).
var (
	// ErrLimit: beyond the Limits.
	ErrLimit = errors.New("beyond a limit")
	// ErrNoResult: nothing in the file is a result that is known here.
	ErrNoResult = errors.New("no result found")
	// ErrOurs: the file is a result document, which needs no import.
	ErrOurs = errors.New("already a result document")
)

// Read reads every result in a file, which may be compressed with gzip or be the log of a
// container as Docker keeps it. The name is that of the file, for messages, and for
// Run.Source. The error names the file and the line; its cause may be ErrNoResult,
// ErrLimit or ErrOurs.
func Read(r io.Reader, name string, opt ReadOptions) ([]Run, error) {
	opt.Limits = opt.Limits.withDefaults()
	if opt.Tools == nil {
		opt.Tools = standard
	}
	buf, plain, limited, err := opened(r, name, opt.Limits.Bytes+1)
	if err != nil {
		return nil, err
	}
	head, err := buf.Peek(detectBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	runs, err := formatOf(plain, head).read(buf, name, opt)
	if limited.N <= 0 {
		return nil, fmt.Errorf("%s: more than %d bytes: %w", name, opt.Limits.Bytes, ErrLimit)
	}
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%s: %w: it has no block, table or file of a known load generator", name, ErrNoResult)
	}
	return runs, nil
}

// newRun begins a result.
func (opt ReadOptions) newRun(format Format, tool, source string, line int) *Run {
	return &Run{Source: source, Line: line, Format: format, Tool: tool, tools: opt.Tools}
}
