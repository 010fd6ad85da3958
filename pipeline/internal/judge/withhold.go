package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// A head that is faster because it gives different or worse answers is not an improvement. Improvements of speed are
// therefore withheld while a gate on answers or on an evaluation does not pass.

// ofQuality reports whether a decision is on the quality of answers.
func ofQuality(d *result.Decision) bool {
	m, ok := metric.Lookup(d.Metric)
	return ok && m.Quality
}

// withholders returns the gates with a decision on answers that does not pass.
func withholders(list []result.Gate) []string {
	var out []string
	for i := range list {
		if slices.ContainsFunc(list[i].Decisions, func(d result.Decision) bool {
			return ofQuality(&d) && d.Verdict != result.Pass && d.Verdict != result.Improvement
		}) {
			out = append(out, list[i].Addr)
		}
	}
	return out
}

// withhold turns an improvement of speed into a pass, or into inconclusive if the gate expects an improvement.
func withhold(d *result.Decision, expect gates.Expectation, by []string) {
	if len(by) == 0 || d.Verdict != result.Improvement || ofQuality(d) {
		return
	}
	d.WithheldBy = by
	d.Verdict = result.Pass
	if expect == gates.ExpectImprovement {
		d.Verdict = result.Inconclusive
	}
	d.Reason = fmt.Sprintf("better, but no improvement: that the head answers as well is not shown (%s)", strings.Join(by, ", "))
}

// withholdAll withholds the improvements of a document.
func withholdAll(list []result.Gate) {
	by := withholders(list)
	for i := range list {
		for k := range list[i].Decisions {
			withhold(&list[i].Decisions[k], list[i].Expect, by)
		}
	}
}
