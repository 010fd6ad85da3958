package term

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Width is the number of columns that s takes on a terminal. s holds no tabs and no
// control characters. East Asian wide and fullwidth runes take two columns, combining
// marks none (Unicode Standard Annex 11).
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

// RuneWidth is the number of columns of one rune: 0, 1 or 2.
func RuneWidth(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut shortens s to at most columns columns, the last of them an ellipsis if something
// was cut.
func Cut(s string, columns int) string {
	if columns <= 0 {
		return ""
	}
	if Width(s) <= columns {
		return s
	}
	n := 0
	for i, r := range s {
		w := RuneWidth(r)
		if n+w > columns-1 {
			return s[:i] + "…"
		}
		n += w
	}
	return s
}

// CutLeft is Cut that keeps the end of s: a path's last element says more than its first.
func CutLeft(s string, columns int) string {
	if columns <= 0 {
		return ""
	}
	total := Width(s)
	if total <= columns {
		return s
	}
	for i, r := range s {
		if total <= columns-1 && RuneWidth(r) > 0 { // no combining mark on the ellipsis
			return "…" + s[i:]
		}
		total -= RuneWidth(r)
	}
	return "…"
}

// Pad fills s with spaces up to columns.
func Pad(s string, columns int) string {
	if n := columns - Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// ExpandTabs replaces tabs by spaces up to the next multiple of size columns, counting
// from the start of s.
func ExpandTabs(s string, size int) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		if r != '\t' {
			b.WriteRune(r)
			n += RuneWidth(r)
			continue
		}
		fill := size - n%size
		b.WriteString(strings.Repeat(" ", fill))
		n += fill
	}
	return b.String()
}

// Wrap breaks s into lines of at most columns columns. Line feeds in s are kept, and so
// are lines that begin with a space, which are taken as laid out by their writer. A word
// longer than a line keeps a line of its own: a path is only useful whole.
func Wrap(s string, columns int) []string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		if columns <= 0 || strings.HasPrefix(line, " ") || Width(line) <= columns {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, wrapLine(line, columns)...)
	}
	return lines
}

func wrapLine(line string, columns int) []string {
	var lines []string
	var b strings.Builder
	n := 0
	for word := range strings.FieldsSeq(line) {
		w := Width(word)
		if b.Len() > 0 && n+1+w > columns {
			lines = append(lines, b.String())
			b.Reset()
			n = 0
		}
		if b.Len() > 0 { // a word of combining marks alone has no columns
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += w
	}
	return append(lines, b.String())
}
