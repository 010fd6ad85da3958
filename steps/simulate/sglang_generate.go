package simulate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/transfer"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// generateRequest is the part of SGLang's GenerateReqInput that changes the simulation.
type generateRequest struct {
	Text     json.RawMessage `json:"text"`
	InputIDs json.RawMessage `json:"input_ids"`
	Sampling struct {
		MaxNewTokens *int `json:"max_new_tokens"`
		MinNewTokens int  `json:"min_new_tokens"`
		IgnoreEOS    bool `json:"ignore_eos"`
	} `json:"sampling_params"`
	Stream        bool `json:"stream"`
	ReturnLogprob bool `json:"return_logprob"`
	transfer.BootstrapFields
}

type generateBody struct {
	Text      string   `json:"text"`
	OutputIDs []int    `json:"output_ids"`
	Meta      metaInfo `json:"meta_info"`
}

type metaInfo struct {
	ID               string        `json:"id"`
	FinishReason     *finishReason `json:"finish_reason"`
	PromptTokens     int           `json:"prompt_tokens"`
	WeightVersion    string        `json:"weight_version"`
	NumRetractions   int           `json:"num_retractions"`
	CompletionTokens int           `json:"completion_tokens"`
	CachedTokens     int           `json:"cached_tokens"`
	E2ELatency       *float64      `json:"e2e_latency,omitempty"`
	// Logprobs is a list of log-probability, token id and text (null).
	Logprobs [][3]any `json:"output_token_logprobs,omitempty"`
}

type finishReason struct {
	Type   string `json:"type"`
	Length int    `json:"length,omitempty"`
}

// generate serves SGLang's native endpoint. Streamed text is cumulative.
func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	if s.garbage(w) {
		return
	}
	arrived := s.arrival(r)
	g, err := s.acceptGenerate(r)
	if err != nil {
		s.failGenerate(w, err)
		return
	}
	g.id = fmt.Sprintf("%032x", s.driver.nextAnswer())
	var ev *wire.Events
	if g.stream {
		ev = wire.NewEvents(w)
	}
	body := generateBody{Meta: metaInfo{ID: g.id, PromptTokens: len(g.prompt), WeightVersion: "default"}}
	err = s.driver.generate(r.Context(), arrived, g.prompt, g.output, g.exchange, func(t token) error {
		if g.logprobs {
			ids := t.ids()
			for i, p := range s.logprobsOf(g, ids) {
				body.Meta.Logprobs = append(body.Meta.Logprobs, [3]any{p, ids[i], nil})
			}
		}
		body.add(g, t, arrived)
		if ev == nil {
			return nil
		}
		return ev.Send(body)
	})
	switch {
	case err != nil:
		s.interrupted(w, ev, err)
	case ev != nil:
		s.stats.finish(g.finish)
		ev.Done()
	default:
		s.stats.finish(g.finish)
		wire.WriteJSON(w, http.StatusOK, body)
	}
}

// add adds a step's tokens to the cumulative answer.
func (b *generateBody) add(g *generation, t token, arrived time.Duration) {
	ids := t.ids()
	b.Text += model.Decode(ids)
	b.OutputIDs = append(b.OutputIDs, ids...)
	b.Meta.CompletionTokens, b.Meta.CachedTokens = t.Index+1, t.Cached
	if t.Last {
		latency := (t.at - arrived).Seconds()
		b.Meta.E2ELatency = &latency
		b.Meta.FinishReason = &finishReason{Type: g.finish}
		if g.finish == "length" {
			b.Meta.FinishReason.Length = t.Index + 1
		}
	}
}

func (s *Server) acceptGenerate(r *http.Request) (*generation, error) {
	var req generateRequest
	if err := wire.ReadJSON(r, &req); err != nil {
		return nil, wire.BadRequest("%v", err)
	}
	raw := req.InputIDs
	if len(raw) == 0 {
		raw = req.Text
	}
	prompt, err := promptIDs(raw)
	if err != nil {
		return nil, err
	}
	want := 128 // SamplingParams.max_new_tokens
	if req.Sampling.MaxNewTokens != nil {
		want = *req.Sampling.MaxNewTokens
	}
	if err := s.checkLengths(len(prompt), want); err != nil {
		return nil, err
	}
	g := &generation{prompt: prompt, stream: req.Stream, logprobs: req.ReturnLogprob}
	g.output, g.finish = model.Answer(prompt, want, req.Sampling.MinNewTokens, req.Sampling.IgnoreEOS)
	return g, s.addExchange(g, transfer.Request{Bootstrap: req.BootstrapFields})
}

// failGenerate writes an error as /generate does: nested, without a type.
func (s *Server) failGenerate(w http.ResponseWriter, err error) {
	wire.WriteJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]string{"message": err.Error()}})
}
