package reports_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// TestAHeadThatFailsOnTheSecondMachineCountsAsConfirmed: the line on machines counts what is red, and not what
// the second machine found slower.
func TestAHeadThatFailsOnTheSecondMachineCountsAsConfirmed(t *testing.T) {
	doc := regression()
	doc.Machines = &result.Machines{Count: 2, Confirm: true}
	again := result.NewConfirmation(doc)
	again.Gates = []result.Gate{doc.Gates[0]}
	again.Gates[0].Decisions = nil
	for _, d := range doc.Gates[0].Decisions {
		if d.Verdict == result.Regression {
			d.Verdict, d.Reason = result.Missing, "the head has no valid run"
			again.Gates[0].Decisions = append(again.Gates[0].Decisions, d)
		}
	}
	doc.Confirmation = again
	if got := reportText(t, doc, reports.Text); len(again.Gates[0].Decisions) != 2 || !strings.Contains(got, "of 2 comparisons that regressed, the second machine confirms 2 after") {
		t.Errorf("%d decisions of the second machine, and\n%s", len(again.Gates[0].Decisions), got)
	}
}
