package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/google/renameio/v2"
	"github.com/servegate/pipeline/pipeline/internal/event"
)

// maxFile is the largest size of a file to read into memory, in bytes.
const maxFile = 256 << 20

// WriteFile writes a text file outside of a run directory atomically, with secrets masked. If write fails, the file stays as it was.
func WriteFile(name string, redact *event.Redactor, write func(io.Writer) error) error {
	file, err := renameio.NewPendingFile(name, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer func() { _ = file.Cleanup() }() // does nothing after a replace
	masked := redact.FileWriter(name, file)
	if err := errors.Join(write(masked), masked.Close()); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}

// WriteFile writes a text file atomically, with secrets masked. name is a path below the directory.
func (d *Dir) WriteFile(name string, write func(io.Writer) error) error {
	return d.atomic(name, func(w io.Writer) error {
		masked := d.redact.FileWriter(name, w)
		return errors.Join(write(masked), masked.Close())
	})
}

// WriteJSON writes v as indented JSON, like WriteFile.
func (d *Dir) WriteJSON(name string, v any) error {
	return d.WriteFile(name, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	})
}

// ReadJSON reads a file written by WriteJSON.
func (d *Dir) ReadJSON(name string, v any) error {
	f, err := d.root.Open(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	if err := json.NewDecoder(io.LimitReader(f, maxFile)).Decode(v); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// WriteRecords writes the records of one run and returns their path below the directory. The content is
// compressed, so the caller must have masked its secrets.
func (d *Dir) WriteRecords(name string, write func(io.Writer) error) (string, error) {
	file := path.Join(recordsDir, Name(name)+".jsonl.gz")
	if d.modelled {
		return file, d.write(file, write)
	}
	return file, d.atomic(file, write)
}

// write writes a file in its place. Only a reader that waits for the journal's event of it finds it whole.
func (d *Dir) write(name string, write func(io.Writer) error) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path.Join(d.path, name), err)
	}
	if err := errors.Join(buffered(f, write), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path.Join(d.path, name), err)
	}
	return nil
}

// buffers holds writers between the records of runs.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// buffered writes to w through a buffer. It returns the error of the last flush, where a full disk often shows.
func buffered(w io.Writer, write func(io.Writer) error) error {
	buf, _ := buffers.Get().(*bufio.Writer)
	defer buffers.Put(buf)
	buf.Reset(w)
	if err := write(buf); err != nil {
		return err
	}
	return buf.Flush()
}

// WriteSource stores a copy of a pipeline file.
func (d *Dir) WriteSource(name string, content []byte) error {
	return d.WriteFile(path.Join(sourceDir, Name(path.Base(name))), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteBeside stores a file that the pipeline file read, by its path relative to the pipeline file's folder.
func (d *Dir) WriteBeside(name string, content []byte) error {
	name = path.Join(besideDir, filepath.ToSlash(name))
	if err := d.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	return d.WriteFile(name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// atomic writes a temporary file, syncs it and renames it.
func (d *Dir) atomic(name string, write func(io.Writer) error) error {
	err := d.replace(name, write)
	if err != nil {
		return fmt.Errorf("write %s: %w", path.Join(d.path, name), err)
	}
	return nil
}

func (d *Dir) replace(name string, write func(io.Writer) error) (err error) {
	// renameio creates its temporary file at the root of the directory.
	f, err := renameio.NewPendingFile(name, renameio.WithRoot(d.root), renameio.WithPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Cleanup()) }()
	if err := buffered(f, write); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
