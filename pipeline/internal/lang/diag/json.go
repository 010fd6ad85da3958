package diag

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// FormatVersion of the JSON form. Additions raise the minor number, changes the major.
const FormatVersion = "1.0"

// Output is the JSON form of a list of diagnostics.
type Output struct {
	FormatVersion string       `json:"format_version"`
	Valid         bool         `json:"valid"` // no errors
	ErrorCount    int          `json:"error_count"`
	WarningCount  int          `json:"warning_count"`
	Diagnostics   []Diagnostic `json:"diagnostics"`
}

// Diagnostic is one problem.
type Diagnostic struct {
	Severity string   `json:"severity"` // "error" or "warning"
	Code     Code     `json:"code,omitempty"`
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail,omitempty"`
	Range    *Range   `json:"range,omitempty"`
	Snippet  *Snippet `json:"snippet,omitempty"`
}

// Range is a part of a file. End is after the last character.
type Range struct {
	Filename string `json:"filename"`
	Start    Pos    `json:"start"`
	End      Pos    `json:"end"`
}

// Pos is a position in a file. Line and column count from 1, the column in grapheme clusters; byte
// counts from 0.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// New converts diags, sorted by file and position, those without a position first. files has the
// sources. Diagnostics of other files get no snippet.
func New(files map[string]*hcl.File, diags hcl.Diagnostics) Output {
	out := Output{FormatVersion: FormatVersion, Diagnostics: []Diagnostic{}}
	for _, d := range Sorted(diags) {
		one := describe(files, d)
		if one.Severity == "error" {
			out.ErrorCount++
		} else {
			out.WarningCount++
		}
		out.Diagnostics = append(out.Diagnostics, one)
	}
	out.Valid = out.ErrorCount == 0
	return out
}

// JSON writes diags as one indented object.
func JSON(w io.Writer, files map[string]*hcl.File, diags hcl.Diagnostics) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(New(files, diags)); err != nil {
		return fmt.Errorf("write diagnostics as JSON: %w", err)
	}
	return nil
}

func describe(files map[string]*hcl.File, d *hcl.Diagnostic) Diagnostic {
	one := Diagnostic{
		Severity: "error",
		Code:     Of(d),
		Summary:  valid(d.Summary),
		Detail:   valid(d.Detail),
	}
	if d.Severity == hcl.DiagWarning {
		one.Severity = "warning"
	}
	if d.Subject == nil {
		return one
	}
	one.Range = &Range{Filename: valid(d.Subject.Filename), Start: Pos(d.Subject.Start), End: Pos(d.Subject.End)}
	if file := files[d.Subject.Filename]; file != nil {
		one.Snippet = newSnippet(file, d)
	}
	return one
}

// Sorted returns diags sorted by file and offset; equal positions keep their order.
func Sorted(diags hcl.Diagnostics) hcl.Diagnostics {
	out := make(hcl.Diagnostics, 0, len(diags))
	for _, d := range diags {
		if d != nil {
			out = append(out, d)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].Subject, out[j].Subject
		switch {
		case a == nil || b == nil:
			return a == nil && b != nil
		case a.Filename != b.Filename:
			return a.Filename < b.Filename
		}
		return a.Start.Byte < b.Start.Byte
	})
	return out
}

// valid replaces invalid bytes that encoding/json would replace by a longer sequence, so that
// offsets into a string stay correct.
func valid(s string) string {
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Code is the stable name of a kind of problem, such as "P1004". A diagnostic carries it as Extra.
// Texts may be reworded, codes may not.
//
//	P10xx  reading and parsing files
//	P2xxx  the language: blocks, arguments, references, values
type Code string

// Of returns the code of a diagnostic, or "" if it has none.
func Of(d *hcl.Diagnostic) Code {
	if c, ok := hcl.DiagnosticExtra[coded](d); ok {
		return c.code
	}
	code, _ := hcl.DiagnosticExtra[Code](d)
	return code
}

// WithCode gives code to each of diags that has none, keeps hcl's other Extra, and returns diags.
// Diagnostics of hcl itself have no code.
func WithCode(diags hcl.Diagnostics, code Code) hcl.Diagnostics {
	for _, d := range diags {
		switch {
		case Of(d) != "":
		case d.Extra == nil:
			d.Extra = code
		default:
			d.Extra = coded{code: code, inner: d.Extra}
		}
	}
	return diags
}

// coded is a code with the previous Extra.
type coded struct {
	code  Code
	inner any
}

// UnwrapDiagnosticExtra implements hcl.DiagnosticExtraUnwrapper.
func (c coded) UnwrapDiagnosticExtra() any { return c.inner }

// Sentence turns an error into a sentence. A first word that is a name stays unchanged.
func Sentence(err error) string {
	s := strings.TrimSuffix(err.Error(), ".")
	if s == "" {
		return s
	}
	first, _, _ := strings.Cut(s, " ")
	if !strings.ContainsAny(strings.TrimRight(first, ":,;"), `._"'`+"`"+`[](){}/-0123456789`) {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return s + "."
}
