package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// maxBody bounds a request's body: a prompt of a million tokens as JSON numbers fits.
const maxBody = 32 << 20

// readJSON decodes a request's body; unknown fields are ignored, as the engines do.
func readJSON(r *http.Request, into any) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if len(body) > maxBody {
		return fmt.Errorf("the request is larger than %d bytes", maxBody)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the request is not valid JSON for this endpoint: %w", err)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone if this fails
}

// apiError is an error with the status and the type that the engine gives it.
type apiError struct {
	status  int
	kind    string
	param   string
	message string
}

func (e apiError) Error() string { return e.message }

func badRequest(format string, args ...any) error {
	return apiError{status: http.StatusBadRequest, kind: "BadRequestError", message: fmt.Sprintf(format, args...)}
}

// errorBody is an error as the engine's OpenAI endpoints print it: flat with
// "object":"error" in vLLM before 0.10 and in SGLang, nested under "error" since.
func (s *Server) errorBody(err error) (int, any) {
	var e apiError
	if !errors.As(err, &e) {
		e = apiError{status: http.StatusInternalServerError, kind: "InternalServerError", message: err.Error()}
		if errors.Is(err, model.ErrTooLong) {
			e = apiError{status: http.StatusBadRequest, kind: "BadRequestError", message: err.Error()}
		}
	}
	var param any
	if e.param != "" {
		param = e.param
	}
	if s.launch.engine.flatErrors(s.launch.version) {
		return e.status, flatError{Object: "error", Message: e.message, Type: e.kind, Param: param, Code: e.status}
	}
	return e.status, map[string]any{"error": nestedError{Message: e.message, Type: e.kind, Param: param, Code: e.status}}
}

type flatError struct {
	Object  string `json:"object"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"`
	Code    int    `json:"code"`
}

type nestedError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"`
	Code    int    `json:"code"`
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	status, body := s.errorBody(err)
	writeJSON(w, status, body)
}

// events writes server-sent events, each flushed on its own.
type events struct {
	w       http.ResponseWriter
	flush   *http.ResponseController
	started bool
	buf     []byte
}

func newEvents(w http.ResponseWriter) *events {
	return &events{w: w, flush: http.NewResponseController(w)}
}

func (e *events) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.raw(data)
}

func (e *events) raw(data []byte) error {
	if !e.started {
		e.started = true
		e.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		e.w.WriteHeader(http.StatusOK)
	}
	e.buf = append(append(append(e.buf[:0], "data: "...), data...), "\n\n"...)
	if _, err := e.w.Write(e.buf); err != nil {
		return err
	}
	return e.flush.Flush()
}

func (e *events) done() { _ = e.raw([]byte("[DONE]")) }
