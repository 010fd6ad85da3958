// Package sglang renders SGLang servers and talks to them.
//
//	e := sglang.New()
//	p, err := e.Render(spec, "127.0.0.1", 20000) // python3 -m sglang.launch_server --model-path MODEL --host ...
//	state, ready, err := e.Ready(ctx, steps.Endpoint{BaseURL: "http://127.0.0.1:20000", Model: spec.Model}, spec.Ready)
//
// It passes arguments through as flags; SGLang rejects those that it does not know. It starts no process and
// keeps no state.
package sglang

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// Name is the name of the kind.
const Name = "sglang"

// sglang is stateless.
type sglang struct{ client *engine.Client }

// New returns the engine.
func New() steps.Engine { return sglang{engine.NewClient()} }

// Endpoints lists the endpoints that both SGLang and the load generator support.
func (sglang) Endpoints() []string {
	return []string{"completions", "chat", "generate", "embeddings", "rerank"}
}

// Ready polls once; see [engine.Poll] for the states. In current versions SGLang's /health generates a token
// itself, but SGLang still lists its models before they are loaded.
func (s sglang) Ready(ctx context.Context, ep steps.Endpoint, r steps.Readiness) (string, bool, error) {
	return engine.Poll(ctx, s.client, ep, engine.Checks{Health: cmp.Or(r.Path, "/health"), NoCanary: r.NoCanary})
}

// Reset clears the radix cache with POST /flush_cache. SGLang answers 400 while requests are running; then
// Reset retries a few times.
func (s sglang) Reset(ctx context.Context, ep steps.Endpoint) error {
	return s.client.Reset(ctx, ep, "/flush_cache", "", func(a engine.Answer) bool { return a.Status == http.StatusBadRequest })
}

// Describe queries the resolved arguments and the model. Keys: version, model, model_root, max_model_len and
// server_info.*. It omits changing internal states. It fails only if the server answers neither query.
func (s sglang) Describe(ctx context.Context, ep steps.Endpoint) (map[string]string, error) {
	facts := engine.Facts{}
	models, err := s.client.Models(ctx, ep)
	if err == nil {
		facts.Model(models, ep.Model)
	}
	// The path was /get_server_info before 0.5.
	for _, path := range []string{"/server_info", "/get_server_info"} {
		a, ierr := s.client.Get(ctx, ep, path)
		if ierr == nil && a.OK() && facts.JSON("server_info", a.Body, "internal_states", "startup_time") == nil {
			facts.Set("version", facts["server_info.version"])
			break
		}
	}
	if len(facts) == 0 {
		return nil, fmt.Errorf("the server describes neither its model nor its arguments: %w", err)
	}
	return facts, nil
}

// Capabilities implements steps.Engine.
func (s sglang) Capabilities() steps.EngineCapabilities {
	return steps.EngineCapabilities{Observer: s, Profiler: s, Sleeper: s, Spreader: s}
}

// Classify finds the cause of a failure in the last log lines.
func (sglang) Classify(logTail []string) (class, evidence string) {
	return engine.Classify(rules(), logTail)
}

// rules returns rules for SGLang's own messages (0.4 to 0.5), then the shared ones.
func rules() []engine.Rule {
	own := []engine.Rule{
		engine.NewRule("kv_cache_too_small", `Not enough memory\. Please try to increase --mem-fraction-static|max_total_num_tokens=0\b`),
		engine.NewRule("gpu_busy", `The memory capacity is unbalanced`),
		engine.NewRule("slow_start", `Initialization failed\. warmup error|Server is not ready within|bootstrap.*timed out`),
		engine.NewRule("transfer_mismatch", `Disaggregation warmup failed`),
	}
	return slices.Concat(own, engine.SharedRules(), engine.LastRules())
}
