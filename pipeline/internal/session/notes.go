package session

import "github.com/servegate/pipeline/pipeline/internal/event"

// info notes something that is not wrong.
func (s *session) info(text string) {
	s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Note, Text: text})
}

// warn notes something that does not end the run.
func (s *session) warn(text string) { s.warnAll([]string{text}) }

// warnAll warns of things that do not end the run.
func (s *session) warnAll(texts []string) {
	for _, text := range texts {
		s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Warning, Text: text})
	}
}
