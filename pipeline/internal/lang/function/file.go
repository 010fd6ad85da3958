package function

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// MaxFile is the size of the largest file that file reads, in bytes.
const MaxFile = 1 << 20

func fileEntries(baseDir string, m *meter.Meter) []entry {
	return []entry{
		{name: "file", f: fileFunc(baseDir), doc: "The text of a file in the directory of the pipeline file or below it, at most 1 MiB of UTF-8.",
			args: []string{"The path, relative to the pipeline file."}},
		{name: "templatefile", f: templateFunc(baseDir, m), doc: "The text of a file with its ${ } and %{ } evaluated, where the names of a map are known. All functions but file and templatefile can be called.",
			args: []string{"The path, relative to the pipeline file.", "A map or object of the names that the template uses."}},
	}
}

func fileFunc(baseDir string) function.Function {
	return function.New(&function.Spec{
		Params:       []function.Parameter{{Name: "path", Type: cty.String}},
		Type:         function.StaticReturnType(cty.String),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			content, err := readBelow(baseDir, args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(content), nil
		},
	})
}

// readBelow reads a text file below dir. os.Root refuses every way out of it, also that
// of symbolic links.
func readBelow(dir, name string) (string, error) {
	if filepath.IsAbs(name) {
		return "", fmt.Errorf("%q is absolute: write a path relative to the pipeline file", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open the directory of the pipeline file: %w", err)
	}
	defer func() { _ = root.Close() }()
	// Asked before opening: to open a named pipe is to wait for its writer.
	info, err := root.Stat(name)
	if err != nil {
		return "", fileError(name, err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%q is not a regular file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", fileError(name, err)
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	switch {
	case err != nil:
		return "", fileError(name, err)
	case len(content) > MaxFile:
		return "", fmt.Errorf("%q has more than %d bytes", name, MaxFile)
	case !utf8.Valid(content):
		return "", fmt.Errorf("%q is not UTF-8 text", name)
	}
	return string(content), nil
}

func fileError(name string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %q beside the pipeline file", name)
	}
	return fmt.Errorf("read %q: %w (only files in the directory of the pipeline file can be read)", name, err)
}
