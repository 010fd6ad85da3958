package history

import (
	"fmt"
	"os"

	"github.com/google/renameio/v2"
)

// Save writes a record to a separate file, in the format of the history.
func Save(path string, r Record) error {
	content, err := encode(r)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("saving the record: %w", err)
	}
	return nil
}

// Read reads a record from a separate file.
func Read(path string) (Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return Record{}, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	r := Record{}
	content, err := bounded(f)
	if err == nil {
		r, err = decode(content)
	}
	if err != nil {
		return Record{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
