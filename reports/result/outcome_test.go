package result_test

import (
	"fmt"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// occurrences are one document for each cause that can meet others: what happened, and nothing else.
func occurrences() map[result.Cause]func(*result.Document) {
	gate := func(on result.Action, d result.Decision) func(*result.Document) {
		return func(doc *result.Document) {
			doc.Gates = append(doc.Gates, result.Gate{
				Actions: result.Actions{OnRegression: on, OnInconclusive: on, OnMissing: on, OnInvalid: on}, Verdict: d.Verdict,
				Decisions: []result.Decision{d},
			})
		}
	}
	return map[result.Cause]func(*result.Document){
		result.CauseRegression:     gate(result.Fail, result.Decision{Kind: result.KindSuccess, Verdict: result.Regression}),
		result.CauseFailed:         func(doc *result.Document) { doc.Status = result.StatusFailed },
		result.CauseLimit:          gate(result.Fail, result.Decision{Kind: result.KindAssert, Verdict: result.Regression}),
		result.CauseInfrastructure: gate(result.Warn, result.Decision{Kind: result.KindSuccess, Verdict: result.Invalid, Infrastructure: true}),
		result.CauseInterrupted: func(doc *result.Document) {
			if doc.Status != result.StatusFailed { // a session ends in one way
				doc.Status = result.StatusInterrupted
			}
		},
		result.CauseUnjudged:     gate(result.Fail, result.Decision{Kind: result.KindMetric, Verdict: result.Missing}),
		result.CauseUndecided:    gate(result.Fail, result.Decision{Kind: result.KindMetric, Verdict: result.Inconclusive}),
		result.CauseTolerated:    gate(result.Warn, result.Decision{Kind: result.KindMetric, Verdict: result.Regression}),
		result.CauseInconclusive: gate(result.Warn, result.Decision{Kind: result.KindMetric, Verdict: result.Inconclusive}),
		result.CauseUngated:      func(*result.Document) {},
		result.CausePass:         gate(result.Fail, result.Decision{Kind: result.KindMetric, Verdict: result.Pass}),
	}
}

// TestOutcomes walks all pairs of causes: of two that happen in one document, the first of the table decides, in
// whatever order its gates have them.
func TestOutcomes(t *testing.T) {
	happen, all := occurrences(), result.Causes()
	if len(happen) != len(all) {
		t.Fatalf("%d causes happen here, and the table has %d", len(happen), len(all))
	}
	for i, first := range all {
		for _, second := range all[i:] {
			want := first
			if first == result.CauseUngated && second == result.CausePass {
				want = result.CausePass // there is a gate
			}
			for _, order := range [][2]result.Cause{{first, second}, {second, first}} {
				doc := &result.Document{Status: result.StatusComplete}
				happen[order[0]](doc)
				happen[order[1]](doc)
				if got := doc.Outcome(); got.Cause != want {
					t.Errorf("%s and %s: %s, want %s", order[0], order[1], got.Cause, want)
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
	for _, cause := range result.Causes() {
		o := result.OutcomeOf(cause)
		got := fmt.Sprintf("%d %s %s", o.Exit, o.Check, o.State)
		if o.Accept {
			got += ", can be accepted"
		}
		if got != want[cause] {
			t.Errorf("%s: %s, want %s", cause, got, want[cause])
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
