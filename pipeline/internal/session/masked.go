package session

import (
	"context"
	"encoding/json"

	"github.com/servegate/pipeline/pipeline/internal/event"
)

// masked hands events on with secrets masked in every text of them.
type masked struct {
	next   event.Handler
	redact *event.Redactor
}

// Handle masks by way of JSON, the form in which every field of an event is text. An
// event that does not survive it is dropped: nothing is shown rather than a secret.
func (m masked) Handle(e event.Event) {
	text, err := json.Marshal(e)
	if err != nil {
		return
	}
	var clean event.Event
	if json.Unmarshal(m.redact.JSON(text), &clean) == nil {
		m.next.Handle(clean)
	}
}

// mask masks the secrets in the result, before anything is rendered: a report escapes texts in ways of its own.
func (s *session) mask(context.Context) error {
	s.redact.Value(s.doc)
	return nil
}
