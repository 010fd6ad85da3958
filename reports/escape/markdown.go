package escape

import (
	"fmt"
	"strings"
	"unicode"
)

// joiner (U+2060, word joiner) is invisible and has no width. Between an at sign and a name it
// keeps GitHub from mentioning someone. A character reference alone does not, because GitHub's
// filters run on the rendered text.
const joiner = "\u2060"

// Inline returns s as text within a paragraph, a heading or a table cell of GitHub-flavoured
// markdown: no markup, no HTML, no links, no mentions and no references to issues. It does not
// start or end a block, as long as trusted text precedes it on its line. limit is in runes of the
// text, see Text.
func Inline(s string, limit int) string {
	runes := []rune(Text(s, limit))
	var b strings.Builder
	for i, r := range runes {
		var before, after rune
		if i > 0 {
			before = runes[i-1]
		}
		if i+1 < len(runes) {
			after = runes[i+1]
		}
		switch {
		case linking(runes[:i], r, after):
			b.WriteString(entity(r) + joiner)
		case harmless(r, before, after):
			b.WriteRune(r)
		default:
			b.WriteString(entity(r))
		}
	}
	return b.String()
}

// linking reports whether r between its neighbours could make GitHub link, mention or refer to
// something: @name, #12, GH-12, http://… and www.….
func linking(before []rune, r, after rune) bool {
	switch r {
	case '@', '#':
		return true
	case '-':
		return unicode.IsDigit(after) && endsFold(before, "gh")
	case ':':
		return after == '/'
	case '.':
		return endsFold(before, "www")
	}
	return false
}

// harmless reports whether r has no meaning to a markdown parser between its neighbours.
func harmless(r, before, after rune) bool {
	if r == ' ' || r > unicode.MaxASCII || isWord(r) {
		return true
	}
	switch r {
	case ',', ';', '.', '(', ')', '%', '/', '\'', '"', '?', '=', '+', '-', '^', '{', '}':
		return true
	case ':': // but not the one of :emoji:
		return !isWord(after) || unicode.IsDigit(after)
	case '_': // within a word it is not emphasis
		return isWord(before) && isWord(after)
	}
	return false
}

func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func endsFold(runes []rune, suffix string) bool {
	n := len(runes) - len(suffix)
	return n >= 0 && strings.EqualFold(string(runes[n:]), suffix)
}

func entity(r rune) string { return fmt.Sprintf("&#%d;", r) }

// Code returns s as code within a paragraph or a table cell: in backticks if the text allows.
// Otherwise it returns a code element with all ASCII punctuation as character references, because
// neither pipes nor backticks are safe within backticks, and GitHub finds links even within a code
// element. For empty text it returns "".
func Code(s string, limit int) string {
	s = Text(s, limit)
	switch {
	case s == "":
		return ""
	case !strings.ContainsAny(s, "`|\\<>&"):
		return "`" + s + "`"
	}
	return CodeElement(s, limit)
}

// CodeElement is Code for places without markdown, within a block of HTML such as a summary: always
// an element, never backticks.
func CodeElement(s string, limit int) string {
	s = Text(s, limit)
	if s == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range s {
		switch {
		case r == ' ' || r > unicode.MaxASCII || isWord(r):
			b.WriteRune(r)
		case r == '@': // an address would become a link even here
			b.WriteString(entity(r) + joiner)
		default:
			b.WriteString(entity(r))
		}
	}
	b.WriteString("</code>")
	return b.String()
}

// Fence returns lines as a fenced code block with a trailing newline: each line is cleaned and
// bounded (see Line), and the fence is longer than any run of backticks in them.
func Fence(lines []string, limit int) string {
	var body strings.Builder
	longest := 2
	for _, l := range lines {
		l = Line(l, limit)
		longest = max(longest, longestRun(l, '`'))
		body.WriteString(l)
		body.WriteByte('\n')
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "text\n" + body.String() + fence + "\n"
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
