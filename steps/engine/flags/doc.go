// Package flags knows the command lines of released engines: which flags a version has
// and what values they take. The lists beside this file come from the published
// wheels by extract.py; both the engines, which check and render arguments, and the
// simulated servers, which parse them, read the same ones.
//
//	table, ok := flags.Nearest("vllm", "0.11.2")    // the list of 0.11.0
//	def, ok := table.Lookup("--max-num-seqs")
//	known := flags.For("vllm", "0.20.1")            // the lists of both neighbours
//
// It does not parse command lines (see steps/simulate) and does not write them (see
// steps/engine).
package flags
