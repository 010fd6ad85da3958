package reports_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/servegate/pipeline/reports"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// ownTags is the HTML that reports write themselves.
var ownTags = regexp.MustCompile(`</?(details|summary|sub|code|br|b)>`)

// TestHostileMarkdown reads the report of a document with a payload in every text by
// another project's parser: there is no link, no image and no HTML but our own, and no
// cell too many.
func TestHostileMarkdown(t *testing.T) {
	source := []byte(render(t, hostile(), reports.Options{}))
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().Parse(text.NewReader(source))
	columns, tables, fences := 0, 0, 0
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.RawHTML:
			ownOnly(t, string(n.Segments.Value(source)))
		case *ast.HTMLBlock:
			ownOnly(t, string(n.Lines().Value(source)))
		case *ast.Link, *ast.Image, *ast.AutoLink, *ast.Blockquote, *ast.ThematicBreak, *ast.CodeBlock, *east.Strikethrough, *east.TaskCheckBox:
			if _, ok := n.(*ast.Blockquote); !ok || n.PreviousSibling() != nil {
				t.Errorf("a payload became %s", n.Kind())
			}
		case *ast.Heading:
			if n.Level != 3 && n.Level != 4 {
				t.Errorf("a payload became a heading of level %d", n.Level)
			}
		case *ast.FencedCodeBlock:
			fences++
		case *east.TableHeader:
			tables++
			columns = n.ChildCount()
		case *east.TableRow:
			if n.ChildCount() != columns {
				t.Errorf("a row has %d cells of %d", n.ChildCount(), columns)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if tables < 6 || fences != 2 {
		t.Errorf("%d tables and %d code blocks were understood", tables, fences)
	}
	for _, r := range string(source) {
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u2060' {
			t.Errorf("%U is in the report", r)
		}
	}
}

func ownOnly(t *testing.T, html string) {
	t.Helper()
	if rest := ownTags.ReplaceAllString(html, ""); strings.ContainsAny(rest, "<>") {
		t.Errorf("untrusted HTML: %q", html)
	}
}

func TestHostileText(t *testing.T) {
	for _, o := range []reports.Options{{}, {Width: 80}, {Color: true}} {
		var out bytes.Buffer
		if err := reports.Text(&out, hostile(), o); err != nil {
			t.Fatal(err)
		}
		body := out.String()
		if o.Color {
			body = regexp.MustCompile("\x1b\\[(0|1|31|32|33)m").ReplaceAllString(body, "")
		}
		for line := range strings.Lines(body) {
			line = strings.TrimSuffix(line, "\n")
			for _, r := range line {
				if unicode.IsControl(r) {
					t.Fatalf("%U in %q", r, line)
				}
			}
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("%q is a command of a GitHub runner", line)
			}
		}
	}
}

func TestHostileCSV(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(written(t, "csv", hostile(), reports.Options{}))).ReadAll() // all rows must be of one length
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`^[-+]?[0-9.]+(e[-+][0-9]+)?$`)
	for _, row := range rows {
		for _, field := range row {
			if field != "" && strings.ContainsRune("=+-@\t\r", rune(field[0])) && !number.MatchString(field) {
				t.Errorf("%q is a formula", field)
			}
		}
	}
	if len(rows) < 10 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestHostileJUnit(t *testing.T) {
	var out bytes.Buffer
	if err := reports.JUnit(&out, hostile(), reports.Options{}); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(&out)
	known := map[string]bool{
		"testsuites": true, "testsuite": true, "properties": true, "property": true, "testcase": true,
		"failure": true, "error": true, "skipped": true, "system-out": true,
	}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && !known[start.Name.Local] {
			t.Errorf("a payload became <%s>", start.Name.Local)
		}
	}
}
