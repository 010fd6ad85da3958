package vllm

import (
	"context"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// flagProfiler configures vLLM's profiler since 0.13. Environment variables do until 0.15.
const flagProfiler = "profiler_config"

// Profiled adds the settings that start vLLM with its profiler: workers only, without Python
// stacks, which would make the traces several times as large.
func (vllm) Profiled(spec steps.ServerSpec, dir, version string) (steps.ServerSpec, error) {
	if slices.ContainsFunc(spec.Args, func(a steps.Arg) bool { return argument.FullName(spec, a.Name) == flagProfiler }) {
		return spec, fmt.Errorf("%s: args.%s is set in the file, so nothing else can configure the profiler; remove it", spec.Addr, flagProfiler)
	}
	// builds without tags have the version 0.1
	if since := func(v string) bool { return steps.CompareReleases(version, v) >= 0 }; since("0.6") && !since("0.13") {
		spec.Env = engine.ForcedEnv(spec.Env,
			steps.EnvVar{Name: "VLLM_TORCH_PROFILER_DIR", Value: dir},
			steps.EnvVar{Name: "VLLM_TORCH_PROFILER_WITH_STACK", Value: "0"},
			steps.EnvVar{Name: "VLLM_TORCH_PROFILER_DISABLE_ASYNC_LLM", Value: "1"},
			steps.EnvVar{Name: "VLLM_RPC_TIMEOUT", Value: "1800000"}, // the traces are written within a call
		)
		return spec, nil
	}
	spec.Args = append(slices.Clone(spec.Args), steps.Arg{Name: flagProfiler, Value: map[string]any{
		"profiler": "torch", "torch_profiler_dir": dir, "torch_profiler_with_stack": false, "ignore_frontend": true,
	}})
	return spec, nil
}

// Profile implements steps.Profiler.
func (v vllm) Profile(ctx context.Context, ep steps.Endpoint,
	w steps.ProfileWindow) (func(context.Context) (steps.Profiled, error), error) {
	return v.client.Profile(ctx, ep, w, nil, v.Observe)
}
