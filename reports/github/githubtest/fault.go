package githubtest

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Fault is what happens to one request instead of, or after, what it asks for.
type Fault struct {
	// Status and Message of the answer; 0 breaks the connection.
	Status  int
	Message string
	Header  map[string]string
	// Done carries the request out before.
	Done bool
	// Hang answers nothing until the client gives up.
	Hang bool
}

// The faults that tests ask for.
var (
	LoseReply   = Fault{Done: true}
	LoseRequest = Fault{}
	Hang        = Fault{Hang: true}
	Forbidden   = Fault{Status: http.StatusForbidden, Message: "Resource not accessible by integration"}
	NotFound    = Fault{Status: http.StatusNotFound, Message: "Not Found"}
	BadGateway  = Fault{Status: http.StatusBadGateway, Message: "Server Error"}
)

// Limited is a rate limit that asks to wait.
func Limited(status, seconds int) Fault {
	return Fault{
		Status: status, Message: "You have exceeded a secondary rate limit",
		Header: map[string]string{"Retry-After": strconv.Itoa(seconds)},
	}
}

// take removes the next fault of an operation.
func (s *Server) take(op string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, op)
	if f, ok := s.always[op]; ok {
		return f, true
	}
	list := s.faults[op]
	if len(list) == 0 {
		return Fault{}, false
	}
	s.faults[op] = list[1:]
	return list[0], true
}

// discard is a response that is lost.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// wrap lets faults happen to a handler.
func (s *Server) wrap(op string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.Before != nil {
			s.Before(op)
		}
		if r.Header.Get("Authorization") != "Bearer "+Token {
			refuse(w, http.StatusUnauthorized, "Bad credentials")
			return
		}
		f, ok := s.take(op)
		if !ok {
			h(w, r)
			return
		}
		if f.Done {
			h(discard{http.Header{}}, r)
		}
		if f.Hang {
			<-r.Context().Done()
		}
		if f.Status == 0 {
			panic(http.ErrAbortHandler) // breaks the connection without a word
		}
		for k, v := range f.Header {
			w.Header().Set(k, v)
		}
		refuse(w, f.Status, f.Message)
	}
}

func refuse(w http.ResponseWriter, status int, message string, details ...string) {
	type detail struct {
		Message string `json:"message"`
	}
	body := struct {
		Message string   `json:"message"`
		Errors  []detail `json:"errors,omitempty"`
		URL     string   `json:"documentation_url"`
	}{Message: message, URL: "https://docs.github.com/rest"}
	for _, d := range details {
		body.Errors = append(body.Errors, detail{d})
	}
	answer(w, status, body)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body) // the client may be gone
	}
}
