// Package steps is what a plan is made of: kinds of blocks, servers and how they are
// rendered and launched, workloads and how they are sent. Its sub-packages are the
// engines (vllm, sglang, openai), the launchers (process), the load generator (load,
// dataset, record), probes and the simulator.
//
// The packages here can be imported by other programs. They import nothing of ours
// but gates/metric; they get a spawner, writers and roots handed in.
package steps
