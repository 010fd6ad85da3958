package reference

import (
	"io"
	"strings"
	"unicode"
)

// generated tells on every page how to generate it.
const generated = "*Written by `go test ./pipeline/internal/cli -run Reference -update` from the program's own tables.*"

// page collects lines of markdown.
type page struct {
	lines []string

	// The rest is for the pages on blocks: the name of the file, links to sections by the text that describes their block (nil for
	// `pipeline schema`, which describes each block in place), and lines of example files.
	name     string
	sections map[string]string
	examples Examples
}

func (p *page) line(lines ...string) { p.lines = append(p.lines, lines...) }

// row adds a row of a table. Its cells are markdown on one line each.
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

// link returns a link to a heading of the page.
func link(heading string) string { return "[" + heading + "](#" + anchor(heading) + ")" }

// anchor returns the anchor of a heading by GitHub's rule: lower case, spaces become hyphens, and all but letters, digits, hyphens and
// underscores is dropped.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
