package judge

import "github.com/servegate/pipeline/reports/result"

// A session that did not finish passes nothing, since the missing measurements may have been worse. A test that was
// planned once, with all repeats, finds no regression either, since resuming the session repeats the test. A regression
// at a planned look stands, and so does a violated limit.

// unfinished returns how an unfinished session ended, "" for a finished one.
func unfinished(doc *result.Document) string {
	switch doc.Status {
	case result.StatusInterrupted:
		return "was interrupted"
	case result.StatusFailed:
		return "failed"
	}
	return ""
}

// resumable reports whether resuming the session can add repeats.
func resumable(doc *result.Document) bool {
	return unfinished(doc) != "" || doc.StoppedBy == result.StoppedBudget
}

// suspend takes back a verdict if the session did not finish.
func suspend(d *result.Decision, g *result.Gate, doc *result.Document) {
	how := unfinished(doc)
	if how == "" {
		return
	}
	early := d.Kind != result.KindAssert && (len(doc.Looks) < 2 && doc.RepeatsDone < doc.RepeatsPlanned ||
		g.BaselineKind == result.BaselineStored)
	switch {
	case d.Verdict == result.Pass || d.Verdict == result.Improvement:
		d.Reason = "the session " + how + ", and one that is not complete passes nothing"
	case early && (d.Verdict == result.Regression || d.Refuted):
		d.Reason = "the session " + how + " before this was to be judged"
	default:
		return
	}
	d.Verdict, d.Refuted, d.NeedPairs = result.Inconclusive, false, 0
}

// suspendAll takes back the verdicts of an unfinished session.
func (c *collector) suspendAll() {
	for i := range c.doc.Gates {
		g := &c.doc.Gates[i]
		for k := range g.Decisions {
			suspend(&g.Decisions[k], g, c.doc)
		}
	}
}
