// Package steps defines the parts of a plan: kinds of blocks, servers with their rendering and launch, and
// workloads with their sending. Its sub-packages are the engines (vllm, sglang, openai), the launchers
// (process), the load generator (load, dataset, record), probes and the simulator.
//
// Other programs can import these packages. They import only gates/metric from this module; callers pass
// spawners, writers and roots.
package steps
