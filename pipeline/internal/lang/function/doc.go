// Package function holds the functions of the language, under the names they have in
// Terraform, and the parsers of the units people write: "800ms", "5GiB", "5%".
//
//	ctx := &hcl.EvalContext{Functions: function.Table(filepath.Dir(name))}
//
// Every function is pure, so that the same file always gives the same plan: there is no
// clock, no random number, no environment and no network among them. The one that reads
// is file, and it reads below the directory of the pipeline file alone.
//
// Marks (of sensitive values) are carried to whatever depends on them, and the text of an
// error never quotes an argument that carries one.
//
// The package evaluates no expressions and knows no block.
package function
