package syntax

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"

	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
)

// Limits of what is read.
const (
	MaxFileSize = 1 << 20 // bytes
	MaxFiles    = 200
)

// maxDiagnostics of one file are kept: a binary file yields one for each of its lines.
const maxDiagnostics = 50

// StdinName is what standard input is called in diagnostics.
const StdinName = "<stdin>"

// Sources are the files of a pipeline.
type Sources struct {
	Parser *hclparse.Parser
	Files  []File
}

// File is one of them. HCL is never nil: a file that was refused has an empty body, and
// one with syntax errors the part that could be parsed.
type File struct {
	Name  string // as it was named by the caller; below a directory, joined with it
	Bytes []byte
	HCL   *hcl.File
	// JSON is the object of a file in the JSON syntax, nil in the native one. The body of HCL
	// is empty then: what is a block and what an argument is for the language to say.
	JSON hcl.Expression
}

// Map gives the files by name, as diag.Text wants them.
func (s *Sources) Map() map[string]*hcl.File {
	files := make(map[string]*hcl.File, len(s.Files))
	for _, f := range s.Files {
		files[f.Name] = f.HCL
	}
	return files
}

// Text is what stands at a place, on one line; "" for a place that is in no file.
func (s *Sources) Text(at hcl.Range) string {
	for _, f := range s.Files {
		if f.Name == at.Filename && at.CanSliceBytes(f.Bytes) {
			return strings.Join(strings.Fields(string(at.SliceBytes(f.Bytes))), " ")
		}
	}
	return ""
}

// Load reads and parses paths in order. A directory stands for its *.pipeline.hcl, or
// if it has none for its *.hcl, sorted by name and not below it; "-" stands for stdin.
// Files of either kind may be in the JSON syntax: .pipeline.hcl.json, .pipeline.json and
// .hcl.json, and what begins with a brace on stdin. A file that is named twice is read once.
//
// The result is never nil, so that its sources can be shown beside the diagnostics.
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

// add reads, checks and parses one file.
func (s *Sources) add(name string, stdin io.Reader) hcl.Diagnostics {
	src, diags := read(name, stdin)
	if diags.HasErrors() {
		return diags
	}
	if name == "-" {
		name = StdinName
	}
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
		diags = limit(name, diag.WithCode(first(parseDiags), CodeSyntax))
	}
	s.Files = append(s.Files, f)
	return diags
}

// first leaves out the errors that follow from others: all where a quote is missing, since
// from there on the parser takes text for code and code for text, and what it finds in a
// line that it has misread already.
func first(diags hcl.Diagnostics) hcl.Diagnostics {
	lines := map[int]bool{}
	var out hcl.Diagnostics
	for i, d := range diags {
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

// missingQuote is the problem of a line whose last string does not end.
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

// limit keeps the first of very many diagnostics of one file.
func limit(name string, diags hcl.Diagnostics) hcl.Diagnostics {
	if len(diags) <= maxDiagnostics {
		return diags
	}
	more := len(diags) - maxDiagnostics
	return append(diags[:maxDiagnostics:maxDiagnostics], problem(CodeSyntax, "too many problems",
		fmt.Sprintf("%s has %d more problems. Is it a pipeline file?", name, more)))
}

// problem is an error without a place in a file.
func problem(code diag.Code, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Extra: code}
}

// problemAt is an error with a place.
func problemAt(code diag.Code, at hcl.Range, summary, detail string) *hcl.Diagnostic {
	d := problem(code, summary, detail)
	d.Subject = &at
	return d
}
