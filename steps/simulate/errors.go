package simulate

import (
	"errors"
	"net/http"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// errorBody returns an error in the form of the engine's OpenAI endpoints: flat with
// "object":"error" in vLLM before 0.10 and in SGLang, nested under "error" otherwise.
func (s *Server) errorBody(err error) (int, any) {
	var e wire.Error
	if !errors.As(err, &e) {
		e = wire.Error{Status: http.StatusInternalServerError, Kind: "InternalServerError", Message: err.Error()}
		if errors.Is(err, model.ErrTooLong) {
			e = wire.Error{Status: http.StatusBadRequest, Kind: "BadRequestError", Message: err.Error()}
		}
	}
	var param any
	if e.Param != "" {
		param = e.Param
	}
	nested := nestedError{Message: e.Message, Type: e.Kind, Param: param, Code: e.Status}
	if s.launch.engine.flatErrors(s.launch.version) {
		return e.Status, flatError{"error", nested}
	}
	return e.Status, map[string]any{"error": nested}
}

type flatError struct {
	Object string `json:"object"`
	nestedError
}

type nestedError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"`
	Code    int    `json:"code"`
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	status, body := s.errorBody(err)
	wire.WriteJSON(w, status, body)
}
