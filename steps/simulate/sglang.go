package simulate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// routesSGLang are the endpoints of SGLang beside the OpenAI ones.
func (s *Server) routesSGLang(mux *http.ServeMux) {
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("/ping", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /health_generate", s.healthGenerate)
	mux.HandleFunc("/generate", s.generate)
	for _, path := range []string{"GET /server_info", "GET /get_server_info"} {
		mux.HandleFunc(path, s.serverInfo)
	}
	for _, path := range []string{"GET /model_info", "GET /get_model_info"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, map[string]any{"model_path": s.launch.model, "tokenizer_path": s.launch.model, "is_generation": true, "weight_version": "default"})
		})
	}
	mux.HandleFunc("POST /v1/tokenize", s.tokenize)
	mux.HandleFunc("POST /v1/detokenize", s.detokenize)
	mux.HandleFunc("/flush_cache", s.flushCache)
	if s.launch.metrics {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
			st := s.driver.snapshot()
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_ = s.stats.writeSGLang(w, s.launch, st, s.driver.throughput(), s.driver.late, s.kv) // the client is gone if this fails
		})
	}
}

// healthGenerate runs one real token through the engine.
func (s *Server) healthGenerate(w http.ResponseWriter, r *http.Request) {
	if err := s.driver.generate(r.Context(), s.clock.Now(), []int{0}, 1, nil, func(token) error { return nil }); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) flushCache(w http.ResponseWriter, _ *http.Request) {
	status := http.StatusOK
	if !s.driver.resetPrefixCache() {
		status = http.StatusBadRequest
	}
	w.WriteHeader(status)
	fmt.Fprint(w, "Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n")
}

func (s *Server) serverInfo(w http.ResponseWriter, _ *http.Request) {
	l, c := s.launch, s.launch.config
	writeJSON(w, http.StatusOK, map[string]any{
		"model_path": l.model, "served_model_name": l.served, "version": l.version, "context_length": c.MaxModelLen,
		"tp_size": c.GPUs, "chunked_prefill_size": c.Budget, "max_running_requests": c.MaxSeqs, "enable_mixed_chunk": c.Mixed,
		"disable_radix_cache": !c.PrefixCache, "disable_cuda_graph": l.eager, "max_total_num_tokens": c.KVTokens(),
		"device": c.Profile.Device, "simulated": true,
		"internal_states": []any{map[string]any{"last_gen_throughput": s.driver.throughput(), "effective_max_running_requests_per_dp": c.MaxSeqs}},
	})
}

// generateRequest is the part of SGLang's GenerateReqInput that changes what is simulated.
type generateRequest struct {
	Text     json.RawMessage `json:"text"`
	InputIDs json.RawMessage `json:"input_ids"`
	Sampling struct {
		MaxNewTokens *int `json:"max_new_tokens"`
		MinNewTokens int  `json:"min_new_tokens"`
		IgnoreEOS    bool `json:"ignore_eos"`
	} `json:"sampling_params"`
	Stream bool `json:"stream"`
	bootstrapFields
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
	var ev *events
	if g.stream {
		ev = newEvents(w)
	}
	body := generateBody{Meta: metaInfo{ID: g.id, PromptTokens: len(g.prompt), WeightVersion: "default"}}
	err = s.driver.generate(r.Context(), arrived, g.prompt, g.output, g.exchange, func(t token) error {
		body.add(g, t, arrived)
		if ev == nil {
			return nil
		}
		return ev.send(body)
	})
	switch {
	case err != nil:
		s.interrupted(w, ev, err)
	case ev != nil:
		s.stats.finish(g.finish)
		ev.done()
	default:
		s.stats.finish(g.finish)
		writeJSON(w, http.StatusOK, body)
	}
}

// add a token to the cumulative answer.
func (b *generateBody) add(g *generation, t token, arrived time.Duration) {
	b.Text += model.Decode([]int{t.Token})
	b.OutputIDs = append(b.OutputIDs, t.Token)
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
	if err := readJSON(r, &req); err != nil {
		return nil, badRequest("%v", err)
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
	g := &generation{prompt: prompt, stream: req.Stream}
	g.output, g.finish = model.Answer(prompt, want, req.Sampling.MinNewTokens, req.Sampling.IgnoreEOS)
	return g, s.addExchange(g, kvRequest{bootstrap: req.bootstrapFields, prompt: prompt})
}

// failGenerate prints an error as /generate does: nested, without a type of its own.
func (s *Server) failGenerate(w http.ResponseWriter, err error) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]string{"message": err.Error()}})
}
