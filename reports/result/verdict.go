package result

import (
	"cmp"
	"slices"
)

// severity orders verdicts from the worst. What was not judged at all (invalid, missing)
// is worse than what could not be decided.
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

// Worst is the worst of the verdicts, "" if there are none.
func Worst(verdicts ...Verdict) Verdict {
	if len(verdicts) == 0 {
		return ""
	}
	return slices.MinFunc(verdicts, CompareVerdicts)
}

// refuted names what is inconclusive for whoever reads enums, and settled for people.
const refuted = "refuted"

// VerdictText returns the verdict in a word: an improvement that was expected and that the interval
// excludes is refuted.
func (d *Decision) VerdictText() string {
	if d.Verdict == Inconclusive && d.Refuted {
		return refuted
	}
	return string(d.Verdict)
}

// Refuted reports whether a gate is inconclusive because the improvement that it expects is
// excluded.
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

// Overall is the worst verdict over all gates, whatever each of them does about it; ""
// when there are none.
func Overall(gates []Gate) Verdict {
	verdicts := make([]Verdict, len(gates))
	for i, g := range gates {
		verdicts[i] = g.Verdict
	}
	return Worst(verdicts...)
}

// The exit codes that a document can ask for.
const (
	ExitOK             = 0
	ExitRegression     = 1
	ExitInfrastructure = 4
	ExitUndecided      = 5
)

// Exit returns the exit status that the outcome of doc has.
func Exit(doc *Document) int { return doc.Outcome().Exit }
