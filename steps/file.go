package steps

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is what a process finds on its disk: a configuration that an engine wants as a
// file. The launcher writes it where the process can read it and says where in an
// environment variable.
type File struct {
	// Name is a plain file name, unique in the process.
	Name string
	// EnvVar gets the file's path as the process sees it.
	EnvVar  string
	Content []byte
}

// CheckFile fails if the name of a file could lead out of the folder that it is meant for.
func CheckFile(f File) error {
	if f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, "/\\\x00") {
		return fmt.Errorf("%q is not a plain file name", f.Name)
	}
	return nil
}

// WriteFiles writes the files of a process into a new folder on this machine. It returns the
// folder, "" if there are no files, and the process's environment with their paths, which
// take the place of what it says. folder makes an empty folder for a process of that name;
// where it is nil, a process with files is refused.
func WriteFiles(p Process, folder func(name string) (string, error)) (dir string, env []EnvVar, err error) {
	if len(p.Files) == 0 {
		return "", p.Env, nil
	}
	if folder == nil {
		return "", nil, errors.New("it needs files, and nothing says where to write them")
	}
	if dir, err = folder(p.Name); err != nil {
		return "", nil, err
	}
	env = slices.Clone(p.Env)
	for _, f := range p.Files {
		if err := CheckFile(f); err != nil {
			return "", nil, err
		}
		path := filepath.Join(dir, f.Name)
		if err := os.WriteFile(path, f.Content, 0o600); err != nil {
			return "", nil, fmt.Errorf("write its files: %w", err)
		}
		if f.EnvVar != "" {
			env = slices.DeleteFunc(env, func(e EnvVar) bool { return e.Name == f.EnvVar })
			env = append(env, EnvVar{Name: f.EnvVar, Value: path})
		}
	}
	return dir, env, nil
}
