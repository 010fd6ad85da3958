package reference

import (
	"io"
	"strings"
	"unicode"
)

// generated says on every page how it is made.
const generated = "*Written by `go test ./pipeline/internal/cli -run Reference -update` from the program's own tables.*"

// page collects lines of markdown.
type page struct{ lines []string }

func (p *page) line(lines ...string) { p.lines = append(p.lines, lines...) }

// row adds a row of a table. Its cells are markdown, in one line each.
func (p *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", `\|`)
	}
	p.line("| " + strings.Join(cells, " | ") + " |")
}

func (p *page) write(w io.Writer) error {
	if len(p.lines) == 0 {
		return nil
	}
	_, err := io.WriteString(w, strings.Join(p.lines, "\n")+"\n")
	return err
}

func code(s string) string { return "`" + s + "`" }

// link is a reference to a heading of the page, by GitHub's rule for anchors: lower case,
// spaces as hyphens, all else but letters, digits, hyphens and underscores dropped.
func link(heading string) string {
	anchor := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
	return "[" + heading + "](#" + anchor + ")"
}
