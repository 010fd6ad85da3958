package reports_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// outline is a page as its reader sees it, in lines of text: headings and folded parts by
// their depth, tables by rows, and of each chart its title, its description, what is
// written in it and how many shapes it has.
func outline(t *testing.T, source string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	var o outliner
	o.walk(root, 0)
	return o.b.String()
}

type outliner struct{ b strings.Builder }

func (o *outliner) line(depth int, format string, args ...any) {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	if text != "" {
		o.b.WriteString(strings.Repeat("  ", depth) + text + "\n")
	}
}

func (o *outliner) walk(n *html.Node, depth int) {
	switch n.Data {
	case "style", "script", "title", "nav":
		return
	case "svg":
		o.chart(n, depth)
		return
	case "tbody":
		o.rows(n, depth)
		return
	case "tr":
		var cells []string
		for c := range n.ChildNodes() {
			if text := words(c); text != "" || c.Type == html.ElementNode {
				cells = append(cells, text)
			}
		}
		o.line(depth, "| %s |", strings.Join(cells, " | "))
		return
	case "h1", "h2", "p", "li", "caption", "aside":
		o.line(depth, "%s: %s", n.Data, words(n))
		return
	case "summary":
		fold := "closed"
		if attribute(n.Parent, "open") {
			fold = "open"
		}
		o.line(depth-1, "%s ▸ %s", fold, words(n))
		return
	case "pre":
		for line := range strings.Lines(words(n)) {
			o.line(depth, "│ %s", line)
		}
		return
	case "details", "section":
		depth++
	}
	if n.Type == html.TextNode {
		o.line(depth, "%s", n.Data)
	}
	for c := range n.ChildNodes() {
		o.walk(c, depth)
	}
}

// rows are the first ones of a table, and how many follow.
func (o *outliner) rows(n *html.Node, depth int) {
	const most = 12
	rows := 0
	for tr := range n.ChildNodes() {
		if tr.Data != "tr" {
			continue
		}
		if rows++; rows <= most {
			o.walk(tr, depth)
		}
	}
	if rows > most {
		o.line(depth, "… and %d more rows", rows-most)
	}
}

func (o *outliner) chart(n *html.Node, depth int) {
	shapes := map[string]int{}
	var texts []string
	for c := range n.Descendants() {
		switch c.Data {
		case "title", "desc":
			if c.Parent == n {
				o.line(depth, "chart %s: %s", c.Data, words(c))
			}
		case "text":
			texts = append(texts, words(c))
		case "line", "circle", "path", "rect":
			shapes[c.Data]++
		}
	}
	o.line(depth, "chart: %d lines, %d circles, %d paths, %d rects; %s", shapes["line"], shapes["circle"], shapes["path"], shapes["rect"],
		strings.Join(texts, " · "))
}

func words(n *html.Node) string {
	var b strings.Builder
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
	}
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

func attribute(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}
