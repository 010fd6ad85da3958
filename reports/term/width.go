package term

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Ellipsis marks text that was cut. It takes one column.
const Ellipsis = "…"

// Width returns the number of columns that s takes on a terminal, by its grapheme clusters (Unicode
// Standard Annexes 11 and 29). s must not contain tabs or control characters.
func Width(s string) int { return uniseg.StringWidth(s) }

// Cut shortens s to at most columns columns. If it was cut, the last column is an ellipsis.
func Cut(s string, columns int) string {
	if columns <= 0 {
		return ""
	}
	if Width(s) <= columns {
		return s
	}
	return s[:prefix(s, columns-1)] + Ellipsis
}

// CutLeft is Cut that keeps the end of s: the last element of a path is more informative than the
// first.
func CutLeft(s string, columns int) string {
	if columns <= 0 {
		return ""
	}
	rest := Width(s)
	if rest <= columns {
		return s
	}
	for s != "" && rest > columns-1 {
		cluster, after, width, _ := uniseg.FirstGraphemeClusterInString(s, -1)
		s, rest = after, rest-width
		if cluster == "" {
			break
		}
	}
	return Ellipsis + s
}

// prefix returns the length in bytes of the longest beginning of s of at most columns columns.
func prefix(s string, columns int) int {
	length, state := 0, -1
	for rest := s; rest != ""; {
		var cluster string
		var width int
		cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if width > columns {
			break
		}
		columns -= width
		length += len(cluster)
	}
	return length
}

// Pad fills s with spaces up to columns.
func Pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-Width(s)))
}

// ExpandTabs replaces tabs by spaces up to the next multiple of size columns, counting from the
// start of s.
func ExpandTabs(s string, size int) string {
	var b strings.Builder
	for i, part := range strings.Split(s, "\t") {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", size-Width(b.String())%size))
		}
		b.WriteString(part)
	}
	return b.String()
}

// Wrap breaks s into lines of at most columns columns. It keeps line feeds in s, and lines that
// begin with a space. A word longer than a line keeps its own line, because a path is only useful
// whole.
func Wrap(s string, columns int) []string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		if columns <= 0 || strings.HasPrefix(line, " ") || Width(line) <= columns {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, fill(wordsOf(line), columns)...)
	}
	return lines
}

// leastHung is the number of columns that a hanging part of a line needs; with fewer it begins near the margin.
const leastHung = 30

// Hang wraps the lines of a text of aligned columns at words: the rest of a line hangs below its last column, which begins
// after two or more spaces. A word longer than a line keeps its own line. It returns the text as it is if columns is 0.
func Hang(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		if Width(bare) <= columns {
			b.WriteString(line)
			continue
		}
		label := hungAt(bare)
		indent := Width(bare[:label])
		if columns-indent < leastHung {
			label = len(bare) - len(strings.TrimLeft(bare, " "))
			indent = label + 4
		}
		for i, part := range fill(wordsOf(bare[label:]), columns-indent) {
			if i == 0 {
				b.WriteString(bare[:label] + part + "\n")
			} else {
				b.WriteString(strings.Repeat(" ", indent) + part + "\n")
			}
		}
	}
	return b.String()
}

// wordsOf returns the words of a line; a percent sign belongs to its number.
func wordsOf(line string) []string {
	var words []string
	for word := range strings.FieldsSeq(line) {
		if strings.HasPrefix(word, "%") && len(words) > 0 {
			words[len(words)-1] += " " + word
		} else {
			words = append(words, word)
		}
	}
	return words
}

// hungAt returns where the last column of a line begins: after its last two spaces, or at its first word.
func hungAt(line string) int {
	if at := strings.LastIndex(line, "  "); at >= 0 {
		return at + 2
	}
	return 0
}

// Fold wraps the words of s and also breaks words longer than a line: for a column of a table.
func Fold(s string, columns int) []string {
	var words []string
	for _, word := range wordsOf(s) {
		for Width(word) > columns {
			n := prefix(word, columns)
			if n == 0 { // a character wider than the column
				_, rest, _, _ := uniseg.FirstGraphemeClusterInString(word, -1)
				n = len(word) - len(rest)
			}
			words = append(words, word[:n])
			word = word[n:]
		}
		if word != "" {
			words = append(words, word)
		}
	}
	return fill(words, columns)
}

// fill puts words into lines.
func fill(words []string, columns int) []string {
	lines := []string{""}
	for i, word := range words {
		line := &lines[len(lines)-1]
		switch {
		case i == 0:
			*line = word
		case Width(*line)+1+Width(word) <= columns:
			*line += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
