package convert

import (
	"cmp"
	"errors"
	"fmt"
	"io"
)

// ReadOptions control Read. The zero value is usable.
type ReadOptions struct {
	// Tools whose files are read; default StandardTools.
	Tools Tools
	// Tool that measured a table or a CSV file that does not name one.
	Tool string
	// Records requests Run.Records from files with every request.
	Records bool
	// Limits of accepted files; a zero field means its default.
	Limits Limits
}

// Limits bound what Read accepts, because files are untrusted.
type Limits struct {
	Bytes  int64 // of the whole file, 16 GiB
	Line   int   // bytes read of a line of text, 1 MiB
	Runs   int   // results in one file, 10,000
	Values int   // values of one JSON object, without the arrays over requests, 1,000,000
	Depth  int   // of nested JSON, 32
	String int   // bytes kept of one JSON string, 64 KiB
	// Requests and Events bound the records of one run: 2,000,000 and 16,000,000 (about 1.5 GB
	// until they are reduced). For a larger run the aggregates of the file are used.
	Requests, Events int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Bytes: cmp.Or(l.Bytes, 16<<30), Line: cmp.Or(l.Line, 1<<20), Runs: cmp.Or(l.Runs, 10_000), Values: cmp.Or(l.Values, 1_000_000),
		Depth: cmp.Or(l.Depth, 32), String: cmp.Or(l.String, 64<<10), Requests: cmp.Or(l.Requests, 2_000_000),
		Events: cmp.Or(l.Events, 16_000_000),
	}
}

// Errors that an error of Read may wrap (errors.Is).
var (
	// ErrLimit: the file exceeds the Limits.
	ErrLimit = errors.New("beyond a limit")
	// ErrNoResult: the file has no known result.
	ErrNoResult = errors.New("no result found")
	// ErrOurs: the file is a result document, which needs no import.
	ErrOurs = errors.New("already a result document")
)

// Read reads every result of a file, which may be compressed with gzip or be a container log of
// Docker. The name is used for messages and Run.Source. The error has the file and the line; its
// cause may be ErrNoResult, ErrLimit or ErrOurs.
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

// newRun returns an empty result.
func (opt ReadOptions) newRun(format Format, tool, source string, line int) *Run {
	return &Run{Source: source, Line: line, Format: format, Tool: tool, tools: opt.Tools}
}
