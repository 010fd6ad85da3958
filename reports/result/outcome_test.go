package result_test

import (
	"fmt"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// occurrence makes a document have a cause, and no other.
type occurrence struct {
	cause result.Cause
	in    func(*result.Document)
}

// occurrences returns all causes, in the order in which they are checked.
func occurrences() []occurrence {
	gate := func(on result.Action, d result.Decision) func(*result.Document) {
		return func(doc *result.Document) {
			doc.Gates = append(doc.Gates, result.Gate{
				Actions: result.Actions{OnRegression: on, OnInconclusive: on, OnMissing: on, OnInvalid: on}, Verdict: d.Verdict,
				Decisions: []result.Decision{d},
			})
		}
	}
	return []occurrence{
		{result.CauseRegression, gate(result.Fail, result.Decision{Kind: result.KindSuccess, Verdict: result.Regression})},
		{result.CauseFailed, func(doc *result.Document) { doc.Status = result.StatusFailed }},
		{result.CauseLimit, gate(result.Fail, result.Decision{Kind: result.KindAssert, Verdict: result.Regression})},
		{result.CauseInfrastructure, gate(result.Warn, result.Decision{Kind: result.KindSuccess, Verdict: result.Invalid, Infrastructure: true})},
		{result.CauseInterrupted, func(doc *result.Document) {
			if doc.Status != result.StatusFailed { // a session ends in one way
				doc.Status = result.StatusInterrupted
			}
		}},
		{result.CauseUnjudged, gate(result.Fail, result.Decision{Kind: result.KindMetric, Verdict: result.Missing})},
		{result.CauseUndecided, gate(result.Fail, result.Decision{Kind: result.KindMetric, Verdict: result.Inconclusive})},
		{result.CauseTolerated, gate(result.Warn, result.Decision{Kind: result.KindMetric, Verdict: result.Regression})},
		{result.CauseInconclusive, gate(result.Warn, result.Decision{Kind: result.KindMetric, Verdict: result.Inconclusive})},
		{result.CauseUngated, func(*result.Document) {}},
		{result.CausePass, gate(result.Fail, result.Decision{Kind: result.KindMetric, Verdict: result.Pass})},
	}
}

// TestOutcomes walks all pairs of causes: of two that happen in one document, the first of the table decides, in
// whatever order its gates have them.
func TestOutcomes(t *testing.T) {
	all := occurrences()
	for i, first := range all {
		for _, second := range all[i:] {
			want := first.cause
			if first.cause == result.CauseUngated && second.cause == result.CausePass {
				want = result.CausePass // there is a gate
			}
			for _, order := range [][2]occurrence{{first, second}, {second, first}} {
				doc := &result.Document{Status: result.StatusComplete}
				order[0].in(doc)
				order[1].in(doc)
				if got := doc.Outcome(); got.Cause != want {
					t.Errorf("%s and %s: %s, want %s", order[0].cause, order[1].cause, got.Cause, want)
				}
			}
		}
	}
}

// TestOutcomesAreStated holds what each cause means for programs and for GitHub.
func TestOutcomesAreStated(t *testing.T) {
	want := map[result.Cause]string{
		result.CauseRegression:     "1 failure failure, can be accepted",
		result.CauseFailed:         "4 neutral error",
		result.CauseLimit:          "1 failure failure, can be accepted",
		result.CauseInfrastructure: "4 neutral error",
		result.CauseInterrupted:    "5 cancelled error",
		result.CauseUnjudged:       "5 failure failure, can be accepted",
		result.CauseUndecided:      "5 failure failure, can be accepted",
		result.CauseTolerated:      "0 neutral pending",
		result.CauseInconclusive:   "0 neutral pending",
		result.CauseUngated:        "0 success success",
		result.CausePass:           "0 success success",
	}
	for cause, want := range want {
		o := result.OutcomeOf(cause)
		got := fmt.Sprintf("%d %s %s", o.Exit, o.Check, o.State)
		if o.Accept {
			got += ", can be accepted"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", cause, got, want)
		}
		if green := o.Check == result.CheckSuccess; green != (o.State == result.StateSuccess) || green && o.Exit != result.ExitOK {
			t.Errorf("%s: what is green is green everywhere, and nothing else is: %s", cause, got)
		}
		if o.Accept != (o.Check == result.CheckFailure) {
			t.Errorf("%s: only what blocks merging can be accepted: %s", cause, got)
		}
		if (o.Check == result.CheckSuccess || o.Cause == result.CauseRegression || o.Cause == result.CauseLimit) != (o.Next == "") {
			t.Errorf("%s: next %q", cause, o.Next)
		}
	}
}
