package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
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

var plainWord = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./~-]+$`)

// shown returns a word as a shell would read it, with references to variables as $NAME.
func shown(word string) string {
	word = dollars(word)
	if plainWord.MatchString(strings.ReplaceAll(word, "$", "")) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
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

// shell carries the variables of a script from command to command.
type shell struct {
	vars     map[string][]string
	exported []setting
	unset    func(name string, fallback *string) string
	out      []command
}

var (
	assignment = lazyregexp.New(`(?s)^([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)
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
		fields := []string{p.text}
		if p.name != "" {
			fields = s.value(p)
		}
		switch len(fields) {
		case 0: // "${EMPTY[@]}" is no word, unless text is beside it
			open = current != ""
		case 1:
			current, open = current+fields[0], open || p.name == "" || p.all || fields[0] != ""
		default:
			words = append(words, current+fields[0])
			words = append(words, fields[1:len(fields)-1]...)
			current, open = fields[len(fields)-1], true
		}
	}
	if open {
		words = append(words, current)
	}
	return words
}

// value returns the words of a variable: the elements of an array, or the fields of text that is not quoted.
func (s *shell) value(p part) []string {
	values, known := s.vars[p.name]
	switch {
	case p.all && known:
		return values
	case !known || len(values) > 0 && values[0] == "" && p.fallback != nil:
		values = []string{s.unset(p.name, p.fallback)}
	}
	text := strings.Join(values, " ")
	if fields := strings.Fields(text); !p.quoted && len(fields) > 1 {
		return fields
	}
	return []string{text}
}
