package reports

import (
	"fmt"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// confirmed says on which machine a session ran whose regressions a second one confirms, and what became of
// them there: "On gpu-a; of 2 comparisons that regressed, gpu-b confirms 1 after 6 repeats".
func (v *view) confirmed() model.Line {
	first := v.doc.Nodes()
	if first == "" {
		first = "the first of two machines"
	}
	again := v.doc.Confirmed()
	if again == nil {
		return model.Plain("On " + first + ": nothing was run again on the second machine, which confirms what regresses")
	}
	second := again.Nodes()
	if second == "" {
		second = "the second machine"
	}
	asked, confirmed := 0, 0
	for _, g := range v.doc.Gates {
		for _, d := range g.Decisions {
			switch {
			case v.doc.Confirmation.Decision(g.Addr, d.ID) == nil:
				continue
			case d.Verdict == result.Regression:
				confirmed++
			}
			asked++
		}
	}
	return model.Plain(fmt.Sprintf("On %s; of %s that regressed, %s confirms %d after %s",
		first, humanize.Count(asked, "comparison"), second, confirmed, humanize.Count(again.RepeatsDone, "repeat")))
}
