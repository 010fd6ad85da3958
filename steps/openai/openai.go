// Package openai talks to any server with the OpenAI completions or chat interface: one that
// already runs at a url, or a program that the file names.
//
//	e := openai.New()
//	state, ready, err := e.Ready(ctx, steps.Endpoint{BaseURL: "http://127.0.0.1:8000"}, steps.Readiness{})
//
// It only assumes /v1/models and a completion. In particular it cannot clear the server's caches.
package openai

import (
	"context"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// Name of the kind.
const Name = "openai"

// openai is stateless.
type openai struct{ client *engine.Client }

// New returns the engine.
func New() steps.Engine { return openai{client: engine.NewClient()} }

// Endpoints returns the endpoints that such a server may have; use shows which it has.
func (openai) Endpoints() []string { return []string{"completions", "chat", "embeddings", "rerank"} }

// Ready polls once; see [engine.Poll] for the states. Without a health path, the list of models is
// the first check.
func (o openai) Ready(ctx context.Context, ep steps.Endpoint, r steps.Readiness) (string, bool, error) {
	return engine.Poll(ctx, o.client, ep, engine.Checks{Health: r.Path, NoCanary: r.NoCanary})
}

// Reset always returns [steps.ErrNoReset]: the interface has no such request.
func (openai) Reset(context.Context, steps.Endpoint) error {
	return fmt.Errorf("%w: the OpenAI interface has no request for it", steps.ErrNoReset)
}

// Describe returns the facts from /v1/models: model, model_root and max_model_len.
func (o openai) Describe(ctx context.Context, ep steps.Endpoint) (map[string]string, error) {
	models, err := o.client.Models(ctx, ep)
	if err != nil {
		return nil, fmt.Errorf("the server does not list its models: %w", err)
	}
	facts := engine.Facts{}
	facts.Model(models, ep.Model)
	return facts, nil
}

// Capabilities implements steps.Engine: of an unknown server nothing more is known.
func (openai) Capabilities() steps.EngineCapabilities { return steps.EngineCapabilities{} }

// Classify finds the cause of a failure in the last log lines.
func (openai) Classify(logTail []string) (class, evidence string) {
	return engine.Classify(slices.Concat(engine.SharedRules(), engine.LastRules()), logTail)
}
