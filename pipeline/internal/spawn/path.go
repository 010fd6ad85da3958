//go:build unix

package spawn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// lookPath finds a program as the child's shell would: a plain name in the PATH of env, a path with a slash
// relative to dir. It never searches dir for a plain name.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if dir != "" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if err := executable(path); err != nil {
			return "", err
		}
		return filepath.Abs(path)
	}
	for _, folder := range filepath.SplitList(Getenv(env)("PATH")) {
		if !filepath.IsAbs(folder) {
			continue // a relative entry would make the result depend on the working directory
		}
		path := filepath.Join(folder, name)
		if executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: no such program in PATH; install it or give its full path", fs.ErrNotExist)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("is a folder")
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%w: the file is not executable", fs.ErrPermission)
	}
	return nil
}
