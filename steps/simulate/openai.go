package simulate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/transfer"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// routesOpenAI adds the endpoints that all engines have.
func (s *Server) routesOpenAI(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, r *http.Request) { s.openai(w, r, false) })
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.openai(w, r, true) })
	mux.HandleFunc("POST /v1/embeddings", s.embeddings)
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	model := map[string]any{
		"id": s.launch.served, "object": "model", "created": time.Now().Unix(), "owned_by": s.launch.engine.name(),
		"root": s.launch.model, "parent": nil, "max_model_len": s.launch.config.MaxModelLen,
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{model}})
}

// openaiRequest holds the fields of completions and chat that change the simulation.
type openaiRequest struct {
	Model               string          `json:"model"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            []chatMessage   `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           int             `json:"min_tokens"`
	N                   *int            `json:"n"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	Stream              bool            `json:"stream"`
	Logprobs            json.RawMessage `json:"logprobs"`
	StreamOptions       struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	KVTransferParams json.RawMessage `json:"kv_transfer_params"`
	transfer.BootstrapFields
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// generation is one accepted request for tokens.
type generation struct {
	id      string
	created int64
	chat    bool
	prompt  []int
	// output is the number of tokens to generate, finish the reason after them.
	output int
	finish string

	stream, usage, continuous bool
	// logprobs is set if they are requested; scored are the tokens so far with log-probabilities.
	logprobs bool
	scored   []int
	// exchange of KV with another server, nil for none.
	exchange *transfer.Exchange
}

// openai serves /v1/completions and /v1/chat/completions.
func (s *Server) openai(w http.ResponseWriter, r *http.Request, chat bool) {
	if s.garbage(w) {
		return
	}
	at := s.arrival(r)
	var req openaiRequest
	if err := wire.ReadJSON(r, &req); err != nil {
		s.fail(w, wire.BadRequest("%v", err))
		return
	}
	g, err := s.accept(req, chat)
	if err == nil {
		err = s.addExchange(g, transfer.Request{Params: req.KVTransferParams, Bootstrap: req.BootstrapFields})
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	g.id, g.created = s.answerID(chat), time.Now().Unix()
	if g.stream {
		s.streamOpenAI(w, r, at, g)
		return
	}
	var ids []int
	var last token
	err = s.driver.generate(r.Context(), at, g.prompt, g.output, g.exchange, func(t token) error {
		ids, last = append(ids, t.ids()...), t
		return nil
	})
	if err != nil {
		s.interrupted(w, nil, err)
		return
	}
	s.stats.finish(g.finish)
	s.stamp(w, last)
	wire.WriteJSON(w, http.StatusOK, s.openaiBody(g, ids, last))
}

// adapterNames returns the names of adapters, each NAME=PATH or a JSON object with a name.
func adapterNames(values []string) []string {
	var names []string
	for _, v := range values {
		var object struct {
			Name     string `json:"name"`
			LoraName string `json:"lora_name"` // SGLang's
		}
		if json.Unmarshal([]byte(v), &object) == nil {
			names = append(names, cmp.Or(object.Name, object.LoraName))
			continue
		}
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	return names
}

// serves returns an error for a model that the server does not have. An empty name means its own.
func (s *Server) serves(model string) error {
	if model == "" || model == s.launch.served || slices.Contains(s.launch.adapters, model) {
		return nil
	}
	return wire.Error{Status: http.StatusNotFound, Kind: "NotFoundError", Param: "model",
		Message: fmt.Sprintf("The model `%s` does not exist.", model)}
}

// accept checks a request and resolves its lengths.
func (s *Server) accept(req openaiRequest, chat bool) (*generation, error) {
	if err := s.serves(req.Model); err != nil {
		return nil, err
	}
	if req.N != nil && *req.N != 1 {
		return nil, wire.BadRequest("the simulated server makes one answer for each request; send n=1")
	}
	g := &generation{chat: chat, stream: req.Stream, usage: req.StreamOptions.IncludeUsage, continuous: req.StreamOptions.IncludeUsage &&
		req.StreamOptions.ContinuousUsageStats}
	if wanted := string(req.Logprobs); wanted != "" && wanted != "null" && wanted != "false" {
		g.logprobs = true
	}
	var err error
	if chat {
		g.prompt, err = chatPrompt(req.Messages)
	} else {
		g.prompt, err = promptIDs(req.Prompt)
	}
	if err != nil {
		return nil, err
	}
	limit := req.MaxCompletionTokens
	if limit == nil {
		limit = req.MaxTokens
	}
	room := s.launch.config.MaxModelLen - len(g.prompt)
	want := 16 // the default of completions; chat's is the remaining context
	if chat {
		want = room
	}
	if limit != nil {
		want = *limit
	}
	if err := s.checkLengths(len(g.prompt), want); err != nil {
		return nil, err
	}
	g.output, g.finish = model.Answer(g.prompt, want, req.MinTokens, req.IgnoreEOS)
	return g, nil
}

// addExchange decides what the request does with KV besides computing.
func (s *Server) addExchange(g *generation, r transfer.Request) (err error) {
	if s.kv == nil {
		if len(r.Params) > 0 && string(r.Params) != "null" {
			s.log.core("WARNING", "scheduler.py:120", "Got kv_transfer_params, but no KVConnector found. Disabling KVTransfer for this request.")
		}
		return nil
	}
	g.exchange, err = s.kv.ExchangeFor(r)
	if s.launch.engine.oneToken() && s.kv.Part().Produces {
		g.output, g.finish = 1, "length" // the decode server generates the others
	}
	return err
}

// checkLengths rejects lengths that do not fit, in the words of vLLM 0.11.
func (s *Server) checkLengths(input, want int) error {
	limit := s.launch.config.MaxModelLen
	switch {
	case input == 0:
		return wire.BadRequest("The decoder prompt cannot be empty")
	case want < 1:
		return wire.BadRequest("max_tokens must be at least 1, got %d.", want)
	case input >= limit:
		return wire.BadRequest("This model's maximum context length is %d tokens. However, your request has %d input tokens. Please reduce the "+
			"length of the input messages.", limit, input)
	case input+want > limit:
		return wire.BadRequest("'max_tokens' or 'max_completion_tokens' is too large: %d. This model's maximum context length is %d tokens and "+
			"your request has %d input tokens (%d > %d - %d).", want, limit, input, want, limit, input)
	}
	return nil
}

// promptIDs reads a prompt: text, token ids, or a list with one of either.
func promptIDs(raw json.RawMessage) ([]int, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, wire.BadRequest("the prompt is missing")
	}
	var text string
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, wire.BadRequest("the prompt is not valid: %v", err)
		}
		return model.Encode(text), nil
	}
	var ids []int
	if err := json.Unmarshal(raw, &ids); err == nil {
		for _, id := range ids {
			if id < 0 {
				return nil, wire.BadRequest("Token id %d is out of vocabulary", id)
			}
		}
		return ids, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, wire.BadRequest("the prompt must be text or token ids")
	}
	if len(list) != 1 {
		return nil, wire.BadRequest("the simulated server takes one prompt for each request; this one has %d", len(list))
	}
	return promptIDs(list[0])
}

// chatPrompt renders messages with a small template and encodes the text.
func chatPrompt(messages []chatMessage) ([]int, error) {
	if len(messages) == 0 {
		return nil, wire.BadRequest("the messages are missing")
	}
	var b strings.Builder
	for _, m := range messages {
		content, err := messageText(m.Content)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "<|%s|>\n%s\n", m.Role, content)
	}
	b.WriteString("<|assistant|>\n")
	return model.Encode(b.String()), nil
}

// messageText reads a content: text, null, or a list of parts, of which it uses the texts.
func messageText(raw json.RawMessage) (string, error) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", wire.BadRequest("the content of a message must be text or a list of parts")
	}
	for _, p := range parts {
		text += p.Text
	}
	return text, nil
}

// interrupted ends a request after a client's disconnect, an engine crash or an injected failure.
func (s *Server) interrupted(w http.ResponseWriter, ev *wire.Events, err error) {
	s.stats.finish("abort")
	if errors.Is(err, errInStream) {
		failure := wire.Error{Status: http.StatusInternalServerError, Kind: "InternalServerError",
			Message: "EngineCore encountered an issue. See stack trace (above) for the root cause."}
		if ev == nil || !ev.Started {
			s.fail(w, failure)
			return
		}
		_ = ev.Send(map[string]any{"error": nestedError{Message: failure.Message, Type: failure.Kind, Code: failure.Status}})
		ev.Done()
		return
	}
	if errors.Is(err, transfer.ErrLoad) {
		err = wire.Error{Status: 500, Kind: "InternalServerError", Message: s.launch.engine.loadError(err)}
	}
	var refused wire.Error
	if (ev == nil || !ev.Started) && (errors.As(err, &refused) || errors.Is(err, model.ErrTooLong)) {
		s.fail(w, err)
		return
	}
	panic(http.ErrAbortHandler) // net/http closes the connection silently
}

// tokenize answers /tokenize in the form of vLLM and SGLang.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Prompt   json.RawMessage `json:"prompt"`
		Messages []chatMessage   `json:"messages"`
	}
	var ids []int
	err := wire.ReadJSON(r, &req)
	switch {
	case err != nil:
		err = wire.BadRequest("%v", err)
	case len(req.Messages) > 0:
		ids, err = chatPrompt(req.Messages)
	default:
		ids, err = promptIDs(req.Prompt)
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"tokens": ids, "count": len(ids), "max_model_len": s.launch.config.MaxModelLen})
}
