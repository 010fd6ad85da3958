// Package offline runs programs that measure an engine in their own process, without a server: `vllm bench latency`,
// `throughput` and `startup`, and SGLang's `bench_one_batch` and `bench_offline_throughput`.
//
//	l := offline.New().Capabilities().Programs(placeLauncher)
//	server, err := l.Start(ctx, p, log) // starts nothing yet
//	written, err := server.Capabilities().Run(ctx, []string{"bench", "latency", "--output-json", output}, output)
//
// Each run starts the program anew, by the launcher of its place and on the GPUs of its target. The program's output file
// is in that place, which may be a container or another machine, so it comes back through the log. [Simulate] is the
// double of the programs.
package offline

import (
	"context"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/serverblock"
)

// Name of the kind.
const Name = "offline"

// Words is the word of a command line that a run replaces by the words of its benchmark.
const Words = "{command}"

// unused lists the arguments of servers that a program without a server does not have.
var unused = []string{"url", "served_name", "version", "port", "api_key", "nodes"}

// Kind describes server "offline" blocks.
func Kind() steps.Kind {
	s := serverblock.Schema()
	s.Attrs = slices.DeleteFunc(s.Attrs, func(a steps.Attr) bool { return slices.Contains(unused, a.Name) })
	s.Blocks = slices.DeleteFunc(s.Blocks, func(b steps.BlockSchema) bool { return b.Type == "ready" })
	return steps.Kind{
		Block: "server", Name: Name,
		Doc: "A program that measures an engine in its own process and ends, such as vllm bench latency. A benchmark with driver " +
			"\"offline\" starts it once for each run. The command line is executable, the driver's command, --model, then args as flags. In a " +
			"container, entrypoint takes the place of executable; vllm unless set.",
		Schema: s, Program: []string{"vllm"}, Validate: validate,
	}
}

func validate(o steps.Object) []steps.Problem {
	found := serverblock.Check(o)
	if !o.Has("executable") && !o.Has("image") {
		found = append(found, steps.Problem{
			Summary: "executable or image is missing", Detail: `Name the program, such as executable = "vllm".`,
		})
	}
	return append(found, argument.CheckArgs(o, style())...)
}

// ofBenchmark lists the arguments that define the work of a benchmark. The driver has them, so that all sides have the same.
var ofBenchmark = []string{
	"output_json", "result_filename", "input_len", "output_len", "batch_size", "num_prompts", "num_iters", "num_iters_warmup",
	"num_iters_cold", "num_iters_warm", "num_warmups", "dataset_name", "dataset_path",
}

func style() argument.FlagStyle {
	reserved := map[string]string{}
	for _, name := range ofBenchmark {
		reserved[name] = "write it in the command of driver \"offline\", which all sides share"
	}
	return argument.FlagStyle{Reserved: reserved}
}

// program is stateless.
type program struct{}

// New returns the engine.
func New() steps.Engine { return program{} }

// Render returns the command line with [Words] in place of the benchmark's words.
func (program) Render(spec steps.ServerSpec, host string, port steps.Port) (steps.Process, error) {
	if err := engine.Startable(spec); err != nil {
		return steps.Process{}, err
	}
	flags, err := argument.Flags(spec.Args, style())
	if err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	argv := slices.Clone(spec.Program())
	if len(argv) == 0 {
		argv = []string{"vllm"}
	}
	argv = append(argv, Words)
	if spec.Model != "" {
		argv = append(argv, "--model", spec.Model)
	}
	return engine.Process(spec, append(argv, flags...), spec.Env, host, port), nil
}

// Ready implements steps.Engine. The program starts with each run.
func (program) Ready(context.Context, steps.Endpoint, steps.Readiness) (string, bool, error) {
	return steps.StateReady, true, nil
}

// Reset implements steps.Engine. A process that starts anew has no caches of the one before.
func (program) Reset(context.Context, steps.Endpoint) error { return nil }

// Describe implements steps.Engine. There is nothing to ask before a run.
func (program) Describe(context.Context, steps.Endpoint) (map[string]string, error) { return nil, nil }

// Endpoints implements steps.Engine. There are none.
func (program) Endpoints() []string { return nil }

// Capabilities implements steps.Engine.
func (program) Capabilities() steps.EngineCapabilities {
	return steps.EngineCapabilities{Programs: func(l steps.Launcher) steps.Launcher { return launcher{l} }}
}

// Classify finds the cause of a failure in the last log lines.
func (program) Classify(logTail []string) (class, evidence string) {
	return engine.Classify(slices.Concat(engine.SharedRules(), engine.LastRules()), logTail)
}
