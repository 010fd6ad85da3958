package syntax

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
)

// isJSON reports whether a file is in the JSON syntax.
func isJSON(name string, src []byte) bool {
	if name == StdinName {
		return bytes.HasPrefix(bytes.TrimSpace(src), []byte("{"))
	}
	return strings.HasSuffix(name, ".json") && isPipelineFile(name)
}

// parseJSON parses a file in the JSON syntax within the limits of a file.
func parseJSON(name string, src []byte) (hcl.Expression, hcl.Diagnostics) {
	if d := checkText(name, src); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	if d := checkJSON(name, src); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	expr, diags := json.ParseExpression(src, name)
	if diags.HasErrors() {
		return nil, limit(name, diag.WithCode(first(src, diags), CodeSyntax))
	}
	if _, diags := hcl.ExprMap(expr); diags.HasErrors() {
		return nil, hcl.Diagnostics{problemAt(CodeSyntax, expr.StartRange(), "file is not a JSON object",
			"A pipeline file in the JSON syntax is one object, whose properties are blocks.")}
	}
	return expr, nil
}

// jsonToken matches the tokens that the limits count: strings, brackets and numbers.
var jsonToken = lazyregexp.New(`"(?:[^"\\]|\\.)*"?|[\[\]{}]|[-+0-9.eE]+`)

// checkJSON returns an error for input that must not reach the parser, which recurses without a
// limit.
func checkJSON(name string, src []byte) *hcl.Diagnostic {
	depth := 0
	for _, at := range jsonToken.FindAllIndex(src, -1) {
		token := src[at[0]:at[1]]
		switch token[0] {
		case '"':
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			if hugeNumber.Match(token) {
				return problemAt(CodeNesting, byteRange(name, src, at[0]), "number is too large",
					"A number has at most 400 digits and an exponent of at most 3.")
			}
		}
		if depth > maxNesting {
			return problemAt(CodeNesting, byteRange(name, src, at[0]), "nested too deeply",
				fmt.Sprintf("Objects and lists may be nested %d deep. Move the inner part to a local value.", maxNesting))
		}
	}
	return nil
}
