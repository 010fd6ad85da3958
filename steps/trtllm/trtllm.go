// Package trtllm renders servers of TensorRT-LLM (trtllm-serve) and talks to them.
//
//	e := trtllm.New()
//	p, err := e.Render(spec, "127.0.0.1", steps.PortNumber(20000)) // trtllm-serve serve MODEL --host ... --config FILE
//	state, ready, err := e.Ready(ctx, steps.Endpoint{BaseURL: "http://127.0.0.1:20000", Model: "m"}, steps.Readiness{})
//
// It was written for versions 0.21 to 1.2, from their documentation and source, and has not been run on a GPU. It starts no
// process and keeps no state.
package trtllm

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// Name of the kind.
const Name = "trtllm"

// trtllm is stateless.
type trtllm struct{ client *engine.Client }

// New returns the engine.
func New() steps.Engine { return trtllm{client: engine.NewClient()} }

// Endpoints returns the endpoints that both trtllm-serve and the load generator support.
func (trtllm) Endpoints() []string { return []string{"completions", "chat"} }

// Ready polls once; see [engine.Poll] for the states. The server listens only once its model is loaded. It lists a model of a
// folder by the folder's last name, and answers to any name, so /v1/models is not asked.
func (t trtllm) Ready(ctx context.Context, ep steps.Endpoint, r steps.Readiness) (string, bool, error) {
	return engine.Poll(ctx, t.client, ep, engine.Checks{Health: cmp.Or(r.Path, "/health"), Unlisted: true, NoCanary: r.NoCanary})
}

// Reset always returns [steps.ErrNoReset]: trtllm-serve has no request that drops the blocks that it keeps for reuse.
func (trtllm) Reset(context.Context, steps.Endpoint) error {
	return fmt.Errorf("%w: trtllm-serve has no request for it; kv_cache_config.enable_block_reuse = false in args.config reuses none",
		steps.ErrNoReset)
}

// Describe queries /version and the model. Keys: version and model. It fails only if the server answers neither query.
func (t trtllm) Describe(ctx context.Context, ep steps.Endpoint) (map[string]string, error) {
	facts := engine.Facts{}
	models, err := t.client.Models(ctx, ep)
	if err == nil {
		facts.Model(models, "")
	}
	facts.Set("version", t.client.Version(ctx, ep))
	if len(facts) == 0 {
		return nil, fmt.Errorf("the server describes neither its model nor its version: %w", err)
	}
	return facts, nil
}

// Capabilities implements steps.Engine. The server has no request that starts its profiler, and puts its memory to sleep
// only for reinforcement learning.
func (t trtllm) Capabilities() steps.EngineCapabilities { return steps.EngineCapabilities{Observer: t} }

// Classify finds the cause of a failure in the last log lines.
func (trtllm) Classify(logTail []string) (class, evidence string) {
	return engine.Classify(rules(), logTail)
}

// rules returns trtllm-serve's messages, then the shared ones.
func rules() []engine.Rule {
	own := []engine.Rule{
		engine.NewRule("port_in_use", `Failed to bind socket to `),
		engine.NewRule("arguments", `^Error: (No such option|Invalid value for|Missing argument|Option '.*' requires an argument)|`+
			`validation errors? for (Torch|Trt|AutoDeploy|Base)?LlmArgs`),
		engine.NewRule("out_of_memory", `Executor creation failed due to insufficient GPU memory`),
		engine.NewRule("driver", `No GPU devices found on the node`),
	}
	return slices.Concat(own, engine.SharedRules(), engine.LastRules())
}
