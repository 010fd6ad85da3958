package session

import "github.com/servegate/pipeline/pipeline/internal/event"

// info emits a note.
func (s *session) info(text string) {
	s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Note, Text: text})
}

// warn emits a warning.
func (s *session) warn(text string) { s.warnAll([]string{text}) }

// warnAll emits several warnings.
func (s *session) warnAll(texts []string) {
	for _, text := range texts {
		s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Warning, Text: text})
	}
}
