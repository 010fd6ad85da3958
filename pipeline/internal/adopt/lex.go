package adopt

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// part is a piece of a word: text, or a variable with its fallback. What only the shell can compute is a variable whose name
// begins with a dollar sign.
type part struct {
	text, name string
	fallback   *string
	quoted     bool // keeps its blanks
	all        bool // of an array
}

// token is a word, or an operator of the shell if op is set.
type token struct {
	op     string
	parts  []part
	quoted bool // part of it was quoted, so that it is a word even if empty
	array  bool // NAME=, whose values are the words behind it
}

func separates(op string) bool { return op != "" && !redirects(op) }

func redirects(op string) bool { return strings.ContainsAny(op, "<>") }

// lexer reads tokens.
type lexer struct {
	rest   []rune
	out    []token
	word   token
	inWord bool
	array  bool     // within NAME=( … )
	ends   []ending // of here-documents whose text begins with the next line
	texts  []string // of here-documents
	depth  int      // of commands within commands
}

// ending is the delimiter of a here-document.
type ending struct {
	word string
	tabs bool // do not count at the beginning of its lines
}

func lex(script string) ([]token, error) {
	l := newLexer(script)
	err := l.run()
	return l.out, err
}

// hereDocuments returns the texts of the here-documents of a script, as far as it can be read.
func hereDocuments(script string) []string {
	l := newLexer(script)
	_ = l.run()
	return l.texts
}

func newLexer(script string) *lexer {
	return &lexer{rest: []rune(strings.ReplaceAll(script, "\r\n", "\n"))}
}

func (l *lexer) run() error {
	for len(l.rest) > 0 {
		if err := l.step(); err != nil {
			return err
		}
	}
	l.flush()
	return nil
}

func (l *lexer) next() rune {
	r := l.rest[0]
	l.rest = l.rest[1:]
	return r
}

func (l *lexer) has(prefix string) bool {
	p := []rune(prefix)
	return len(l.rest) >= len(p) && string(l.rest[:len(p)]) == prefix
}

func (l *lexer) skip(n int) { l.rest = l.rest[n:] }

// take returns the text in front of the first character that ends it, and skips it.
func (l *lexer) take(ends func(rune) bool) string {
	n := slices.IndexFunc(l.rest, ends)
	if n < 0 {
		n = len(l.rest)
	}
	text := string(l.rest[:n])
	l.skip(n)
	return text
}

// until returns the text in front of the first of some characters, and skips it.
func (l *lexer) until(chars string) string {
	return l.take(func(r rune) bool { return strings.ContainsRune(chars, r) })
}

func (l *lexer) flush() {
	if l.inWord {
		l.out = append(l.out, l.word)
	}
	l.word, l.inWord = token{}, false
}

func (l *lexer) operator(op string) {
	l.flush()
	l.out = append(l.out, token{op: op})
}

// add appends text to the word.
func (l *lexer) add(text string, quoted bool) {
	l.inWord = true
	l.word.quoted = l.word.quoted || quoted
	if n := len(l.word.parts); n > 0 && l.word.parts[n-1].name == "" && l.word.parts[n-1].quoted == quoted {
		l.word.parts[n-1].text += text
		return
	}
	l.word.parts = append(l.word.parts, part{text: text, quoted: quoted})
}

func (l *lexer) step() error {
	if strings.ContainsRune(";&|()<>", l.rest[0]) {
		l.control()
		return nil
	}
	switch r := l.next(); r {
	case '\\':
		if l.continues() {
			return nil
		}
		if len(l.rest) > 0 {
			if next := l.next(); next != '\n' {
				l.add(string(next), true)
			}
		}
	case '\'':
		return l.single()
	case '"':
		return l.double()
	case '$':
		return l.dollar(false)
	case '`':
		return l.backquoted(false)
	case ' ', '\t':
		l.flush()
	case '\n':
		if l.array {
			l.flush()
			return nil
		}
		l.operator("\n")
		l.documents()
	case '#':
		if l.inWord {
			l.add("#", false)
			return nil
		}
		l.until("\n")
	default:
		l.add(string(r)+l.until("\\'\"$` \t\n#;&|()<>"), false)
	}
	return nil
}

// shellOperators lists the operators, longer ones before those that they begin with.
var shellOperators = []string{"&>>", "<<<", "<<-", ">&1", ">&2", "&&", "||", "|&", "&>", ">>", ">&", ">|", "<<", "<&", "<>",
	";", "&", "|", "(", ")", "<", ">"}

// control reads an operator.
func (l *lexer) control() {
	op := shellOperators[slices.IndexFunc(shellOperators, l.has)]
	l.skip(len(op))
	if op == "(" && l.inWord { // NAME=( an array )
		l.word.array, l.array = true, true
		l.flush()
		return
	}
	if (op[0] == '<' || op[0] == '>') && l.descriptor() {
		op = l.word.parts[0].text + op
		l.word, l.inWord = token{}, false
	}
	l.array = l.array && op != ")"
	l.operator(op)
	if op = strings.TrimLeft(op, "12"); op == "<<" || op == "<<-" {
		l.ends = append(l.ends, ending{l.delimiter(), op == "<<-"})
	}
}

// descriptor reports whether the word before a redirection is the number of a stream.
func (l *lexer) descriptor() bool {
	return l.inWord && !l.word.quoted && len(l.word.parts) == 1 && (l.word.parts[0].text == "1" || l.word.parts[0].text == "2")
}

// delimiter reads the word behind << without its quotation marks, and leaves it in place.
func (l *lexer) delimiter() string {
	var word strings.Builder
	quote := rune(0)
	for _, r := range strings.TrimLeft(string(l.rest[:max(slices.Index(l.rest, '\n'), 0)]), " \t") {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == 0 && strings.ContainsRune(" \t;|&<>()", r):
			return word.String()
		case quote != 0 || r != '\\':
			word.WriteRune(r)
		}
	}
	return word.String()
}

// documents reads the here-documents that begin on this line.
func (l *lexer) documents() {
	for _, of := range l.ends {
		l.document(of)
	}
	l.ends = nil
}

// document reads a here-document. It ends with the line that is its delimiter, or, in a script that is indented as a whole, with
// one that has blanks around it.
func (l *lexer) document(of ending) {
	var text strings.Builder
	indented, size, n := -1, 0, 0 // of the first line that has blanks around the delimiter, with the text before it
	for n < len(l.rest) {
		end := slices.Index(l.rest[n:], '\n')
		if end < 0 {
			end = len(l.rest) - n
		}
		line := string(l.rest[n : n+end])
		n = min(n+end+1, len(l.rest))
		if of.tabs {
			line = strings.TrimLeft(line, "\t")
		}
		if line == of.word {
			l.texts = append(l.texts, text.String())
			l.skip(n)
			return
		}
		if indented < 0 && strings.TrimSpace(line) == of.word {
			indented, size = n, text.Len()
		}
		text.WriteString(line + "\n")
	}
	if indented >= 0 {
		l.texts, n = append(l.texts, text.String()[:size]), indented
	}
	l.skip(n)
}

func (l *lexer) single() error {
	for i, r := range l.rest {
		if r == '\'' {
			l.add(string(l.rest[:i]), true)
			l.skip(i + 1)
			return nil
		}
	}
	return fmt.Errorf("a quotation mark ' is not closed")
}

func (l *lexer) double() error {
	l.add("", true)
	for len(l.rest) > 0 {
		switch r := l.next(); {
		case r == '"':
			return nil
		case r == '\\' && len(l.rest) > 0 && strings.ContainsRune("\"\\$`\n", l.rest[0]):
			if escaped := l.next(); escaped != '\n' {
				l.add(string(escaped), true)
			}
		case r == '$':
			if err := l.dollar(true); err != nil {
				return err
			}
		case r == '`':
			if err := l.backquoted(true); err != nil {
				return err
			}
		default:
			l.add(string(r)+l.until("\"\\$`"), true)
		}
	}
	return fmt.Errorf(`a quotation mark " is not closed`)
}

var variableForm = lazyregexp.New(`(?s)^([A-Za-z_][A-Za-z0-9_]*|[0-9@*?#])(\[[@*]\])?(?:(:?[-=?])(.*))?$`)

// dollar reads what follows a dollar sign.
func (l *lexer) dollar(quoted bool) error {
	switch {
	case l.has("("):
		return l.computed(quoted)
	case l.has("'") && !quoted:
		l.skip(1)
		return l.single()
	case l.has("{"):
		end := slices.Index(l.rest, '}')
		if end < 0 {
			return fmt.Errorf("a brace { is not closed")
		}
		inner := string(l.rest[1:end])
		l.skip(end + 1)
		m := variableForm.FindStringSubmatch(inner)
		if m == nil {
			l.variable(part{name: "${" + inner + "}", quoted: quoted})
			return nil
		}
		p := part{name: m[1], quoted: quoted && m[2] == "", all: m[2] != ""}
		if strings.HasSuffix(m[3], "-") || strings.HasSuffix(m[3], "=") {
			fallback := strings.Trim(m[4], `"'`)
			p.fallback = &fallback
		}
		l.variable(p)
		return nil
	}
	var name string
	if len(l.rest) > 0 && strings.ContainsRune("@*?#0123456789", l.rest[0]) {
		name = string(l.next())
	} else {
		name = l.take(func(r rune) bool {
			return r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
		})
	}
	if name == "" {
		l.add("$", quoted)
		return nil
	}
	l.variable(part{name: name, quoted: quoted, all: name == "@"})
	return nil
}

// continues skips the rest of a line behind a backslash: blanks, which editors leave there, and a comment, which pages put there.
func (l *lexer) continues() bool {
	end := slices.Index(l.rest, '\n')
	if end < 0 {
		return false
	}
	rest := strings.TrimLeft(string(l.rest[:end]), " \t")
	if end == 0 || rest != "" && (rest[0] != '#' || l.rest[0] == '#') {
		return false
	}
	l.skip(end + 1)
	return true
}

// deepest limits how deeply commands are nested in commands.
const deepest = 100

// computed reads a command or an arithmetic expression in $( … ), whose value only the shell knows: it is a variable of that name.
func (l *lexer) computed(quoted bool) error {
	end, depth := 0, 0
	if l.has("((") {
		end = slices.IndexFunc(l.rest, func(r rune) bool {
			depth += nesting(r)
			return depth == 0
		}) + 1
	} else {
		inner := lexer{rest: l.rest, depth: l.depth + 1}
		if inner.depth > deepest {
			return fmt.Errorf("commands are nested more than %d deep", deepest)
		}
		for end == 0 && len(inner.rest) > 0 {
			r := inner.rest[0]
			depth += nesting(r)
			if err := inner.step(); err != nil {
				return err
			}
			if r == ')' && depth == 0 {
				end = len(l.rest) - len(inner.rest)
			}
		}
		l.texts = append(l.texts, inner.texts...)
	}
	if end == 0 {
		return fmt.Errorf("a parenthesis ( is not closed")
	}
	l.variable(part{name: "$" + string(l.rest[:end]), quoted: quoted})
	l.skip(end)
	return nil
}

// nesting returns by how much a character changes the depth of parentheses.
func nesting(r rune) int {
	switch r {
	case '(':
		return 1
	case ')':
		return -1
	}
	return 0
}

// backquoted reads a command in backquotes.
func (l *lexer) backquoted(quoted bool) error {
	end := slices.Index(l.rest, '`')
	if end < 0 {
		return fmt.Errorf("a quotation mark ` is not closed")
	}
	l.variable(part{name: "$(" + string(l.rest[:end]) + ")", quoted: quoted})
	l.skip(end + 1)
	return nil
}

func (l *lexer) variable(p part) {
	l.inWord = true
	l.word.parts = append(l.word.parts, p)
}
