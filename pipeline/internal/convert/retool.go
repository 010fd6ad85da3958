package convert

import "strings"

// retool gives a run that does not tell its tool the definitions of one. Without a tool
// the figures are taken as vLLM's, and the run says so.
func (r *Run) retool(tool string) {
	if tool == "" {
		r.alarmf("the result does not say which tool measured it: figures are taken as vLLM defines them")
		return
	}
	r.Tool = tool
	metrics := r.Metrics
	r.Metrics, r.Definitions = nil, nil
	for id, v := range metrics {
		group, stat, _ := strings.Cut(id, ".")
		id, definition := r.metricID(group, stat)
		if r.Metrics == nil {
			r.Metrics = make(map[string]float64, len(metrics))
		}
		r.Metrics[id] = v
		if definition != "" {
			r.define(id, definition)
		}
	}
}
