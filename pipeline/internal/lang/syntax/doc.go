// Package syntax parses files to HCL, and rejects content that would harm the parser.
//
//	src, diags := syntax.Load([]string{"nightly/"}, os.Stdin)
//	if diags.HasErrors() {
//		diag.Text(os.Stderr, src.Map(), diags, diag.Options{})
//	}
//
// A file may come from any pull request. HCL's parser recurses without a limit and can overflow its
// stack, which Go cannot recover from, and some of its loops are quadratic. So size, nesting, the
// depth of expressions and the number of template parts are checked on the tokens first.
//
// The package does not know blocks or arguments, and evaluates nothing.
package syntax
