package history

import (
	"slices"
	"time"
)

// Annotation is a person's statement on a session.
type Annotation struct {
	Run    string `json:"run"` // the session's ID
	Reason string `json:"reason"`
	Author string `json:"author"`
	// Cell and Metric that are accepted; empty means all.
	Cell   string `json:"cell,omitempty"`
	Metric string `json:"metric,omitempty"`
	// Measured is the time of the accepted session. Earlier sessions no longer count.
	Measured time.Time `json:"measured,omitzero"`
	// Expires ends an acceptance; zero for never.
	Expires time.Time `json:"expires,omitzero"`
}

// begin returns the first session of a baseline: the last one with an accepted change.
func (h *History) begin(q Query) (from time.Time, run string) {
	for _, r := range h.Acceptances(q.Cell, q.Metric) {
		if !r.Annotation.Expired(q.Now) && r.Annotation.Measured.After(from) {
			from, run = r.Annotation.Measured, r.Annotation.Run
		}
	}
	return from, run
}

// pinned returns the last session that counts if the baseline is pinned, and its ID. The newest
// annotation decides.
func (h *History) pinned(now time.Time) (until time.Time, run string) {
	for _, r := range slices.Backward(h.Records) {
		switch {
		case r.Kind == Unpin:
			return time.Time{}, ""
		case r.Kind == Pin && !r.Annotation.Expired(now):
			return r.Annotation.Measured, r.Annotation.Run
		}
	}
	return time.Time{}, ""
}

// Expired reports whether the annotation has expired.
func (a Annotation) Expired(now time.Time) bool { return !a.Expires.IsZero() && now.After(a.Expires) }

// Acceptances returns the acceptances for a metric of a cell, oldest first.
func (h *History) Acceptances(cell, metric string) []Record {
	var out []Record
	for _, r := range h.Records {
		if a := r.Annotation; r.Kind == Acceptance && (a.Cell == "" || a.Cell == cell) && (a.Metric == "" || a.Metric == metric) {
			out = append(out, r)
		}
	}
	return out
}

// dropped returns the sessions that do not count.
func (h *History) dropped() map[string]bool {
	out := map[string]bool{}
	for _, r := range h.Records {
		if r.Kind == Drop {
			out[r.Annotation.Run] = true
		}
	}
	return out
}
