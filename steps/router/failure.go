package router

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
)

// The classes of failures.
const (
	classBadRequest  = "bad_request" // error of the client
	classTooLarge    = "too_large"   // body of the request
	classOverloaded  = "overloaded"  // bodies of all requests and prefill's answers to them, together
	classUnreachable = "unreachable" // no connection to the server
	classClosed      = "closed"      // the connection ended before an answer
	classCut         = "cut"         // the answer ended in the middle
	classTimeout     = "timeout"
	classStatus      = "status"       // the server answered with another status than 2xx
	classBadAnswer   = "bad_answer"   // prefill's answer cannot be parsed
	classNoParams    = "no_kv_params" // prefill's answer would make decode compute the prompt again
	classBootstrap   = "bootstrap"    // of Mooncake's bootstrap server
)

// failure ends a request. Its member is nil if the client caused it.
type failure struct {
	class  string
	member *member
	err    error
	// answer, if set, is a server's error response, which is passed to the client unchanged.
	answer *refusal
	// answered is true if the client already has the server's response.
	answered bool
}

// refusal is the response of a prefill server with a status other than 2xx.
type refusal struct {
	status int
	header http.Header
	body   []byte
}

func (f *failure) Error() string {
	if f.member == nil {
		return f.err.Error()
	}
	return f.member.role + " server " + strconv.Quote(f.member.Name) + ": " + f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// asFailure converts an error of preparing a request to a failure.
func asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return &failure{class: classBadRequest, err: err}
}

// errClientGone is the cause of a context whose client has closed its connection. errPartner is the cause if
// the other half has failed and reported it.
var (
	errClientGone = errors.New("the client closed the connection")
	errPartner    = errors.New("the other server failed")
	errTimeout    = errors.New("no answer in time")
)

// exchangeError classifies an error between router and server. during is the class of unknown errors.
func exchangeError(ctx context.Context, m *member, err error, during string) *failure {
	f := &failure{class: during, member: m, err: err}
	op, isOp := errors.AsType[*net.OpError](err)
	var timeout net.Error
	switch {
	case isOp && op.Op == "dial":
		f.class = classUnreachable
	case errors.Is(context.Cause(ctx), errTimeout):
		f.class, f.err = classTimeout, errTimeout
	case errors.As(err, &timeout) && timeout.Timeout():
		f.class = classTimeout
	case errors.Is(err, io.EOF):
		f.err = errors.New("the server closed the connection without an answer")
	case errors.Is(err, io.ErrUnexpectedEOF):
		f.err = errors.New("the server closed the connection in the middle of its answer")
	}
	return f
}

// status returns the HTTP status for the client.
func (f *failure) status() int {
	switch f.class {
	case classBadRequest:
		return http.StatusBadRequest
	case classTooLarge:
		return http.StatusRequestEntityTooLarge
	case classOverloaded:
		return http.StatusServiceUnavailable
	case classTimeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// write sends the failure to the client.
func (f *failure) write(w http.ResponseWriter) {
	if a := f.answer; a != nil {
		copyHeader(w.Header(), a.header)
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		w.Header().Set(headerFailed, f.member.Name)
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body)
		return
	}
	if f.member != nil {
		w.Header().Set(headerFailed, f.member.Name)
	}
	writeError(w, f.status(), f.class, f.Error())
}

// writeError writes an error in the format of OpenAI's API.
func writeError(w http.ResponseWriter, status int, class, message string) {
	kind := "router_error"
	if status < 500 {
		kind = "invalid_request_error"
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{
		"message": message, "type": kind, "param": nil, "code": class,
	}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
