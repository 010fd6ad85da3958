// Package simulate is a simulated LLM inference server: a modelled GPU under a
// scheduler with continuous batching, whole or chunked prefill, KV blocks, preemption
// and a prefix cache, behind the sockets, flags, log lines, metrics and failure modes
// of vLLM and SGLang.
//
// It has three layers. [Fleet], [Engine], and [Model] and [Pair] as short forms, are pure:
// virtual time, no sockets, the same seed gives the same nanoseconds. [StartVirtual] makes
// a part of a fleet of a server's command line.
//
//	f, err := simulate.NewFleet(simulate.FleetSpec{Prefill: nodes, Decode: more})
//	served, err := f.Serve(ctx, traffic)
//
// [Server] drives the same engine in real time and answers HTTP. Prefill and decode
// servers move KV as their connector does: they find each other by side channel,
// bootstrap server, metadata service or the request's id, shake hands, and send over a
// connection of their own a small share of the bytes, in the time that the model of the
// link gives all of them. What is wired wrongly fails. What crosses between servers, or
// comes from a router with --simulated, carries the time at which it happened in the
// model ([github.com/servegate/pipeline/steps/stamp]), and a step is put together
// when all that happened before it has had time to come: what sockets and goroutines need
// is no part of the model, unless it is longer than a step. How late a server was all the
// same is the metric simulate:late_seconds.
//
// [Main] is the program that takes the place of a real server's command line:
//
//	simulate.Simulator{}.Main(ctx, []string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--port", "8000"}, os.Getenv, os.Stdout, os.Stderr)
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
// It does not produce meaningful text, does not model speculative decoding, LoRA or data
// parallelism, and proves nothing about real hardware: it is for trying the tool, rehearsing
// a file and testing gates. Counters of network devices are the machine's own and see
// nothing of simulated transfers.
package simulate
