package syntax

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Template parses the text of a template within the limits of a file.
func Template(src []byte, name string) (hclsyntax.Expression, hcl.Diagnostics) {
	if d := checkText(name, src); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	tokens, _ := hclsyntax.LexTemplate(src, name, hcl.InitialPos) // its problems are found again
	if d := newScanner().scan(tokens); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	return hclsyntax.ParseTemplate(src, name, hcl.InitialPos)
}

// Expression parses the text of an expression within the limits of a file.
func Expression(src []byte, name string) (hclsyntax.Expression, hcl.Diagnostics) {
	tokens, _ := hclsyntax.LexExpression(src, name, hcl.InitialPos) // its problems are found again
	if d := newScanner().scan(tokens); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	return hclsyntax.ParseExpression(src, name, hcl.InitialPos)
}
