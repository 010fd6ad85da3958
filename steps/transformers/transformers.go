// Package transformers starts and observes `transformers serve`, the server of Hugging Face's transformers.
//
//	e := transformers.New()
//	state, ready, err := e.Ready(ctx, steps.Endpoint{BaseURL: "http://127.0.0.1:8000", Model: "m"}, steps.Readiness{})
//
// It was written for transformers 5.17. That version knows neither ignore_eos nor prompts of token IDs, and refuses
// requests that contain them: benchmarks of it set ignore_eos = false.
package transformers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// Name of the kind.
const Name = "transformers"

// transformers is stateless.
type transformers struct{ client *engine.Client }

// New returns the engine.
func New() steps.Engine { return transformers{client: engine.NewClient()} }

// Endpoints returns the endpoints that the server has.
func (transformers) Endpoints() []string { return []string{"completions", "chat"} }

// Ready polls once; see [engine.Poll] for the states. /v1/models lists the models of the hub's cache, whether they are
// served or not, and no folder, so it is not asked.
func (t transformers) Ready(ctx context.Context, ep steps.Endpoint, r steps.Readiness) (string, bool, error) {
	return engine.Poll(ctx, t.client, ep, engine.Checks{Health: cmp.Or(r.Path, "/health"), Unlisted: true, NoCanary: r.NoCanary})
}

// Reset always returns [steps.ErrNoReset]: the server keeps no prefix cache between requests, and POST /reset unloads
// the model.
func (transformers) Reset(context.Context, steps.Endpoint) error {
	return fmt.Errorf("%w: transformers serve has no request for it", steps.ErrNoReset)
}

// Describe returns no facts: the server reports none about the model that it serves.
func (transformers) Describe(context.Context, steps.Endpoint) (map[string]string, error) {
	return nil, nil
}

// Capabilities implements steps.Engine: the server has no metrics, no profiler and no sleep mode.
func (transformers) Capabilities() steps.EngineCapabilities { return steps.EngineCapabilities{} }

// Classify finds the cause of a failure in the last log lines.
func (transformers) Classify(logTail []string) (class, evidence string) {
	return engine.Classify(slices.Concat(engine.SharedRules(), engine.LastRules()), logTail)
}
