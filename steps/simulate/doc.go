// Package simulate is a simulated LLM inference server. It models a GPU under a scheduler with
// continuous batching, whole or chunked prefill, KV blocks, preemption and a prefix cache. It has
// the sockets, flags, log lines, metrics and failure modes of vLLM and SGLang.
//
// Its layers are separate packages, each of which only depends on those before it:
//
//   - [github.com/servegate/pipeline/steps/simulate/model] is pure: virtual time, no sockets, and
//     the same seed gives the same nanoseconds;
//   - [github.com/servegate/pipeline/steps/simulate/transfer] moves KV between servers over
//     connections, as NIXL, Mooncake of vLLM 0.13 or later and SGLang do. Other connectors, and
//     vLLM before 0.8, only run in virtual time;
//   - this package reads the command line of a real server, drives the model in real time and
//     answers HTTP in the dialect of its engine. Each engine is one value, in vllm.go and
//     sglang.go.
//
// [Simulator.StartVirtual] makes a member of a fleet in virtual time from a server's command line.
// [Simulator.Main] is the program that replaces a server:
//
//	simulate.Simulator{}.Main(ctx, []string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--port", "8000"}, os.Getenv, os.Stdout, os.Stderr)
//
// Messages between servers, or from a router with --simulated, carry the model time of their event
// ([github.com/servegate/pipeline/steps/stamp]). A step is only assembled after everything before
// it has had time to arrive. The time that sockets and goroutines need is therefore not part of the
// model, unless it is longer than a step. The metric simulate:late_seconds shows how late a server
// was nonetheless.
//
// The size of a model comes from its config.json, a table of well-known models, or arguments.
// Weights, KV cache, products and bytes of a step follow from it by a roofline, over tensor and
// pipeline parallelism. A model that does not fit fails as in its engine. The profile "a10" is
// fitted to one published measurement. All other models and devices are computed. They differ from
// published figures by a median factor of 1.7, nine of ten within 3.4 (throughput of bursts) and
// 5.6 (time per token of few requests on large mixtures of experts): TestPublishedModels. Which of
// two models, devices or lengths takes longer is right in nine of ten cases.
//
// It does not produce meaningful text, and does not model data parallelism or the cost of LoRA
// adapters (requests to them are answered as the model's own). It proves nothing about real
// hardware: it is for trying the tool, rehearsing a file and testing gates. Counters of network
// devices are those of the machine and do not include simulated transfers.
package simulate
