package engine

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
)

// stateApplied is the state of a server that another tool has applied.
const stateApplied = "applied"

// recordApplied records what another tool applied to start a member. All launches of a target should apply the same.
func (r *runner) recordApplied(s *server, m *member) {
	applied := m.capabilities().Applied
	if applied == nil {
		return
	}
	now := &result.Applied{Digest: applied.Digest, Text: r.o.Redact.String(applied.Text), Cut: applied.Cut}
	r.mu.Lock()
	before := r.out.Applied[s.Target]
	r.out.Applied[s.Target] = now // here and by the event, so that of two lanes at the same time one sees the other
	r.mu.Unlock()
	e := event.Event{Type: event.LaunchState, State: stateApplied, Text: fmt.Sprintf("%s: applied %s", m.label(s.Target), now.Short())}
	if before == nil || before.Digest != now.Digest {
		e.Applied = now
	}
	r.emit(s, e)
	if e.Applied != nil && before != nil {
		r.warn(fmt.Sprintf("%s applied something else (%s) than before (%s), so that its launches are not alike",
			s.Target, now.Short(), before.Short()))
	}
}

// warnOfEqual warns of sides that differ in the file, and for which the same was applied.
func warnOfEqual(doc *result.Document) {
	for _, s := range doc.AppliedSides() {
		if s.BaseApplied.Digest == s.HeadApplied.Digest {
			doc.Warnings = append(doc.Warnings, strings.TrimSuffix(s.Note(), "."))
		}
	}
}
