package sglang

import (
	"context"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// Profiled sets the folder of the traces. SGLang's profiler needs no other preparation.
func (sglang) Profiled(spec steps.ServerSpec, dir, _ string) (steps.ServerSpec, error) {
	spec.Env = engine.ForcedEnv(spec.Env, steps.EnvVar{Name: "SGLANG_TORCH_PROFILER_DIR", Value: dir})
	return spec, nil
}

// Profile implements steps.Profiler. It also sends the folder, because in some versions not every process reads
// the variable.
func (s sglang) Profile(ctx context.Context, ep steps.Endpoint,
	w steps.ProfileWindow) (func(context.Context) (steps.Profiled, error), error) {
	options := map[string]any{"output_dir": w.Dir, "activities": []string{"CPU", "GPU"}, "with_stack": false, "record_shapes": false}
	return s.client.Profile(ctx, ep, w, options, s.Observe)
}
