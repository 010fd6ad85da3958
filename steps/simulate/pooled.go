package simulate

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/wire"
)

// A request that generates nothing is one prefill for each of its prompts. It costs the time of a
// step, and the content of its answer has no meaning.

// pool runs prompts through the model and reports whether all succeeded. It answers errors itself.
func (s *Server) pool(w http.ResponseWriter, r *http.Request, at time.Duration, name string, prompts [][]int) bool {
	err := s.serves(name)
	for _, p := range prompts {
		if err == nil {
			err = s.checkLengths(len(p), 1)
		}
	}
	if err != nil {
		s.fail(w, err)
		return false
	}
	errs, tokens := make([]error, len(prompts)), make([]token, len(prompts))
	var all sync.WaitGroup
	for i, p := range prompts {
		all.Go(func() {
			errs[i] = s.driver.generate(r.Context(), at, p, 1, nil, func(t token) error { tokens[i] = t; return nil })
		})
	}
	all.Wait()
	var last token
	for i, err := range errs {
		if err != nil {
			s.interrupted(w, nil, err)
			return false
		}
		if tokens[i].at >= last.at {
			last = tokens[i]
		}
	}
	s.stats.finish("stop")
	s.stamp(w, last)
	return true
}

// embeddings serves /v1/embeddings, for one prompt.
func (s *Server) embeddings(w http.ResponseWriter, r *http.Request) {
	if s.garbage(w) {
		return
	}
	at := s.arrival(r)
	var req struct {
		Model string          `json:"model"`
		Input json.RawMessage `json:"input"`
	}
	if err := wire.ReadJSON(r, &req); err != nil {
		s.fail(w, wire.BadRequest("%v", err))
		return
	}
	prompt, err := promptIDs(req.Input)
	if err != nil {
		s.fail(w, err)
		return
	}
	if !s.pool(w, r, at, req.Model, [][]int{prompt}) {
		return
	}
	vector := make([]float64, 8)
	for i := range vector {
		vector[i] = standIn(prompt, i) - 0.5
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{
		"object": "list", "model": s.launch.served, "data": []any{map[string]any{"object": "embedding", "index": 0, "embedding": vector}},
		"usage": map[string]any{"prompt_tokens": len(prompt), "total_tokens": len(prompt)},
	})
}

// ranked is a document with its score.
type ranked struct {
	document string
	score    float64
}

// ranking serves /v1/rerank. form builds the engine's answer from the documents in order and the
// number of tokens that were read.
func (s *Server) ranking(form func(documents []ranked, tokens int) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.garbage(w) {
			return
		}
		at := s.arrival(r)
		var req struct {
			Model     string   `json:"model"`
			Query     string   `json:"query"`
			Documents []string `json:"documents"`
		}
		if err := wire.ReadJSON(r, &req); err != nil {
			s.fail(w, wire.BadRequest("%v", err))
			return
		}
		if req.Query == "" || len(req.Documents) == 0 {
			s.fail(w, wire.BadRequest("a query and documents are needed"))
			return
		}
		var prompts [][]int
		var list []ranked
		tokens := 0
		for _, d := range req.Documents {
			raw, _ := json.Marshal(req.Query + "\n" + d) // a string can always be encoded
			ids, err := promptIDs(raw)
			if err != nil {
				s.fail(w, err)
				return
			}
			prompts, list, tokens = append(prompts, ids), append(list, ranked{d, standIn(ids, 0)}), tokens+len(ids)
		}
		if s.pool(w, r, at, req.Model, prompts) {
			wire.WriteJSON(w, http.StatusOK, form(list, tokens))
		}
	}
}

// standIn returns a number from 0 to 1 that is the same for the same prompt.
func standIn(ids []int, place int) float64 {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, place, ids)
	return float64(h.Sum32()) / (1 << 32)
}

// rankingVLLM returns vLLM's answer of /v1/rerank.
func (s *Server) rankingVLLM(documents []ranked, tokens int) any {
	results := make([]any, len(documents))
	for i, d := range documents {
		results[i] = map[string]any{"index": i, "document": map[string]any{"text": d.document}, "relevance_score": d.score}
	}
	return map[string]any{
		"id": s.answerID(false), "model": s.launch.served, "results": results, "usage": map[string]any{"prompt_tokens": tokens,
			"total_tokens": tokens},
	}
}

// rankingSGLang returns SGLang's answer of /v1/rerank.
func (*Server) rankingSGLang(documents []ranked, _ int) any {
	results := make([]any, len(documents))
	for i, d := range documents {
		results[i] = map[string]any{"score": d.score, "document": d.document, "index": i}
	}
	return results
}
