package steps

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// File is a file that a process reads, such as an engine's configuration. The launcher writes it and passes
// its path in an environment variable.
type File struct {
	// Name is a plain file name, unique in the process.
	Name string
	// EnvVar gets the file's path as the process sees it.
	EnvVar  string
	Content []byte
}

// FilesIn is the environment of a process with the paths of its files, which are in a folder.
func FilesIn(p Process, dir string) []EnvVar {
	env := p.Env
	for _, f := range p.Files {
		if f.EnvVar != "" {
			env = append(WithoutEnv(env, f.EnvVar), EnvVar{Name: f.EnvVar, Value: path.Join(dir, f.Name)})
		}
	}
	return env
}

// CheckFile returns an error if the name of a file could lead out of its folder.
func CheckFile(f File) error {
	if f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, "/\\\x00") {
		return fmt.Errorf("%q is not a plain file name", f.Name)
	}
	return nil
}

// WriteFiles writes the files of a process into a new folder on this machine. It returns the folder, "" if
// there are no files, and the process's environment with the paths of the files, which override variables of
// the same name. folder creates an empty folder for a process of that name; if it is nil, a process with
// files is an error.
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
	for _, f := range p.Files {
		if err := CheckFile(f); err != nil {
			return "", nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Content, 0o600); err != nil {
			return "", nil, fmt.Errorf("write its files: %w", err)
		}
	}
	return dir, FilesIn(p, dir), nil
}
