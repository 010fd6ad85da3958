// Package llamacpp renders servers of llama.cpp (llama-server) and talks to them.
//
//	e := llamacpp.New()
//	p, err := e.Render(spec, "127.0.0.1", steps.PortNumber(20000)) // llama-server --model FILE --alias NAME --host ...
//	state, ready, err := e.Ready(ctx, steps.Endpoint{BaseURL: "http://127.0.0.1:20000", Model: "m"}, steps.Readiness{})
//
// It was written for builds b10068 to b11549. It starts no process and keeps no state.
package llamacpp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// Name of the kind.
const Name = "llamacpp"

// llamacpp is stateless.
type llamacpp struct{ client *engine.Client }

// New returns the engine.
func New() steps.Engine { return llamacpp{client: engine.NewClient()} }

// Endpoints returns the endpoints that both llama-server and the load generator support.
func (llamacpp) Endpoints() []string { return []string{"completions", "chat", "embeddings", "rerank"} }

// Ready polls once; see [engine.Poll] for the states. /health answers 503 while the model loads.
func (l llamacpp) Ready(ctx context.Context, ep steps.Endpoint, r steps.Readiness) (string, bool, error) {
	return engine.Poll(ctx, l.client, ep, engine.Checks{Health: cmp.Or(r.Path, "/health"), NoCanary: r.NoCanary})
}

// Reset always returns [steps.ErrNoReset]: llama-server can erase the cache of a slot, and only if it may also write it to
// files, but not its cache of prompts in the memory of the host.
func (llamacpp) Reset(context.Context, steps.Endpoint) error {
	return fmt.Errorf("%w: llama-server has no request that clears all prompts; args.cache_prompt = false reuses none", steps.ErrNoReset)
}

// ofTheStart are facts that llama-server draws at its start, change while it runs, or serve its own pages.
var ofTheStart = []string{"media_marker", "is_sleeping", "ui_settings", "webui_settings", "chat_template_caps"}

// Describe queries /props and the model. Keys: version, model, model_root, max_model_len (of a slot), slots and props.*.
// It fails only if the server answers neither query.
func (l llamacpp) Describe(ctx context.Context, ep steps.Endpoint) (map[string]string, error) {
	facts := engine.Facts{}
	models, err := l.client.Models(ctx, ep)
	if err == nil {
		facts.Model(models, ep.Model)
	}
	a, perr := l.client.Get(ctx, ep, "/props")
	if perr == nil && a.OK() && facts.JSON("props", a.Body, ofTheStart...) == nil {
		properties(facts, a.Body)
	}
	if len(facts) == 0 {
		return nil, fmt.Errorf("the server describes neither its model nor its properties: %w", err)
	}
	return facts, nil
}

// properties stores what /props says under the names that engines share.
func properties(facts engine.Facts, body []byte) {
	var props struct {
		Build    string `json:"build_info"`
		Path     string `json:"model_path"`
		Slots    int64  `json:"total_slots"`
		Defaults struct {
			Context int64 `json:"n_ctx"` // of a slot
		} `json:"default_generation_settings"`
	}
	if json.Unmarshal(body, &props) != nil {
		return // another form: the facts under props have it
	}
	// b10434-7e4c0a9; b0 and b1 are builds outside of its repository.
	version, _, _ := strings.Cut(props.Build, "-")
	if !steps.IsRelease(version) {
		version = props.Build
	}
	facts.Set("version", version)
	facts.Set("model_root", props.Path)
	for name, n := range map[string]int64{"slots": props.Slots, "max_model_len": props.Defaults.Context} {
		if n > 0 {
			facts.Set(name, strconv.FormatInt(n, 10))
		}
	}
}

// Capabilities implements steps.Engine. The server sleeps when it is idle for a while, but has no request for it, and no
// profiler.
func (l llamacpp) Capabilities() steps.EngineCapabilities {
	return steps.EngineCapabilities{Observer: l}
}

// Classify finds the cause of a failure in the last log lines.
func (llamacpp) Classify(logTail []string) (class, evidence string) {
	return engine.Classify(rules(), logTail)
}

// rules returns llama-server's messages (b10068 to b11434), then the shared ones.
func rules() []engine.Rule {
	own := []engine.Rule{
		engine.NewRule("port_in_use", `couldn't bind HTTP server socket`),
		engine.NewRule("arguments", `error: invalid argument: |error while handling argument "|error: the argument has been removed`),
		engine.NewRule("out_of_memory",
			`(cudaMalloc|hipMalloc|vkAllocateMemory) failed|ErrorOutOf(Device|Host)Memory|unable to allocate .* buffer|failed to allocate .* buffer|unable to fit model into`),
		engine.NewRule("model_missing",
			`failed to open GGUF file|failed to load model from |no such file or directory: .*gguf|error: failed to (download|get) |HF API: failed`),
		engine.NewRule("model_invalid", `gguf_init_from_[a-z_]+: invalid magic|unknown model architecture|llama_model_load: error loading model`),
	}
	return slices.Concat(own, engine.SharedRules(), engine.LastRules())
}
