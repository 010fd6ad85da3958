package judge

import "github.com/servegate/pipeline/reports/result"

// A session that did not finish passes nothing: what was not measured may have been what is worse.
// Neither is it a regression by a test that was to be made once, with all repeats, since whoever goes
// on with the session makes it again. What a planned look called a regression stays one, and so does
// a limit that is broken.

// unfinished says how a session ended that did not finish, "" for one that did.
func unfinished(doc *result.Document) string {
	switch doc.Status {
	case result.StatusInterrupted:
		return "was interrupted"
	case result.StatusFailed:
		return "failed"
	}
	return ""
}

// resumable reports whether repeats may be added to a session by whoever goes on with it.
func resumable(doc *result.Document) bool {
	return unfinished(doc) != "" || doc.StoppedBy == result.StoppedBudget
}

// suspend takes back a verdict that a session did not come to.
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

// suspendAll takes back what a session did not come to.
func (c *collector) suspendAll() {
	for i := range c.doc.Gates {
		g := &c.doc.Gates[i]
		for k := range g.Decisions {
			suspend(&g.Decisions[k], g, c.doc)
		}
	}
}
