package adopt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// command is a simple command of a shell script, with its variables expanded.
type command struct {
	env   []setting // variables of the command: exported before it, then its own
	words []string
	// redirected holds what the shell does beside running it, such as "> log".
	redirected []string
}

// setting is an environment variable.
type setting struct{ name, value string }

// text returns the command as a line.
func (c command) text() string {
	quoted := make([]string, len(c.words))
	for i, w := range c.words {
		quoted[i] = shown(w)
	}
	return strings.Join(quoted, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./~-]+$`)

// shown returns a word as a shell would read it, with references to variables as $NAME.
func shown(word string) string {
	word = dollars(word)
	if plainWord.MatchString(strings.ReplaceAll(word, "$", "")) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// part is a piece of a word: text, or a variable with its fallback.
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

// maxScript limits a script in bytes.
const maxScript = 1 << 20

// commands splits a script into its simple commands. Variables that the script sets are expanded; unset turns the others
// into text. Loops and conditions are not followed: their commands are listed as they stand.
func commands(script string, unset func(name string, fallback *string) string) ([]command, error) {
	if len(script) > maxScript {
		return nil, fmt.Errorf("is longer than %d bytes", maxScript)
	}
	tokens, err := lex(script)
	if err != nil {
		return nil, err
	}
	s := shell{unset: unset, vars: map[string][]string{}}
	for len(tokens) > 0 {
		end := slices.IndexFunc(tokens, func(t token) bool { return separates(t.op) })
		if end < 0 {
			end = len(tokens)
		}
		s.run(tokens[:end])
		tokens = tokens[min(end+1, len(tokens)):]
	}
	return s.out, nil
}

func separates(op string) bool { return op != "" && !redirects(op) }

func redirects(op string) bool { return strings.ContainsAny(op, "<>") }

// shell carries the variables of a script from command to command.
type shell struct {
	vars     map[string][]string
	exported []setting
	unset    func(name string, fallback *string) string
	out      []command
}

var (
	assignment = regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)
	// keywords stand before a command without being part of it.
	keywords = []string{"then", "do", "else", "{", "}", "(", ")", "!", "exec", "time", "nohup", "command", "fi", "done"}
)

// run expands one command, and applies it if it only sets variables.
func (s *shell) run(tokens []token) {
	var c command
	own := []setting{}
	if len(tokens) > 0 && tokens[0].array {
		s.fill(tokens)
		return
	}
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if t.op != "" { // a redirection, with its target unless it names a descriptor
			text := t.op
			if !strings.HasSuffix(t.op, "&1") && !strings.HasSuffix(t.op, "&2") && i+1 < len(tokens) {
				i++
				text += " " + strings.Join(s.expand(tokens[i]), " ")
			}
			c.redirected = append(c.redirected, text)
			continue
		}
		if name, rest, ok := assigned(t); ok && len(c.words) == 0 {
			own = append(own, setting{name, strings.Join(s.expand(rest), " ")})
			continue
		}
		expanded := s.expand(t)
		if len(c.words) == 0 && len(expanded) == 1 && slices.Contains(keywords, expanded[0]) {
			continue
		}
		c.words = append(c.words, expanded...)
	}
	switch {
	case len(c.words) == 0:
		for _, v := range own {
			s.vars[v.name] = []string{v.value}
		}
	case c.words[0] == "export" || c.words[0] == "readonly" || c.words[0] == "declare" || c.words[0] == "local":
		s.declare(c.words)
	default:
		c.env = append(slices.Clone(s.exported), own...)
		s.out = append(s.out, c)
	}
}

// fill applies NAME=( an array ) and NAME+=( more of it ).
func (s *shell) fill(tokens []token) {
	head := tokens[0].parts[0].text
	name, more := strings.CutSuffix(strings.TrimSuffix(head, "="), "+")
	var values []string
	if more {
		values = s.vars[name]
	}
	for _, t := range tokens[1:] {
		values = append(values, s.expand(t)...)
	}
	s.vars[name] = values
}

// declare applies export A=b C and its relatives.
func (s *shell) declare(words []string) {
	for _, w := range words[1:] {
		name, value, has := strings.Cut(w, "=")
		if strings.HasPrefix(w, "-") {
			continue
		}
		if has {
			s.vars[name] = []string{value}
		}
		if known := s.vars[name]; words[0] == "export" && known != nil {
			s.exported = append(slices.DeleteFunc(s.exported, func(e setting) bool { return e.name == name }), setting{name, known[0]})
		}
	}
}

// assigned splits NAME=value.
func assigned(t token) (name string, value token, ok bool) {
	if len(t.parts) == 0 || t.parts[0].name != "" || t.parts[0].quoted {
		return "", token{}, false
	}
	m := assignment.FindStringSubmatch(t.parts[0].text)
	if m == nil {
		return "", token{}, false
	}
	rest := slices.Clone(t.parts)
	rest[0].text = m[2]
	for i := range rest {
		rest[i].quoted = true // a value is never split
	}
	return m[1], token{parts: rest, quoted: true}, true
}

// expand returns the words of a token.
func (s *shell) expand(t token) []string {
	words, current, open := []string{}, "", t.quoted
	for _, p := range t.parts {
		if p.name == "" {
			current, open = current+p.text, true
			continue
		}
		values, known := s.vars[p.name]
		switch {
		case p.all && known:
			words, open = append(words, values...), current != ""
			continue
		case !known || len(values) > 0 && values[0] == "" && p.fallback != nil:
			values = []string{s.unset(p.name, p.fallback)}
		}
		value := strings.Join(values, " ")
		fields := strings.Fields(value)
		if p.quoted || len(fields) < 2 {
			current, open = current+value, open || value != ""
			continue
		}
		words = append(words, current+fields[0])
		words = append(words, fields[1:len(fields)-1]...)
		current, open = fields[len(fields)-1], true
	}
	if open {
		words = append(words, current)
	}
	return words
}

// lexer reads tokens.
type lexer struct {
	rest   []rune
	out    []token
	word   token
	inWord bool
	array  bool     // within NAME=( … )
	ends   []string // delimiters of here-documents whose text begins with the next line
}

func lex(script string) ([]token, error) {
	l := lexer{rest: []rune(strings.ReplaceAll(script, "\r\n", "\n"))}
	for len(l.rest) > 0 {
		if err := l.step(); err != nil {
			return nil, err
		}
	}
	l.flush()
	return l.out, nil
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
	switch r := l.next(); r {
	case '\\':
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
		return fmt.Errorf("a command in backquotes computes a word: write its value instead")
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
		for len(l.rest) > 0 && l.rest[0] != '\n' {
			l.next()
		}
	case ';', '&', '|', '(', ')', '<', '>':
		l.control(r)
	default:
		end := slices.IndexFunc(l.rest, func(r rune) bool { return strings.ContainsRune("\\'\"$` \t\n#;&|()<>", r) })
		if end < 0 {
			end = len(l.rest)
		}
		l.add(string(r)+string(l.rest[:end]), false)
		l.skip(end)
	}
	return nil
}

// control reads an operator that begins with r.
func (l *lexer) control(r rune) {
	op := string(r)
	number := l.inWord && len(l.word.parts) == 1 && (l.word.parts[0].text == "1" || l.word.parts[0].text == "2") && !l.word.quoted
	if (r == '<' || r == '>') && number {
		op = l.word.parts[0].text + op
		l.word, l.inWord = token{}, false
	}
	if r == '&' && len(l.rest) > 0 && l.rest[0] == '>' {
		op += string(l.next())
	}
	for len(l.rest) > 0 && strings.ContainsRune("&|<>-", l.rest[0]) && (l.rest[0] != '-' || strings.HasSuffix(op, "<<")) && len(op) < 4 {
		if redirects(op) != (l.rest[0] == '<' || l.rest[0] == '>' || l.rest[0] == '-' || redirects(op) && l.rest[0] == '&') {
			break
		}
		op += string(l.next())
	}
	if strings.HasSuffix(op, ">&") && len(l.rest) > 0 && (l.rest[0] == '1' || l.rest[0] == '2') {
		op += string(l.next())
	}
	switch {
	case r == '(' && l.inWord: // NAME=( an array )
		l.word.array, l.array = true, true
		l.flush()
		return
	case r == ')':
		l.array = false
	}
	l.operator(op)
	if strings.HasPrefix(op, "<<") && op != "<<<" {
		l.ends = append(l.ends, l.delimiter())
	}
}

// delimiter reads the word behind << and leaves it in place.
func (l *lexer) delimiter() string {
	const longest = 100
	word := strings.TrimLeft(string(l.rest[:min(longest, len(l.rest))]), " \t")
	if end := strings.IndexAny(word, " \t\n;|&"); end >= 0 {
		word = word[:end]
	}
	return strings.Trim(word, `'"\`)
}

// documents skips the text of here-documents.
func (l *lexer) documents() {
	for _, end := range l.ends {
		for len(l.rest) > 0 {
			length := slices.Index(l.rest, '\n')
			if length < 0 {
				length = len(l.rest)
			}
			line := string(l.rest[:length])
			l.skip(min(length+1, len(l.rest)))
			if strings.TrimSpace(line) == end {
				break
			}
		}
	}
	l.ends = nil
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
			return fmt.Errorf("a command in backquotes computes a word: write its value instead")
		default:
			end := slices.IndexFunc(l.rest, func(r rune) bool { return strings.ContainsRune("\"\\$`", r) })
			if end < 0 {
				end = len(l.rest)
			}
			l.add(string(r)+string(l.rest[:end]), true)
			l.skip(end)
		}
	}
	return fmt.Errorf(`a quotation mark " is not closed`)
}

var variableForm = regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_]*|[0-9@*?#])(\[[@*]\])?(?:(:?[-=?])(.*))?$`)

// dollar reads what follows a dollar sign.
func (l *lexer) dollar(quoted bool) error {
	switch {
	case l.has("("):
		return fmt.Errorf("a command in $(…) computes a word: write its value instead")
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
			return fmt.Errorf("${%s} computes a word: write its value instead", inner)
		}
		p := part{name: m[1], quoted: quoted && m[2] == "", all: m[2] != ""}
		if strings.HasSuffix(m[3], "-") || strings.HasSuffix(m[3], "=") {
			fallback := strings.Trim(m[4], `"'`)
			p.fallback = &fallback
		}
		l.variable(p)
		return nil
	}
	n := 0
	for n < len(l.rest) && (l.rest[n] == '_' || l.rest[n] >= 'a' && l.rest[n] <= 'z' || l.rest[n] >= 'A' && l.rest[n] <= 'Z' ||
		n > 0 && l.rest[n] >= '0' && l.rest[n] <= '9') {
		n++
	}
	if n == 0 && len(l.rest) > 0 && strings.ContainsRune("@*?#0123456789", l.rest[0]) {
		n = 1
	}
	if n == 0 {
		l.add("$", quoted)
		return nil
	}
	name := string(l.rest[:n])
	l.skip(n)
	l.variable(part{name: name, quoted: quoted, all: name == "@"})
	return nil
}

func (l *lexer) variable(p part) {
	l.inWord = true
	l.word.parts = append(l.word.parts, p)
}
