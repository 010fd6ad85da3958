// Package exec is the step that runs a command once:
//
//	step "exec" "weights" {
//	  command = ["huggingface-cli", "download", var.model]
//	  timeout = "30m"
//	  cache   = "weights-${var.model}"
//	}
//
// The command is a list of words; no shell reads it. It ends well with exit status 0. It
// can hand values on by lines name=value in the file that PIPELINE_OUTPUT names, for the
// names listed in outputs:
//
//	outputs = ["digest"] # then step.exec.build.outputs.digest
//
// The cache key is for the engine, which decides whether the step runs at all. Values of
// several lines and output by any other way are not supported.
package exec
