package session

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/servegate/pipeline/pipeline/internal/event"
)

// masked forwards events with the secrets in all their texts masked.
type masked struct {
	next   event.Handler
	redact *event.Redactor
}

// Handle masks an event in its JSON form, which contains every field as text. It passes on an event without secrets as
// it is, and drops an event that cannot be converted, rather than show a secret.
func (m masked) Handle(e event.Event) {
	text, err := json.Marshal(e)
	if err != nil {
		return
	}
	masked := m.redact.JSON(text)
	if bytes.Equal(masked, text) {
		m.next.Handle(e)
		return
	}
	var clean event.Event
	if json.Unmarshal(masked, &clean) == nil {
		m.next.Handle(clean)
	}
}

// mask masks the secrets in the result before rendering, because a report may escape texts.
func (s *session) mask(context.Context) error {
	s.redact.Value(s.doc)
	return nil
}
