package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/regular"
)

// Limits of the input.
const (
	MaxFileSize = 1 << 20 // bytes
	MaxFiles    = 200
)

// maxDiagnostics is the number of diagnostics per file that are kept: a binary file yields one per
// line.
const maxDiagnostics = 50

// StdinName is the name of standard input in diagnostics.
const StdinName = "<stdin>"

// Sources are the files of a pipeline.
type Sources struct {
	Parser *hclparse.Parser
	Files  []File
}

// File is a file of a pipeline. HCL is never nil: a rejected file has an empty body, and one with
// syntax errors has the part that could be parsed.
type File struct {
	Name  string // as named by the caller; in a directory, joined with it
	Bytes []byte
	HCL   *hcl.File
	// JSON is the object of a file in the JSON syntax, nil in the native one. The body of HCL is
	// then empty: the language decides which members are blocks and which are arguments.
	JSON hcl.Expression
}

// Map returns the files by name, for diag.Text.
func (s *Sources) Map() map[string]*hcl.File {
	files := make(map[string]*hcl.File, len(s.Files))
	for _, f := range s.Files {
		files[f.Name] = f.HCL
	}
	return files
}

// Text returns the source at a place, on one line; "" for a place outside all files.
func (s *Sources) Text(at hcl.Range) string {
	for _, f := range s.Files {
		if f.Name == at.Filename && at.CanSliceBytes(f.Bytes) {
			return strings.Join(strings.Fields(string(at.SliceBytes(f.Bytes))), " ")
		}
	}
	return ""
}

// Load reads and parses paths in order. A directory means its *.pipeline.hcl files, or if it has
// none its *.hcl files, sorted by name, without subdirectories; "-" means stdin. Files of either
// kind may be in the JSON syntax: .pipeline.hcl.json, .pipeline.json and .hcl.json, and input on
// stdin that begins with a brace. A file that is named twice is read once.
//
// The result is never nil, so that its sources can be shown with the diagnostics.
func Load(paths []string, stdin io.Reader) (*Sources, hcl.Diagnostics) {
	s := &Sources{Parser: hclparse.NewParser()}
	names, diags := expand(paths)
	if len(names) > MaxFiles {
		return s, append(diags, problem(CodeSize, "too many files",
			fmt.Sprintf("%d files are named, and at most %d are read. Name the files that belong to one pipeline.", len(names), MaxFiles)))
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[filepath.Clean(name)] {
			continue
		}
		seen[filepath.Clean(name)] = true
		diags = append(diags, s.add(name, stdin)...)
	}
	return s, diags
}

// LoadText parses a text as the file of a name that need not exist.
func LoadText(name string, text []byte) (*Sources, hcl.Diagnostics) {
	s := &Sources{Parser: hclparse.NewParser()}
	return s, s.parse(name, text)
}

// add reads, checks and parses one file.
func (s *Sources) add(name string, stdin io.Reader) hcl.Diagnostics {
	src, diags := read(name, stdin)
	if diags.HasErrors() {
		return diags
	}
	if name == "-" {
		name = StdinName
	}
	return s.parse(name, src)
}

// parse checks and parses the text of one file.
func (s *Sources) parse(name string, src []byte) (diags hcl.Diagnostics) {
	f := File{Name: name, Bytes: src, HCL: &hcl.File{Body: hcl.EmptyBody(), Bytes: src}}
	if isJSON(name, src) {
		f.JSON, diags = parseJSON(name, src)
		s.Files = append(s.Files, f)
		return diags
	}
	diags = check(name, src)
	if !diags.HasErrors() {
		parsed, parseDiags := s.Parser.ParseHCL(src, name)
		if parsed != nil && parsed.Body != nil {
			f.HCL = parsed
		}
		diags = limit(name, diag.WithCode(first(src, parseDiags), CodeSyntax))
	}
	s.Files = append(s.Files, f)
	return diags
}

// first removes consequential errors: all after a missing quote, because from there on the parser
// confuses text and code, and further ones in a line that it has misread already.
func first(src []byte, diags hcl.Diagnostics) hcl.Diagnostics {
	lines := map[int]bool{}
	var out hcl.Diagnostics
	for i, d := range diags {
		d.Detail += advice(d, src)
		if strings.HasPrefix(d.Summary, "Unclosed template") {
			return diags[i : i+1]
		}
		if d.Summary == "Invalid multi-line string" && d.Subject != nil {
			return hcl.Diagnostics{missingQuote(d.Subject)}
		}
		if d.Subject != nil && lines[d.Subject.Start.Line] {
			continue
		}
		if d.Subject != nil {
			lines[d.Subject.Start.Line] = true
		}
		out = append(out, d)
	}
	return out
}

// percentage ends where a percentage without quotes does.
var percentage = lazyregexp.New(`[0-9]\s*%\s*$`)

// advice says what is probably meant where the parser only says what it expected.
func advice(d *hcl.Diagnostic, src []byte) string {
	if d.Subject == nil || !d.Subject.CanSliceBytes(src) {
		return ""
	}
	before := src[:d.Subject.Start.Byte]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	switch at := string(d.Subject.SliceBytes(src)); d.Summary {
	case "Missing newline after argument", "Missing attribute separator":
		return " If the value is text, write it in quotes."
	case "Unexpected comma after argument":
		return " If several values are meant, write them in brackets: [1, 2]."
	case "Invalid expression":
		if percentage.Match(line) {
			return ` A percentage is text: write it in quotes, such as "5%".`
		}
	case "Argument or block definition required":
		if at == "}" {
			return " This brace closes nothing: remove it, or look for one too many above."
		}
	}
	return ""
}

// missingQuote returns the diagnostic for a line whose last string does not end.
func missingQuote(at *hcl.Range) *hcl.Diagnostic {
	r := *at
	r.Start.Byte -= r.Start.Column - 1
	r.Start.Column = 1
	if r.Start.Byte < 0 {
		r.Start = at.Start
	}
	r.End = at.Start
	return problemAt(CodeSyntax, r, "quote is missing in this line",
		"A string begins in it and does not end. Texts of several lines are written <<EOT … EOT, and a quote inside a text is written \\\".")
}

// limit keeps the first of many diagnostics of one file.
func limit(name string, diags hcl.Diagnostics) hcl.Diagnostics {
	if len(diags) <= maxDiagnostics {
		return diags
	}
	more := len(diags) - maxDiagnostics
	return append(diags[:maxDiagnostics:maxDiagnostics], problem(CodeSyntax, "too many problems",
		fmt.Sprintf("%s has %d more problems. Is it a pipeline file?", name, more)))
}

// problem returns an error without a place in a file.
func problem(code diag.Code, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Extra: code}
}

// problemAt returns an error with a place.
func problemAt(code diag.Code, at hcl.Range, summary, detail string) *hcl.Diagnostic {
	d := problem(code, summary, detail)
	d.Subject = &at
	return d
}

// Codes of this package's diagnostics.
const (
	CodeRead    diag.Code = "P1001" // a file or directory cannot be read
	CodeNone    diag.Code = "P1002" // no pipeline file where one is expected
	CodeSize    diag.Code = "P1003" // a file is too large, or there are too many
	CodeText    diag.Code = "P1004" // not UTF-8, or a NUL byte
	CodeNesting diag.Code = "P1005" // nested too deeply for the parser
	CodeSyntax  diag.Code = "P1006" // not HCL
)

// suffixes lists the names of pipeline files in a directory. The first row that any file has counts.
var suffixes = [][]string{
	{".pipeline.hcl", ".pipeline.hcl.json", ".pipeline.json"},
	{".hcl", ".hcl.json"},
}

// isPipelineFile reports whether a directory argument includes a file with this name.
func isPipelineFile(name string) bool {
	return slices.ContainsFunc(suffixes, func(row []string) bool { return endsIn(name, row) })
}

func endsIn(name string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// expand replaces directories by their files.
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
			names = append(names, path) // read reports errors
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

// list returns the pipeline files of a directory. os.ReadDir sorts by name.
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
		fmt.Sprintf("The folder %s holds no file whose name ends in %s. Name one, or write one by pipeline init.", dir,
			strings.Join(slices.Concat(suffixes...), ", ")))
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
		return nil, errors.New("standard input is not connected")
	}
	return io.ReadAll(io.LimitReader(r, MaxFileSize+1))
}

// reason returns the system's error, without the operation and the path, which the surrounding
// sentence contains.
func reason(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
