package diag

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Code is the stable name of a kind of problem, such as "P1004". It is what a diagnostic
// carries as Extra; texts may be reworded, codes may not.
//
//	P10xx  reading and parsing files
//	P2xxx  the language: blocks, arguments, references, values
type Code string

// Of is the code of a diagnostic, or "" if it has none.
func Of(d *hcl.Diagnostic) Code {
	if c, ok := hcl.DiagnosticExtra[coded](d); ok {
		return c.code
	}
	code, _ := hcl.DiagnosticExtra[Code](d)
	return code
}

// WithCode gives code to each of diags that has none, keeping what else hcl attached as
// Extra, and returns diags. Diagnostics that come from hcl itself have no code.
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

// coded is a code beside an Extra that was there before.
type coded struct {
	code  Code
	inner any
}

// UnwrapDiagnosticExtra implements hcl.DiagnosticExtraUnwrapper.
func (c coded) UnwrapDiagnosticExtra() any { return c.inner }

// Sentence makes an error a sentence. A first word that is a name stays as it is written.
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
