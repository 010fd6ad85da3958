package syntax

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Limits of the parser's input. Files written by people stay far below them.
const (
	// maxNesting of brackets, braces, parentheses, templates and template directives.
	maxNesting = 100
	// maxDepth of one expression: its nesting plus its chained operators. 1,000 levels take about
	// 10 MiB of stack; Go's limit is 1 GiB.
	maxDepth = 1000
	// maxTemplateParts of one string or heredoc: each line of a heredoc is a part, and
	// hcl joins parts in quadratic time (500,000 lines take minutes).
	maxTemplateParts = 10_000
)

// check returns an error for input that must not reach the parser. It reports at most one problem.
func check(name string, src []byte) hcl.Diagnostics {
	if d := checkText(name, src); d != nil {
		return hcl.Diagnostics{d}
	}
	// Lexing has a flat loop, so it is safe. Its errors are left to the parser, which finds them
	// again.
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	if d := newScanner().scan(tokens); d != nil {
		return hcl.Diagnostics{d}
	}
	return nil
}

// checkText finds the first byte that is not UTF-8 text.
func checkText(name string, src []byte) *hcl.Diagnostic {
	if at := bytes.IndexByte(src, 0); at >= 0 {
		return problemAt(CodeText, byteRange(name, src, at), "file holds a NUL byte",
			"A pipeline file is text in UTF-8. Is this a binary file, or text in UTF-16?")
	}
	if utf8.Valid(src) {
		return nil
	}
	at := 0
	for at < len(src) {
		r, size := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return problemAt(CodeText, byteRange(name, src, at), "file is not UTF-8",
		fmt.Sprintf("Byte 0x%02x does not belong here. Save the file as UTF-8.", src[at]))
}

// byteRange is the range of the byte at offset at. The column counts runes.
func byteRange(name string, src []byte, at int) hcl.Range {
	line := bytes.LastIndexByte(src[:at], '\n') + 1
	start := hcl.Pos{
		Line:   bytes.Count(src[:at], []byte("\n")) + 1,
		Column: utf8.RuneCount(src[line:at]) + 1,
		Byte:   at,
	}
	end := start
	end.Column++
	end.Byte++
	return hcl.Range{Filename: name, Start: start, End: end}
}

// Template parses the text of a template within the limits of a file.
func Template(src []byte, name string) (hclsyntax.Expression, hcl.Diagnostics) {
	if d := checkText(name, src); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	tokens, _ := hclsyntax.LexTemplate(src, name, hcl.InitialPos) // its errors are found again
	if d := newScanner().scan(tokens); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	return hclsyntax.ParseTemplate(src, name, hcl.InitialPos)
}

// Expression parses the text of an expression within the limits of a file.
func Expression(src []byte, name string) (hclsyntax.Expression, hcl.Diagnostics) {
	tokens, _ := hclsyntax.LexExpression(src, name, hcl.InitialPos) // its errors are found again
	if d := newScanner().scan(tokens); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	return hclsyntax.ParseExpression(src, name, hcl.InitialPos)
}
