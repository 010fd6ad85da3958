package githubtest

import (
	"errors"
	"net/http"
	"net/http/httptest"
)

// dated writes the server's time into its answers.
func (s *Server) dated() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
		s.mux.ServeHTTP(w, r)
	})
}

// Transport answers requests to the server without a network.
func (s *Server) Transport() http.RoundTripper { return direct{s.dated()} }

type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	w := httptest.NewRecorder()
	defer func() {
		switch broken := recover(); {
		case broken == nil:
		case r.Context().Err() != nil:
			resp, err = nil, r.Context().Err()
		case broken == http.ErrAbortHandler: //nolint:errorlint // the value that was thrown
			resp, err = nil, errors.New("connection reset by peer")
		default:
			panic(broken)
		}
	}()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	d.handler.ServeHTTP(w, r)
	return w.Result(), nil
}
