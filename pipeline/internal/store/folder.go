package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
)

// filesDir holds what processes of launches read and write: one folder for each start.
const filesDir = "files"

// maxFolders bounds the starts of one name.
const maxFolders = 10_000

// Folder makes files/NAME, or files/NAME-2 and so on where that is there already, and
// returns its absolute path. It is the owner's alone.
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
