package function

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// MaxFile is the size of the largest file that the function file reads, in bytes.
const MaxFile = 1 << 20

func fileEntries(baseDir string, m *meter.Meter, read func(name, text string)) []entry {
	file := pure(cty.String, func(args []cty.Value) (cty.Value, error) {
		content, err := readBelow(baseDir, args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		read(args[0].AsString(), content)
		return cty.StringVal(content), nil
	}, param("path", cty.String))
	return []entry{
		{name: "file", f: file, doc: "The text of a file in the directory of the pipeline file or below it, at most 1 MiB of UTF-8.",
			args: []string{"The path, relative to the pipeline file."}},
		{name: "templatefile", f: templateFunc(baseDir, m, read), doc: "The text of a file with its ${ } and %{ } evaluated, where the names " +
			"of a map are known. All functions but file and templatefile can be called.",
			args: []string{"The path, relative to the pipeline file.", "A map or object of the names that the template uses."}},
	}
}

// readBelow reads a text file below dir. os.Root rejects every path that leads outside, including
// symbolic links.
func readBelow(dir, name string) (string, error) {
	if filepath.IsAbs(name) {
		return "", fmt.Errorf("%q is absolute: write a path relative to the pipeline file", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open the directory of the pipeline file: %w", err)
	}
	defer func() { _ = root.Close() }()
	// Check before opening: opening a named pipe waits for its writer.
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
		return fmt.Errorf("file %q not found beside the pipeline file", name)
	}
	return fmt.Errorf("read %q: %w (only files in the directory of the pipeline file can be read)", name, err)
}

// templateFunc returns the function that renders a file below baseDir. The template pays to the
// meter of the call.
func templateFunc(baseDir string, m *meter.Meter, read func(name, text string)) function.Function {
	return pure(cty.String, func(args []cty.Value) (cty.Value, error) {
		vars := args[1]
		if !vars.Type().IsMapType() && !vars.Type().IsObjectType() {
			return cty.NilVal, function.NewArgErrorf(1, "a map of names is needed, not %s", vars.Type().FriendlyName())
		}
		return render(baseDir, args[0].AsString(), vars.AsValueMap(), m, read)
	}, param("path", cty.String), param("vars", cty.DynamicPseudoType))
}

// render evaluates a template. It can read no further file, so that templates cannot form a cycle.
func render(baseDir, name string, vars map[string]cty.Value, m *meter.Meter, read func(name, text string)) (cty.Value, error) {
	src, err := readBelow(baseDir, name)
	if err != nil {
		return cty.NilVal, function.NewArgError(0, err)
	}
	read(name, src)
	expr, diags := syntax.Template([]byte(src), path.Base(name))
	if diags.HasErrors() {
		return cty.NilVal, function.NewArgError(0, firstError(diags))
	}
	functions := map[string]function.Function{}
	for _, e := range entries(baseDir, nil, read) {
		if e.name != "file" && e.name != "templatefile" {
			functions[e.name] = e.function(m)
		}
	}
	inner := m
	if inner == nil {
		inner = meter.New(meter.Default())
	}
	v, diags := inner.Expression(expr).Value(&hcl.EvalContext{Variables: vars, Functions: functions})
	if diags.HasErrors() {
		return cty.NilVal, function.NewArgError(0, firstError(diags))
	}
	if !v.IsKnown() || v.IsNull() {
		return cty.UnknownVal(cty.String), nil
	}
	return convert.Convert(v, cty.String)
}

// firstError returns the first error of a template, with its place in it.
func firstError(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return fmt.Errorf("%s:%d: %s; %s", d.Subject.Filename, d.Subject.Start.Line, d.Summary, d.Detail)
		}
	}
	return diags
}
