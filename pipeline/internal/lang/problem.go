package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
)

// problem is an error at a place. Summary is lower case without a stop, detail is whole
// sentences that say what to do.
func problem(code diag.Code, at hcl.Range, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: at.Ptr(), Extra: code}
}

// warning is a problem that does not stop anything.
func warning(code diag.Code, at hcl.Range, summary, detail string) *hcl.Diagnostic {
	d := problem(code, at, summary, detail)
	d.Severity = hcl.DiagWarning
	return d
}

// place names a range within a sentence: "main.hcl:3".
func place(r hcl.Range) string {
	return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line)
}

// maxProblems are shown. A generated file can have very many, and more are of no use.
const maxProblems = 500

// reporter collects diagnostics. The same problem at the same place is kept once: an
// argument is evaluated for every cell, and a parent's for every child.
type reporter struct {
	diags   hcl.Diagnostics
	seen    map[string]bool
	dropped int
}

// all returns the diagnostics, and a last one if some were dropped.
func (r *reporter) all() hcl.Diagnostics {
	if r.dropped == 0 {
		return r.diags
	}
	return append(r.diags, &hcl.Diagnostic{
		Severity: hcl.DiagError, Extra: codeMany, Summary: "too many problems",
		Detail: fmt.Sprintf("There are %d more than the %d shown.", r.dropped, len(r.diags)),
	})
}

func (r *reporter) report(diags ...*hcl.Diagnostic) {
	for _, d := range diags {
		key := string(diag.Of(d)) + "\x00" + d.Summary
		if d.Subject != nil {
			key += fmt.Sprintf("\x00%s\x00%d\x00%d", d.Subject.Filename, d.Subject.Start.Byte, d.Subject.End.Byte)
		} else {
			key += "\x00" + d.Detail
		}
		if r.seen[key] {
			continue
		}
		if r.seen == nil {
			r.seen = map[string]bool{}
		}
		r.seen[key] = true
		if len(r.diags) >= maxProblems {
			r.dropped++
			continue
		}
		r.diags = append(r.diags, d)
	}
}
