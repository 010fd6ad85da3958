package githubtest

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Fault replaces or follows the execution of one request.
type Fault struct {
	// Status and Message of the answer; 0 breaks the connection.
	Status  int
	Message string
	Header  map[string]string
	// Done executes the request first.
	Done bool
	// Hang does not answer until the client gives up.
	Hang bool
}

// The faults that tests use.
var (
	LoseReply   = Fault{Done: true}
	LoseRequest = Fault{}
	Hang        = Fault{Hang: true}
	Forbidden   = Fault{Status: http.StatusForbidden, Message: "Resource not accessible by integration"}
	NotFound    = Fault{Status: http.StatusNotFound, Message: "Not Found"}
	BadGateway  = Fault{Status: http.StatusBadGateway, Message: "Server Error"}
)

// Limited returns a rate limit that asks to wait.
func Limited(status, seconds int) Fault {
	return Fault{
		Status: status, Message: "You have exceeded a secondary rate limit",
		Header: map[string]string{"Retry-After": strconv.Itoa(seconds)},
	}
}

// take removes the next fault of an operation.
func (s *Server) take(op string) (f Fault, ok bool) {
	s.with(func() {
		s.requests = append(s.requests, op)
		if f, ok = s.always[op]; ok {
			return
		}
		if list := s.faults[op]; len(list) > 0 {
			f, ok, s.faults[op] = list[0], true, list[1:]
		}
	})
	return f, ok
}

// handler answers a request. It has exclusive access to the server.
type handler func(*http.Request) reply

// reply is an answer; without a body it has no content.
type reply struct {
	status int
	body   any
	header map[string]string
}

var notFound = refuse(http.StatusNotFound, "Not Found")

// invalid returns a validation error.
func invalid(problem string) reply {
	return refuse(http.StatusUnprocessableEntity, "Validation Failed", problem)
}

func refuse(status int, message string, details ...string) reply {
	errs := []object{}
	for _, d := range details {
		errs = append(errs, object{"message": d})
	}
	return reply{status: status, body: object{"message": message, "errors": errs, "documentation_url": "https://docs.github.com/rest"}}
}

func ok(body any) reply      { return reply{status: http.StatusOK, body: body} }
func created(body any) reply { return reply{status: http.StatusCreated, body: body} }

// wrap applies faults to a handler.
func (s *Server) wrap(op string, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.Before != nil {
			s.Before(op)
		}
		if r.Header.Get("Authorization") != "Bearer "+Token {
			refuse(http.StatusUnauthorized, "Bad credentials").write(w)
			return
		}
		f, failing := s.take(op)
		var answer reply
		if !failing || f.Done {
			s.with(func() { answer = h(r) })
		}
		if f.Hang {
			<-r.Context().Done()
		}
		switch {
		case !failing:
		case f.Status == 0:
			panic(http.ErrAbortHandler) // breaks the connection
		default:
			answer = refuse(f.Status, f.Message)
			answer.header = f.Header
		}
		answer.write(w)
	}
}

func (a reply) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
	if a.body != nil {
		_ = json.NewEncoder(w).Encode(a.body) // the client may be gone
	}
}
