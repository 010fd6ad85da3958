package result

import (
	"cmp"
	"slices"
)

// severity orders verdicts from the worst. Verdicts that were not judged at all (invalid, missing)
// are worse than those that could not be decided.
var severity = []Verdict{Regression, Invalid, Missing, Inconclusive, Pass, Improvement}

// CompareVerdicts orders verdicts from the worst to the best; unknown ones come last.
func CompareVerdicts(a, b Verdict) int {
	return cmp.Compare(rank(a), rank(b))
}

func rank(v Verdict) int {
	if i := slices.Index(severity, v); i >= 0 {
		return i
	}
	return len(severity)
}

// Worst returns the worst of the verdicts, "" if there are none.
func Worst(verdicts ...Verdict) Verdict {
	if len(verdicts) == 0 {
		return ""
	}
	return slices.MinFunc(verdicts, CompareVerdicts)
}

// refuted is shown to people for a decision that is inconclusive as an enumeration, but settled.
const refuted = "refuted"

// VerdictText returns the verdict in a word. It is "refuted" if an improvement was expected and the
// interval excludes it.
func (d *Decision) VerdictText() string {
	if d.Verdict == Inconclusive && d.Refuted {
		return refuted
	}
	return string(d.Verdict)
}

// Refuted reports whether a gate is inconclusive because the expected improvement is excluded.
func (g *Gate) Refuted() bool {
	return g.Verdict == Inconclusive && slices.ContainsFunc(g.Decisions, func(d Decision) bool { return d.VerdictText() == refuted })
}

// VerdictText returns the verdict in a word.
func (g *Gate) VerdictText() string {
	if g.Refuted() {
		return refuted
	}
	return string(g.Verdict)
}

// Overall returns the worst verdict over all gates, whatever their actions; "" if there are none.
func Overall(gates []Gate) Verdict {
	verdicts := make([]Verdict, len(gates))
	for i, g := range gates {
		verdicts[i] = g.Verdict
	}
	return Worst(verdicts...)
}

// Exit codes of documents.
const (
	ExitOK             = 0
	ExitRegression     = 1
	ExitInfrastructure = 4
	ExitUndecided      = 5
)

// Exit returns the exit status for the outcome of doc.
func Exit(doc *Document) int { return doc.Outcome().Exit }
