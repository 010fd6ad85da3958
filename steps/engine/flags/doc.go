// Package flags holds the command lines of released engines: the flags of each version and the
// values that they accept. extract.py makes the lists in this folder from the published wheels, and from what llama-server prints. The
// engines use them to check and render arguments, and the simulated servers to parse them.
//
//	table, ok := flags.Nearest("vllm", "0.11.2")    // the list of 0.11.0
//	def, ok := table.Lookup("--max-num-seqs")
//	known := flags.For("vllm", "0.20.1")            // the lists of both neighbours
//
// It does not parse command lines (see steps/simulate) and does not write them (see steps/engine).
package flags
