package target

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/servegate/pipeline/reports/result"
)

// mostCached is the largest number of files of a cache that cacheState accepts. A cache of compiled code has fewer.
const mostCached = 1_000_000

// cacheState returns the state of a cache that servers keep from launch to launch: its files, their bytes, and a digest of
// their names and sizes. It does not read what is in them. It visits folders in the order of their names, so that the
// digest depends on the content alone.
func cacheState(folder string) (result.CacheState, error) {
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
		if out.Files++; out.Files > mostCached {
			return fmt.Errorf("%s has more than %d files", folder, mostCached)
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
