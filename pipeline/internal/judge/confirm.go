package judge

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// Where a second machine confirms, a comparison is a regression only if it regressed on the second machine, too:
// there all that regressed on the first is a family of its own, at the same levels. So no error rate of a
// regression is larger than on the first machine alone. What is not confirmed is inconclusive, and never passes.
//
// What fails needs no confirmation: requests and launches that fail, limits that are broken, other or
// worse answers. Neither does a comparison whose head does not even work on the second machine, or fails more
// often there than its base: what it still answers may be as fast.

// confirming reports whether a second machine is to confirm what regresses in a document.
func confirming(doc *result.Document) bool { return doc.Machines != nil && doc.Machines.Confirm }

// confirmable reports whether a decision is a regression that counts only if it is confirmed.
func confirmable(d *result.Decision, g *result.Gate) bool {
	return d.Verdict == result.Regression && d.Kind == result.KindMetric && g.BaselineKind == result.BaselinePaired && d.SuiteCells == 0 && !ofQuality(d)
}

// Red are the comparisons of a document that regressed by what its first machine measured, and that a second one
// is to confirm. The document is not changed.
func Red(p *plan.Plan, doc *result.Document, opt Options) ([]plan.Compared, error) {
	if !confirming(doc) {
		return nil, nil
	}
	alone := *doc
	alone.Machines, alone.Confirmation = nil, nil
	if err := Judge(p, &alone, opt); err != nil {
		return nil, err
	}
	return red(&alone), nil
}

func red(doc *result.Document) (out []plan.Compared) {
	for i := range doc.Gates {
		g := &doc.Gates[i]
		for k := range g.Decisions {
			if d := &g.Decisions[k]; confirmable(d, g) {
				out = append(out, plan.Compared{Gate: g.Addr, Head: d.Cell, Metric: d.Metric})
			}
		}
	}
	return out
}

// confirm judges what the second machine measured, and takes back the regressions that it does not confirm.
func (c *collector) confirm() error {
	if !confirming(c.doc) {
		return nil
	}
	if again := c.doc.Confirmed(); again != nil {
		p := c.plan.Confirming(measuredAgain(c.doc, again))
		if len(again.Looks) > 0 { // those that were taken cannot be taken otherwise afterwards
			p.Looks = again.Looks
		}
		if err := Judge(p, again, c.opt); err != nil {
			return fmt.Errorf("the second machine: %w", err)
		}
		c.doc.Confirmation = result.NewConfirmation(again)
	}
	for i := range c.doc.Gates {
		g := &c.doc.Gates[i]
		for k := range g.Decisions {
			confirm(&g.Decisions[k], g, c.doc)
		}
	}
	return nil
}

// measuredAgain are the regressions of a document whose cells the second machine has.
func measuredAgain(doc, again *result.Document) []plan.Compared {
	have := map[string]bool{}
	for _, b := range again.Benchmarks {
		for _, c := range b.Cells {
			have[c.Hash] = true
		}
	}
	base := map[plan.Compared]string{}
	for i := range doc.Gates {
		for _, d := range doc.Gates[i].Decisions {
			base[plan.Compared{Gate: doc.Gates[i].Addr, Head: d.Cell, Metric: d.Metric}] = d.BaseCell
		}
	}
	return slices.DeleteFunc(red(doc), func(r plan.Compared) bool { return !have[r.Head] || !have[base[r]] })
}

// confirm takes a regression back that the second machine does not confirm, and says what each of them has.
func confirm(d *result.Decision, g *result.Gate, doc *result.Document) {
	if !confirming(doc) || !confirmable(d, g) {
		return
	}
	here, there := machineNames(doc)
	again := doc.Confirmed()
	found := changed(d) + " on " + here
	if again == nil {
		refuse(d, fmt.Sprintf("not confirmed: %s, and the second machine has not run it", found), false)
		return
	}
	second := doc.Confirmation.Decision(g.Addr, d.ID)
	switch {
	case again.Status == result.StatusInterrupted:
		refuse(d, fmt.Sprintf("not confirmed yet: %s, and the session was interrupted on %s; --resume goes on", found, there), false)
	case again.Status == result.StatusFailed:
		refuse(d, fmt.Sprintf("not confirmed: %s, and %s failed (%s); --resume goes on there", found, there, again.StatusReason), true)
	case second == nil:
		refuse(d, fmt.Sprintf("not confirmed: %s, and %s has not run it", found, there), false)
	case second.Verdict == result.Regression:
		d.Reason += fmt.Sprintf("; confirmed: %s, %s on %s", found, changed(second), there)
	case second.Verdict == result.Missing && headFailed(again, g.Benchmark, second):
		d.Reason += fmt.Sprintf("; %s, and on %s %s", found, there, second.Reason)
	case failsMore(again, g, second) != "":
		d.Reason += fmt.Sprintf("; %s, and on %s the head fails: %s", found, there, failsMore(again, g, second))
	case second.Verdict == result.Missing, second.Verdict == result.Invalid:
		refuse(d, fmt.Sprintf("not confirmed: %s, and what %s measured is %s: %s", found, there, second.Verdict, second.Reason), true)
	default:
		why := fmt.Sprintf("not confirmed: %s, %s on %s (%s)", found, changed(second), there, second.VerdictText())
		if again.StoppedBy == result.StoppedBudget {
			why += ", where the session " + again.StatusReason
		}
		refuse(d, why, false)
	}
}

// refuse leaves a regression undecided.
func refuse(d *result.Decision, why string, infrastructure bool) {
	d.Verdict, d.Reason, d.NeedPairs = result.Inconclusive, why, 0
	d.Infrastructure = d.Infrastructure || infrastructure
}

// headFailed reports whether the head alone has no valid run of a comparison.
func headFailed(doc *result.Document, benchmark string, d *result.Decision) bool {
	cells := index(doc)
	base, head := cells[key(benchmark, d.BaseCell)], cells[key(benchmark, d.Cell)]
	return base != nil && head != nil && valid(base) > 0 && valid(head) == 0
}

// failsMore says how the head of a comparison fails significantly more often than its base, "" if it does not. It
// is tested by itself: that the metric regressed on the first machine bounds how often that is wrong.
func failsMore(doc *result.Document, g *result.Gate, d *result.Decision) string {
	cells := index(doc)
	base, head := cells[key(g.Benchmark, d.BaseCell)], cells[key(g.Benchmark, d.Cell)]
	if base == nil || head == nil {
		return ""
	}
	j, err := gates.Judge(gates.Family{Alpha: doc.Alpha, Success: []gates.Success{{
		ID: d.ID, Gate: g.Addr, Alpha: g.Alpha, CanFail: true, Base: outcomes(base.Current()), Head: outcomes(head.Current()),
	}}})
	if err != nil || j.Success[0].Verdict != gates.Regression {
		return ""
	}
	return j.Success[0].Reason
}

// machineNames are those of both machines for people.
func machineNames(doc *result.Document) (first, second string) {
	first, second = "the first machine", "the second machine"
	if name := doc.Nodes(); name != "" {
		first = name
	}
	if again := doc.Confirmed(); again != nil && again.Nodes() != "" {
		second = again.Nodes()
	}
	return first, second
}

// changed is the change of a decision for people: "+8.0 %".
func changed(d *result.Decision) string {
	switch {
	case d.Change == nil:
		return "no value"
	case d.Scale == metric.Log || d.Scale == "":
		return humanize.Percent(*d.Change)
	}
	return humanize.ScaleFor(d.Unit, *d.Change).Difference(*d.Change)
}
