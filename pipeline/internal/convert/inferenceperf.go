package convert

import "path/filepath"

// achieved is the smallest share of the requested rate that a load must reach.
const achieved = 0.95

// checkAchieved adds a note if a load generator sent fewer requests per second than requested.
func (r *Run) checkAchieved(asked, sent float64) {
	if asked > 0 && sent < achieved*asked {
		r.seriousf("%.4g of the %.4g requests per second that were asked for were sent: the load is not the one that it is called", sent, asked)
	}
}

// summarised returns a stage whose figures a summary repeats, nil if there is none. The stage is in
// the same folder, from the same tool, and has the rate or the concurrency that the summary lacks.
func summarised(r *Run, runs []Run) *Run {
	for i := range runs {
		o := &runs[i]
		if r.summary && o.Tool == r.Tool && !o.summary && filepath.Dir(o.Source) == filepath.Dir(r.Source) {
			return o
		}
	}
	return nil
}

// inferencePerfStage tells stages from summaries, and notes a load that was not reached.
func inferencePerfStage(_, item *value, r *Run, _ *entryList) error {
	r.summary = !item.has("load_summary/requested_rate") && !item.has("load_summary/concurrency")
	asked, okAsked := item.at("load_summary/requested_rate").number()
	sent, okSent := item.at("load_summary/achieved_rate").number()
	if okAsked && okSent {
		r.checkAchieved(asked, sent)
	}
	return nil
}
