package syntax

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/regular"
)

// Names of pipeline files in a directory: those of the first row that any file has.
var suffixes = [][]string{
	{".pipeline.hcl", ".pipeline.hcl.json", ".pipeline.json"},
	{".hcl", ".hcl.json"},
}

// IsPipelineFile reports whether a file is one that a directory stands for.
func IsPipelineFile(name string) bool {
	return slices.ContainsFunc(suffixes, func(row []string) bool { return endsIn(name, row) })
}

func endsIn(name string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// expand replaces directories by the files in them.
func expand(paths []string) ([]string, hcl.Diagnostics) {
	if len(paths) == 0 {
		return nil, hcl.Diagnostics{problem(CodeNone, "no pipeline file is named",
			"Name a file, a directory that holds *.pipeline.hcl files, or - for standard input.")}
	}
	var names []string
	var diags hcl.Diagnostics
	for _, path := range paths {
		if path == "-" {
			names = append(names, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			names = append(names, path) // read says what is wrong with it
			continue
		}
		inside, d := list(path)
		if d != nil {
			diags = append(diags, d)
		}
		names = append(names, inside...)
	}
	return names, diags
}

// list names the pipeline files of a directory. os.ReadDir sorts by name.
func list(dir string) ([]string, *hcl.Diagnostic) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, problem(CodeRead, "directory cannot be read", fmt.Sprintf("%s: %s.", dir, reason(err)))
	}
	for _, row := range suffixes {
		var names []string
		for _, e := range entries {
			if endsIn(e.Name(), row) && !strings.HasPrefix(e.Name(), ".") && !e.IsDir() {
				names = append(names, filepath.Join(dir, e.Name()))
			}
		}
		if len(names) > 0 {
			return names, nil
		}
	}
	return nil, problem(CodeNone, "no pipeline file in the directory",
		fmt.Sprintf("%s holds no file whose name ends in %s.", dir, strings.Join(slices.Concat(suffixes...), ", ")))
}

// read reads one file, or stdin for "-", within the limit of size.
func read(name string, stdin io.Reader) ([]byte, hcl.Diagnostics) {
	src, err := readAll(name, stdin)
	if err != nil {
		detail := fmt.Sprintf("%s: %s.", name, reason(err))
		if wrong, ok := errors.AsType[*regular.Error](err); ok {
			detail = fmt.Sprintf("%s. Write its text to a file, or to standard input with - as the name.", wrong)
		}
		if errors.Is(err, fs.ErrNotExist) {
			detail += " Check the spelling and the working directory."
		}
		return nil, hcl.Diagnostics{problem(CodeRead, "file cannot be read", detail)}
	}
	if len(src) > MaxFileSize {
		return nil, hcl.Diagnostics{problem(CodeSize, "file is too large",
			fmt.Sprintf("%s has more than %d bytes. Keep data in files of its own and refer to them.", name, MaxFileSize))}
	}
	return src, nil
}

func readAll(name string, stdin io.Reader) ([]byte, error) {
	r := stdin
	if name != "-" {
		f, err := regular.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		r = f
	}
	if r == nil {
		return nil, errors.New("there is no standard input")
	}
	return io.ReadAll(io.LimitReader(r, MaxFileSize+1))
}

// reason is what the system said, without the operation and the path, which the
// sentence around it names.
func reason(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
