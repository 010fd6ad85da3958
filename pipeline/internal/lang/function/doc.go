// Package function holds the functions of the language, named as in Terraform, and the parsers of
// units: "800ms", "5GiB", "5%".
//
//	ctx := &hcl.EvalContext{Functions: function.Table(filepath.Dir(name), meter, read)}
//
// Every function is pure, so that the same file always gives the same plan: there is no clock, no
// random number, no environment and no network. Only file reads, and only below the directory of
// the pipeline file.
//
// Marks (of sensitive values) propagate to all values that depend on them, and errors never quote a
// marked argument.
//
// The package does not evaluate expressions or know blocks.
package function
