package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
)

// write writes the result and its reports, and emits their paths. An error means that the result itself is
// lost.
func (s *session) write(context.Context) error {
	written, missed, err := s.writeAll(s.doc)
	s.warnAll(missed)
	for _, path := range written {
		s.bus.Emit(event.Event{Type: event.ReportDone, Path: path})
	}
	return err
}

// writeAll writes results.json and the reports into the run directory, then the file's report blocks and the
// runner's step summary. It tries each even if another failed. It returns the paths written, and warnings about
// reports that failed: such a failure does not affect the verdict or how the run ends. An error means that the
// result itself is lost.
func (s *session) writeAll(doc *result.Document) (written, warnings []string, err error) {
	missed := func(what string, err error) {
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("%s was not written: %v", what, err))
		}
	}
	kept := s.opt.Formats.Kept()
	for i, failed := range s.writeKept(kept, doc) {
		switch file := kept[i].File(); {
		case failed == nil:
			written = append(written, filepath.Join(s.dir.Path(), file))
		case file == store.ResultsFile:
			err = fmt.Errorf("writing %s: %w; once that is mended, the same command with --resume --out %s goes on from what was measured",
				file, failed, s.dir.Path())
		default:
			missed(file, failed)
		}
	}
	for _, r := range s.opt.Plan.Config.Reports {
		failed := publish.Contained(func() error {
			paths, err := s.block(r, doc)
			written = append(written, paths...)
			return err
		})
		missed("a report of "+r.Addr, failed)
	}
	missed("the step summary", publish.Contained(func() error { return s.summaries(doc) }))
	return written, warnings, err
}

// writeKept writes a document in formats, two at a time, since each takes memory. Pages take longest and begin first. It
// returns the error of each.
func (s *session) writeKept(formats []reports.Format, doc *result.Document) []error {
	result.Complete(doc)
	failed := make([]error, len(formats))
	var all sync.WaitGroup
	free := make(chan struct{}, 2)
	start := func(i int, f reports.Format) {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			failed[i] = s.dir.WriteFile(f.File(), func(w io.Writer) error {
				return publish.Contained(func() error { return f.Document(w, doc, reports.Options{}) })
			})
		})
	}
	for _, pages := range []bool{true, false} {
		for i, f := range formats {
			if f.Page == pages {
				start(i, f)
			}
		}
	}
	all.Wait()
	return failed
}

// summaries writes the runner's step summary, from the file's summary blocks if there are any.
func (s *session) summaries(doc *result.Document) error {
	if s.opt.Summary == "" {
		return nil
	}
	var blocks []reports.Options
	for _, r := range s.opt.Plan.Config.Reports {
		if r.Kind == "summary" {
			blocks = append(blocks, ReportOptions(r))
		}
	}
	if blocks == nil {
		blocks = []reports.Options{{}}
	}
	var errs []error
	for _, opt := range blocks {
		errs = append(errs, reports.Summary(s.opt.Summary, doc, opt, s.redact.Bytes))
	}
	return errors.Join(errs...)
}

// ReportOptions returns the options of a report block.
func ReportOptions(r *config.Report) reports.Options {
	return reports.Options{Gates: r.Gates, Rows: r.Rows, Cols: r.Cols}
}

// block writes the files of one report block.
func (s *session) block(r *config.Report, doc *result.Document) ([]string, error) {
	if r.Kind != "file" {
		return nil, nil // other kinds write no files here
	}
	opt := ReportOptions(r)
	var written []string
	var errs []error
	for _, name := range r.Formats {
		f, ok := s.opt.Formats.OfDocuments().Lookup(name)
		if !ok {
			errs = append(errs, fmt.Errorf("%s: unknown format %q", r.Addr, name))
			continue
		}
		path, err := s.blockFile(r, f, doc, opt)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Addr, err))
			continue
		}
		if path != "" {
			written = append(written, path)
		}
	}
	return written, errors.Join(errs...)
}

// blockFile writes one format of a report block: to the block's path, or into the run directory, which always
// gets the default formats.
func (s *session) blockFile(r *config.Report, f reports.Format, doc *result.Document, opt reports.Options) (string, error) {
	if r.Path == "" {
		plain := len(r.Gates)+len(r.Rows) == 0 && r.Cols == ""
		if plain && f.Kept {
			return "", nil // always written
		}
		file := store.Name(strings.TrimPrefix(r.Addr, "report.file.") + "-" + f.File())
		err := s.dir.WriteFile(file, func(w io.Writer) error { return f.Document(w, doc, opt) })
		return filepath.Join(s.dir.Path(), file), err
	}
	path := r.Path
	if len(r.Formats) > 1 || filepath.Ext(path) == "" {
		path = filepath.Join(r.Path, f.File())
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, store.WriteFile(path, s.redact, func(w io.Writer) error { return f.Document(w, doc, opt) })
}
