package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
)

// filesDir contains a folder for each start, with the files that processes read and write.
const filesDir = "files"

// maxFolders is the largest number of starts with one name.
const maxFolders = 10_000

// Folder creates files/NAME, or files/NAME-2 and so on if it exists, and returns its absolute path. Only the
// owner can access it.
func (d *Dir) Folder(name string) (string, error) {
	if err := d.root.MkdirAll(filesDir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for files: %w", err)
	}
	for n := 1; n <= maxFolders; n++ {
		sub := Name(name)
		if n > 1 {
			sub = fmt.Sprintf("%s-%d", sub, n)
		}
		sub = path.Join(filesDir, sub)
		err := d.root.Mkdir(sub, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make a folder for files: %w", err)
		}
		return filepath.Abs(filepath.Join(d.path, sub))
	}
	return "", fmt.Errorf("%s has %d folders of %s already; choose another --out", filesDir, maxFolders, name)
}
