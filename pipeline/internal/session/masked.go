package session

import "context"

// mask masks the secrets in the result before rendering, because a report may escape texts.
func (s *session) mask(context.Context) error {
	s.redact.Value(s.doc)
	return nil
}
