// Package exec is the step that runs a command once:
//
//	step "exec" "weights" {
//	  command = ["huggingface-cli", "download", var.model]
//	  timeout = "30m"
//	  cache   = "weights-${var.model}"
//	}
//
// The command is a list of words; no shell reads it. It succeeds with exit status 0. It can return values as
// lines name=value in the file named by PIPELINE_OUTPUT, for the names listed in outputs:
//
//	outputs = ["digest"] # then step.exec.build.outputs.digest
//
// The engine uses the cache key to decide whether the step runs at all. Multi-line values and other ways of
// output are not supported.
package exec
