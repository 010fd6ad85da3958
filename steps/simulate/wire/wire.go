// Package wire reads and writes the HTTP bodies of simulated servers.
package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxBody limits a request's body: a prompt of a million tokens as JSON numbers fits.
const maxBody = 32 << 20

// ReadJSON decodes a request's body; like the engines, it ignores unknown fields.
func ReadJSON(r *http.Request, into any) error {
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

func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone if this fails
}

// Error is an error with the status and the type of the engine.
type Error struct {
	Status  int
	Kind    string
	Param   string
	Message string
}

func (e Error) Error() string { return e.Message }

func BadRequest(format string, args ...any) error {
	return Error{Status: http.StatusBadRequest, Kind: "BadRequestError", Message: fmt.Sprintf(format, args...)}
}

// Events writes server-sent events, each flushed on its own.
type Events struct {
	w       http.ResponseWriter
	flush   *http.ResponseController
	Started bool
	buf     []byte
}

func NewEvents(w http.ResponseWriter) *Events {
	return &Events{w: w, flush: http.NewResponseController(w)}
}

func (e *Events) Send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.raw(data)
}

func (e *Events) raw(data []byte) error {
	if !e.Started {
		e.Started = true
		e.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		e.w.WriteHeader(http.StatusOK)
	}
	e.buf = append(append(append(e.buf[:0], "data: "...), data...), "\n\n"...)
	if _, err := e.w.Write(e.buf); err != nil {
		return err
	}
	return e.flush.Flush()
}

func (e *Events) Done() { _ = e.raw([]byte("[DONE]")) }
