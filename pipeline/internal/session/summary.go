package session

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
)

// showGates emits the verdict of each gate.
func (s *session) showGates(context.Context) error {
	for i := range s.doc.Gates {
		g := &s.doc.Gates[i]
		s.bus.Emit(event.Event{Type: event.GateResult, Addr: g.Addr, Gate: g, Verdict: g.Verdict, Range: &g.Range})
	}
	return nil
}

// summarize ends the journal with the verdict. An error means that the journal is incomplete.
func (s *session) summarize(context.Context) error {
	code := s.doc.ExitCode
	if s.err != nil || s.bus.Err() != nil {
		code = result.ExitInfrastructure
	}
	s.bus.Emit(event.Event{Type: event.Summary, Verdict: s.doc.Verdict, ExitCode: &code, Text: s.doc.StatusReason})
	return s.bus.Err()
}
