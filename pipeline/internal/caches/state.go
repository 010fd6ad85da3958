// Package caches tells in which state a cache is that servers keep from launch to launch.
package caches

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/servegate/pipeline/reports/result"
)

// most is how many files of a cache are looked at: more is no cache of compiled code.
const most = 1_000_000

// State is the state of a folder: its files, their bytes, and a digest of their names and sizes. What is in
// them is not read. Folders are looked into in the order of their names, which makes the digest one of the
// content alone.
func State(folder string) (result.CacheState, error) {
	var out result.CacheState
	sum := sha256.New()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if out.Files++; out.Files > most {
			return fmt.Errorf("%s has more than %d files", folder, most)
		}
		out.Bytes += int(info.Size())
		fmt.Fprintf(sum, "%q %d\n", filepath.ToSlash(name), info.Size())
		return nil
	})
	if err != nil {
		return result.CacheState{}, err
	}
	out.Digest = hex.EncodeToString(sum.Sum(nil))[:16]
	return out, nil
}
