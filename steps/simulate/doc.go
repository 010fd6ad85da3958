// Package simulate is a simulated LLM inference server: a modelled GPU under a
// scheduler with continuous batching, whole or chunked prefill, KV blocks, preemption
// and a prefix cache, behind the sockets, flags, log lines, metrics and failure modes
// of vLLM and SGLang.
//
// Its layers are packages of their own, and each knows only those before it:
//
//   - [github.com/servegate/pipeline/steps/simulate/model] is pure: virtual time, no sockets,
//     the same seed gives the same nanoseconds;
//   - [github.com/servegate/pipeline/steps/simulate/transfer] moves KV between servers over
//     connections, as NIXL, Mooncake of vLLM 0.13 or later and SGLang do: other connectors, and vLLM
//     before 0.8, are played in virtual time alone;
//   - this package reads the command line of a real server, drives the model in real time and
//     answers HTTP in the dialect of its engine: one value for each engine, in vllm.go and
//     sglang.go.
//
// [Simulator.StartVirtual] makes a part of a fleet in virtual time of a server's command line,
// [Simulator.Main] is the program that takes its place:
//
//	simulate.Simulator{}.Main(ctx, []string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--port", "8000"}, os.Getenv, os.Stdout, os.Stderr)
//
// What crosses between servers, or comes from a router with --simulated, carries the time at
// which it happened in the model ([github.com/servegate/pipeline/steps/stamp]), and a step is
// put together when all that happened before it has had time to come: what sockets and
// goroutines need is no part of the model, unless it is longer than a step. How late a server
// was all the same is the metric simulate:late_seconds.
//
// A model's size is that of its config.json, of a table of well-known models, or of
// arguments: weights, KV cache, products and bytes of a step follow from it by a roofline,
// over tensor and pipeline parallelism. One that does not fit ends as its engine would. The
// profile "a10" is fitted to one published measurement. All other models and devices are
// arithmetic, and off from published figures by a median factor of 1.7, nine of ten within
// 3.4 (throughput of bursts) and 5.6 (time per token of few requests on large mixtures of
// experts): TestPublishedModels. Which of two models, devices or lengths takes longer is
// right in nine of ten cases.
//
// It does not produce meaningful text, does not model data parallelism or what LoRA adapters
// cost (requests to them are answered as the model's own), and proves nothing about real hardware: it is for
// trying the tool, rehearsing a file and testing gates. Counters of network devices are the machine's own and
// see nothing of simulated transfers.
package simulate
