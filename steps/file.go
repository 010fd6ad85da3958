package steps

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file that a process reads, such as an engine's configuration. The launcher writes it and passes
// its path in an environment variable, or in place of [File.Word] in the command line.
type File struct {
	// Name is a plain file name, unique in the process.
	Name string
	// EnvVar gets the file's path as the process sees it; "" for a file that only the command line names.
	EnvVar  string
	Content []byte
}

// Word returns the word of a command line that stands for the path of the file.
func (f File) Word() string { return "{file:" + f.Name + "}" }

// FilesIn returns a process whose environment and command line have the paths of its files, which are in a folder.
func FilesIn(p Process, dir string) Process {
	p.Argv = slices.Clone(p.Argv)
	for _, f := range p.Files {
		at := path.Join(dir, f.Name)
		if f.EnvVar != "" {
			p.Env = append(WithoutEnv(p.Env, f.EnvVar), EnvVar{Name: f.EnvVar, Value: at})
		}
		for i, word := range p.Argv {
			p.Argv[i] = strings.ReplaceAll(word, f.Word(), at)
		}
	}
	return p
}

// CheckFile returns an error if the name of a file could lead out of its folder.
func CheckFile(f File) error {
	if f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, "/\\\x00") {
		return fmt.Errorf("%q is not a plain file name", f.Name)
	}
	return nil
}

// WriteFiles writes the files of a process into a new folder on this machine. It returns the folder, "" if
// there are no files, and the process with the paths of the files, which override variables of the same name.
// folder creates an empty folder for a process of that name; if it is nil, a process with files is an error.
func WriteFiles(p Process, folder func(name string) (string, error)) (dir string, placed Process, err error) {
	if len(p.Files) == 0 {
		return "", p, nil
	}
	if folder == nil {
		return "", p, errors.New("it needs files, and nothing says where to write them")
	}
	if dir, err = folder(p.Name); err != nil {
		return "", p, err
	}
	for _, f := range p.Files {
		if err := CheckFile(f); err != nil {
			return "", p, err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Content, 0o600); err != nil {
			return "", p, fmt.Errorf("write its files: %w", err)
		}
	}
	return dir, FilesIn(p, dir), nil
}
