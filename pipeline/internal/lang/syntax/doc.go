// Package syntax turns files into parsed HCL, and refuses what would harm the parser.
//
//	src, diags := syntax.Load([]string{"nightly/"}, os.Stdin)
//	if diags.HasErrors() {
//		diag.Text(os.Stderr, src.Map(), diags, diag.Options{})
//	}
//
// A file comes from whoever opened the pull request. HCL's parser recurses without a
// limit and overflows its stack, which Go cannot recover from, and some of its loops are
// quadratic; so size, nesting, the depth of expressions and the number of template parts
// are checked on the tokens first.
//
// The package knows no block and no argument, and evaluates nothing.
package syntax
