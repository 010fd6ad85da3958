package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// dirStore stores records in a directory.
type dirStore struct{ path string }

func openDir(path string) (Store, error) {
	if path == "" {
		return nil, errors.New("the history needs a place: a directory, or git:REMOTE#BRANCH")
	}
	return dirStore{path}, nil
}

// Append writes a temporary file and links it to its name, which fails if the name exists. Two
// writers never overwrite each other, and a reader only sees whole files.
func (d dirStore) Append(_ context.Context, name string, content []byte) error {
	dir := filepath.Join(d.path, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the history's directory: %w", err)
	}
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return fmt.Errorf("writing to the history: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // the linked name stays
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Link(tmp.Name(), filepath.Join(dir, name))
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w", name, ErrExists)
	case err != nil:
		return fmt.Errorf("writing to the history: %w", err)
	}
	return nil
}

// Read reads every record. A missing directory is an empty history.
func (d dirStore) Read(context.Context) ([]File, error) {
	root, err := os.OpenRoot(filepath.Join(d.path, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // opened for reading
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var out []File
	for _, e := range entries {
		if !isRecord(e.Name()) {
			continue
		}
		f := File{Name: e.Name()}
		if e.Type().IsRegular() {
			f.Content, f.Err = readBounded(root, e.Name())
		} else {
			f.Err = errors.New("it is not a regular file")
		}
		out = append(out, f)
	}
	return out, nil
}

func readBounded(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return bounded(f)
}

// bounded reads a record, and returns an error if it is larger than any session writes.
func bounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRecord+1))
	if err == nil && len(data) > maxRecord {
		return nil, fmt.Errorf("it has more than %d bytes", maxRecord)
	}
	return data, err
}

func (dirStore) Close() error { return nil }
