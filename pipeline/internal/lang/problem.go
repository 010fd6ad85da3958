package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps/enum"
)

// problem returns an error at a place. summary is lower case without a full stop. detail is whole sentences
// that explain what to do.
func problem(code diag.Code, at hcl.Range, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: at.Ptr(), Extra: code}
}

// warning returns a problem that does not stop the run.
func warning(code diag.Code, at hcl.Range, summary, detail string) *hcl.Diagnostic {
	d := problem(code, at, summary, detail)
	d.Severity = hcl.DiagWarning
	return d
}

// place formats a range for a sentence: "main.hcl:3".
func place(r hcl.Range) string {
	return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line)
}

// maxProblems limits the problems shown. A generated file can have very many.
const maxProblems = 500

// reporter collects diagnostics. It keeps one problem at one place once, because an argument is evaluated for
// every cell, and a parent's for every child.
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

// manyNames is the largest number of names that are listed.
const manyNames = 1000

// listedNames is the largest number of names in a message.
const listedNames = 12

// didYouMean returns the end of a message about an unknown name: "Did you mean X?", else the names that exist.
func didYouMean(given string, names []string, what string) string {
	if name := enum.Nearest(given, names); name != "" {
		return fmt.Sprintf("Did you mean %s?", name)
	}
	return listNames(names, what)
}

// listNames returns a sentence that lists names: "The arguments are a, b and c."
func listNames(names []string, what string) string {
	if len(names) > manyNames {
		return fmt.Sprintf("There are %d %s.", len(names), what)
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	switch {
	case len(names) == 0:
		return fmt.Sprintf("The file has no %s.", strings.TrimSuffix(what, " of the file"))
	case len(names) == 1:
		return fmt.Sprintf("There is only %s.", names[0])
	case len(names) > listedNames:
		return fmt.Sprintf("The %s are %s, … (%d in all).", what, strings.Join(names[:listedNames], ", "), len(names))
	}
	return fmt.Sprintf("The %s are %s.", what, humanize.List(names))
}

// Codes of the problems that this package reports. Texts may be reworded, codes may not.
const (
	codeBlock     diag.Code = "P2001" // a block that does not exist, or not here
	codeArgument  diag.Code = "P2002" // an argument that does not exist, or not here
	codeMissing   diag.Code = "P2003" // an argument, block or label that is missing
	codeDuplicate diag.Code = "P2004" // a name or a block that exists twice
	codeKind      diag.Code = "P2005" // a kind (first label) that does not exist
	codeLabel     diag.Code = "P2006" // a label that cannot be a name, or one too many
	codeVersion   diag.Code = "P2007" // the file is for another version of the program
	codeMany      diag.Code = "P2008" // more problems than are shown

	codeReference  diag.Code = "P2101" // a reference to a name that does not exist
	codeScope      diag.Code = "P2102" // the name exists, but not here
	codeCycle      diag.Code = "P2103" // blocks refer to each other in a circle
	codeLate       diag.Code = "P2104" // the value exists only at run time
	codeExpression diag.Code = "P2105" // an expression that cannot be evaluated
	codeTooMuch    diag.Code = "P2106" // an expression that takes too much time or memory

	codeType      diag.Code = "P2201" // a value of the wrong type
	codeUnit      diag.Code = "P2202" // a quantity in the wrong unit
	codeValue     diag.Code = "P2203" // a value that is not allowed
	codeSensitive diag.Code = "P2204" // a secret where it would be seen
	codeCheck     diag.Code = "P2205" // found by the check of the block's kind

	codeVariableMissing diag.Code = "P2301" // a variable without a value
	codeVariableUnknown diag.Code = "P2302" // a value for a variable that does not exist
	codeVariableValue   diag.Code = "P2303" // a value that the variable cannot take
	codeValidation      diag.Code = "P2304" // a validation block refuses the value

	codeMatrix diag.Code = "P2401" // an axis that cannot be expanded
	codeCells  diag.Code = "P2402" // too many cells, or none
	codeTarget diag.Code = "P2403" // a target that cannot be measured
	codeLoad   diag.Code = "P2404" // a workload that makes no sense

	codeGate     diag.Code = "P2501" // a gate that is incomplete or contradicts itself
	codeRefused  diag.Code = "P2502" // a gate that could not decide anything
	codeShares   diag.Code = "P2503" // shares of alpha that do not add up
	codeBaseline diag.Code = "P2504" // a baseline that does not fit the benchmark
)
