// Package vllm renders and talks to vLLM servers.
//
//	e := vllm.New()
//	p, err := e.Render(spec, "127.0.0.1", 20000) // vllm serve MODEL --host 127.0.0.1 --port 20000
//	state, ready, err := e.Ready(ctx, steps.Endpoint{BaseURL: "http://127.0.0.1:20000", Model: spec.Model}, spec.Ready)
//
// It checks the form of flags, not their names: arguments pass through, and vLLM itself
// rejects unknown ones. It does not start processes and has no state.
package vllm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// Name of the kind.
const Name = "vllm"

// vllm is stateless.
type vllm struct{ client *engine.Client }

// New returns the engine.
func New() steps.Engine { return vllm{engine.NewClient()} }

// Endpoints returns the endpoints that vLLM serves and the load generator can use.
func (vllm) Endpoints() []string { return []string{"completions", "chat", "embeddings", "rerank"} }

// Ready polls once; see [engine.Poll] for the states.
func (v vllm) Ready(ctx context.Context, ep steps.Endpoint, r steps.Readiness) (string, bool, error) {
	return engine.Poll(ctx, v.client, ep, engine.Checks{Health: cmp.Or(r.Path, "/health"), NoCanary: r.NoCanary})
}

// Reset clears the prefix cache by POST /reset_prefix_cache, which exists with
// VLLM_SERVER_DEV_MODE=1 (Render sets it). Without it the error is [steps.ErrNoReset]. vLLM refuses
// while blocks are in use, so Reset retries a few times.
func (v vllm) Reset(ctx context.Context, ep steps.Endpoint) error {
	return v.client.Reset(ctx, ep, "/reset_prefix_cache", "; start vLLM with VLLM_SERVER_DEV_MODE=1", func(a engine.Answer) bool {
		// Older versions answer 200 without a body and do not report success.
		var result struct {
			Success *bool `json:"success"`
		}
		return a.OK() && json.Unmarshal(a.Body, &result) == nil && result.Success != nil && !*result.Success
	})
}

// Describe asks for the version, the longest context and, in the development mode, the resolved
// configuration. Keys: version, model, model_root, max_model_len and server_info.*. It fails only
// if the server returns no facts.
func (v vllm) Describe(ctx context.Context, ep steps.Endpoint) (map[string]string, error) {
	facts := engine.Facts{}
	models, err := v.client.Models(ctx, ep)
	if err == nil {
		facts.Model(models, ep.Model)
	}
	facts.Set("version", v.client.Version(ctx, ep))
	if a, ierr := v.client.GetSlow(ctx, ep, "/server_info?config_format=json"); ierr == nil && a.OK() {
		// Ignore a body that is not JSON; the other facts remain. The environment part holds
		// variables of the machine, not of the server.
		_ = facts.JSON("server_info", a.Body, "vllm_env", "system_env")
	}
	if len(facts) == 0 {
		return nil, fmt.Errorf("the server describes neither its model nor its version: %w", err)
	}
	return facts, nil
}

// Capabilities implements steps.Engine.
func (v vllm) Capabilities() steps.EngineCapabilities {
	return steps.EngineCapabilities{Observer: v, Profiler: v, Sleeper: v, Spreader: v}
}

// Classify finds the cause of a failure in the last log lines.
func (vllm) Classify(logTail []string) (class, evidence string) {
	return engine.Classify(rules(), logTail)
}
