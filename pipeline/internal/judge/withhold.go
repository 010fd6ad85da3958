package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// A head that is faster because it answers something else, or worse, is no improvement. So where
// a gate of answers or of an evaluation does not pass, improvements of speed are withheld.

// ofQuality reports whether a decision is on what was answered.
func ofQuality(d *result.Decision) bool {
	m, ok := metric.Lookup(d.Metric)
	return ok && m.Quality
}

// withholders are the gates whose decisions on what was answered are no pass.
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

// withhold makes a pass of an improvement of speed, or where one is expected leaves it undecided.
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
