package syntax

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// scanner computes, from the tokens alone, an upper bound of the recursion depth of the parser and
// the evaluation. It keeps one frame for each open bracket and never recurses itself. If brackets
// do not match, it may overestimate: such a file cannot be parsed anyway.
type scanner struct {
	frames []frame
	// directives that are open in all frames.
	directives int
	last       hclsyntax.Token // the last token that is neither a newline nor a comment
}

// frame is one open bracket, or the file.
type frame struct {
	open hclsyntax.TokenType
	// operators of the present expression: each may add one level, to the left in a + b + c, to the
	// right in !!!a and a ? b : c ? d : e.
	operators int
	// child is the depth of the deepest bracket in the present expression.
	child int
	// deepest is the depth of the deepest previous expression.
	deepest int
	// directives counts open directives (%{ if }, %{ for }), mostDirectives their maximum, and
	// parts the parts of a template.
	directives, mostDirectives, parts int
	// lines reports whether a newline ends an expression.
	lines bool
}

func (f *frame) depth() int {
	return max(f.deepest, f.operators+f.child) + f.mostDirectives
}

// separate ends the present expression.
func (f *frame) separate() {
	f.deepest = max(f.deepest, f.operators+f.child)
	f.operators, f.child = 0, 0
}

// closers maps opening tokens to closing ones.
var closers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace:          hclsyntax.TokenCBrace,
	hclsyntax.TokenOBrack:          hclsyntax.TokenCBrack,
	hclsyntax.TokenOParen:          hclsyntax.TokenCParen,
	hclsyntax.TokenOQuote:          hclsyntax.TokenCQuote,
	hclsyntax.TokenOHeredoc:        hclsyntax.TokenCHeredoc,
	hclsyntax.TokenTemplateInterp:  hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// hugeNumber matches literals that are cheap to parse, but take hours to convert to text.
var hugeNumber = lazyregexp.New(`^.{400}|[eE][+-]?0*[1-9][0-9]{3}`)

func newScanner() *scanner {
	return &scanner{frames: []frame{{lines: true}}}
}

// scan returns the first place where a limit is exceeded, or nil.
func (s *scanner) scan(tokens hclsyntax.Tokens) *hcl.Diagnostic {
	for _, tok := range tokens {
		s.token(tok)
		if tok.Type == hclsyntax.TokenNumberLit && hugeNumber.Match(tok.Bytes) {
			return problemAt(CodeNesting, tok.Range, "number is too large",
				"A number has at most 400 digits and an exponent of at most 3.")
		}
		if d := s.verdict(tok.Range); d != nil {
			return d
		}
		if tok.Type != hclsyntax.TokenNewline && tok.Type != hclsyntax.TokenComment {
			s.last = tok
		}
	}
	for len(s.frames) > 1 {
		s.pop()
	}
	return s.verdict(s.last.Range)
}

func (s *scanner) top() *frame { return &s.frames[len(s.frames)-1] }

func (s *scanner) token(tok hclsyntax.Token) {
	top := s.top()
	if _, opens := closers[tok.Type]; opens {
		s.push(tok.Type)
		return
	}
	if closers[top.open] == tok.Type && len(s.frames) > 1 {
		s.pop()
		return
	}
	switch tok.Type {
	case hclsyntax.TokenNewline:
		s.newline()
	case hclsyntax.TokenComment:
		if bytes.HasSuffix(tok.Bytes, []byte("\n")) { // as # and // as # and // comments do
			s.newline()
		}
	case hclsyntax.TokenComma:
		top.separate()
	case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
		top.parts++
	case hclsyntax.TokenIdent:
		s.ident(string(tok.Bytes))
	case hclsyntax.TokenEOF, hclsyntax.TokenNumberLit, hclsyntax.TokenDot, hclsyntax.TokenEqual:
	default:
		top.operators++
	}
}

func (s *scanner) newline() {
	if top := s.top(); top.lines {
		top.separate()
	}
}

// ident handles words that change their context.
func (s *scanner) ident(word string) {
	top := s.top()
	switch s.last.Type {
	case hclsyntax.TokenOBrace:
		if word == "for" {
			top.lines = false // { for k, v in ... } may span lines
		}
	case hclsyntax.TokenTemplateControl:
		if len(s.frames) < 2 {
			return
		}
		template := &s.frames[len(s.frames)-2]
		switch word {
		case "if", "for":
			s.directives++
			template.directives++
			template.mostDirectives = max(template.mostDirectives, template.directives)
		case "endif", "endfor":
			if template.directives > 0 {
				s.directives--
				template.directives--
			}
		}
	}
}

func (s *scanner) push(open hclsyntax.TokenType) {
	top := s.top()
	switch open {
	case hclsyntax.TokenOBrack:
		top.operators++ // an index adds to the depth of what it follows; in a list it costs little
	case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		top.separate() // the parts of a template are siblings
		top.parts++
	}
	s.frames = append(s.frames, frame{open: open, lines: open == hclsyntax.TokenOBrace})
}

// pop closes the innermost frame and adds its depth to the enclosing one.
func (s *scanner) pop() {
	depth := s.top().depth() + 1
	s.directives -= s.top().directives
	s.frames = s.frames[:len(s.frames)-1]
	top := s.top()
	top.child = max(top.child, depth)
}

// verdict returns the limit that is exceeded at the present token.
func (s *scanner) verdict(at hcl.Range) *hcl.Diagnostic {
	top := s.top()
	nesting := len(s.frames) - 1 + s.directives
	switch {
	case nesting > maxNesting:
		return problemAt(CodeNesting, at, "nested too deeply",
			fmt.Sprintf("Brackets, blocks, templates and directives may be nested %d deep. Move the inner part to a local value.", maxNesting))
	case top.depth() > maxDepth:
		return problemAt(CodeNesting, at, "expression is too deep",
			fmt.Sprintf("Operators and brackets hang on each other more than %d deep here. Split the expression over local values.", maxDepth))
	case top.parts > maxTemplateParts:
		return problemAt(CodeNesting, at, "string has too many parts",
			fmt.Sprintf("A string may have %d lines and interpolations. Keep long text in a file of its own and read it with file(\"name\").",
				maxTemplateParts))
	}
	return nil
}
