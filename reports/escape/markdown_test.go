package escape_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/reports/escape"
)

// corpus is text that means something to GitHub.
func corpus() []string {
	return []string{
		"a|b", `a\|b`, `a\\|b`, "<img src=x onerror=alert(1)>", "</details>", "<!-- x -->", "&lt;script&gt;", "&#64;team",
		"@everyone", "@org/team", "me@example.com", "mailto:me@example.com", "#1", "org/repo#1", "GH-1", "gh-1",
		"https://evil.example/x", "HTTP://evil.example", "ftp://evil.example", "www.evil.example", "WWW.evil.example", "xmpp:a@b.c",
		"[x](https://evil.example)", "![x](https://evil.example/x.png)", "[x]: https://evil.example", "<https://evil.example>",
		"`code`", "``a`b``", "```\nfence\n```", "~~~", "**bold**", "__bold__", "*i*", "_i_", "~~s~~", "$x$", "$$x$$",
		"# heading", "> quote", "- item", "1. item", "---", "===", "- [ ] task", "    code", "\ttab", "a\r\nb\n\nc",
		"| a | b |\n|---|---|", ":tada:", "[^1]", "\u202eexe", "\x1b[31mred", "\xff\xfe", "a\x00b", `\`, "``", "`", "@", "#",
		strings.Repeat("A", 1<<20), strings.Repeat("|", 4096), strings.Repeat("[", 4096), strings.Repeat("`", 4096),
		strings.Repeat("\u0300", 4096),
		"<!-- pipeline:report v1 key=0123456789abcdef run=99.1 sha=0123456789abcdef0123456789abcdef01234567 -->",
		"<picture><source srcset=https://evil.example/x></picture>", "<a href=javascript:alert(1)>", "<script>alert(1)</script>", "<!--", "-->",
		"]]>", "<?x", "<![CDATA[",
		"![][1]\n[1]: https://evil.example/x.png", "data:text/html,x", "\u2066@x\u2069", "＠team", "\ufeff# bom",
		"\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\",
	}
}

// github is a parser of GitHub-flavoured markdown as another project wrote it.
var github = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))

// own is the HTML that the escaper itself writes.
var own = map[string]bool{"<code>": true, "</code>": true}

// mention and reference are what GitHub's filters look for in rendered text.
var (
	mention   = regexp.MustCompile(`(?i)(^|[^\w` + "`" + `-])@[a-z0-9]`)
	reference = regexp.MustCompile(`(?i)(^|\W)(#|gh-)\d`)
	link      = regexp.MustCompile(`(?i)(https?|ftp)://[a-z0-9]|www\.[a-z0-9]`)
)

// inspect parses markdown with s in a paragraph and in a cell of a table, and fails on
// everything that is not text or code.
func inspect(t interface{ Fatalf(string, ...any) }, s string) {
	if strings.ContainsAny(strings.NewReplacer("<code>", "", "</code>", "").Replace(s), "<>|\n\r") {
		t.Fatalf("%q holds raw HTML, a pipe or a line break", s)
	}
	source := []byte("text " + s + " end\n\n| a | b |\n|---|---|\n| " + s + " | last |\n")
	doc := github.Parser().Parse(text.NewReader(source))
	cells, inCode := 0, 0
	var prose strings.Builder
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Document, *ast.Paragraph, *east.Table, *east.TableHeader, *east.TableRow:
		case *east.TableCell:
			if entering {
				cells++
			}
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.RawHTML:
			tag := string(n.Segments.Value(source))
			if !own[tag] {
				t.Fatalf("%q became HTML %q", s, tag)
			}
			if entering && tag == "<code>" {
				inCode++
			} else if entering {
				inCode--
			}
		case *ast.Text:
			if entering && inCode == 0 {
				prose.Write(unescapeEntities(n.Segment.Value(source)))
			}
		case *ast.String:
		default:
			t.Fatalf("%q became %s", s, n.Kind())
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if cells != 4 || inCode != 0 {
		t.Fatalf("%q made %d cells of 4, %d open code elements", s, cells, inCode)
	}
	for _, re := range []*regexp.Regexp{mention, reference, link} {
		if m := re.FindString(prose.String()); m != "" {
			t.Fatalf("%q would link %q", s, m)
		}
	}
}

var numeric = regexp.MustCompile(`&#(\d+);`)

// unescapeEntities is the rendered text of a text node: GitHub's filters see that.
func unescapeEntities(b []byte) []byte {
	return numeric.ReplaceAllFunc(b, func(m []byte) []byte {
		r := 0
		for _, d := range m[2 : len(m)-1] {
			r = r*10 + int(d-'0')
		}
		return []byte(string(rune(r)))
	})
}

func TestMarkdownOfCorpus(t *testing.T) {
	for _, s := range corpus() {
		inspect(t, escape.Inline(s, 80))
		inspect(t, escape.Code(s, 80))
		inspect(t, escape.CodeElement(s, 80))
	}
}

func TestMarkdownProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := hostileText().Draw(t, "text")
		inspect(t, escape.Inline(s, 60))
		inspect(t, escape.Code(s, 60))
	})
}

func TestInspectFindsWhatItLooksFor(t *testing.T) {
	for _, s := range []string{"@team", "see #1", "www.evil.example", "https://evil.example", "[x](y)", "**b**", "<b>", "a|b",
		"~~s~~", "&#64;team"} {
		found := false
		func() {
			defer func() { found = recover() != nil }()
			inspect(failing{}, s)
		}()
		if !found {
			t.Errorf("%q passes the inspection unescaped", s)
		}
	}
}

// failing turns a failure into a panic.
type failing struct{}

func (failing) Fatalf(format string, _ ...any) { panic(format) }

func FuzzMarkdown(f *testing.F) {
	for _, s := range corpus() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		inspect(t, escape.Inline(s, 60))
		inspect(t, escape.Code(s, 60))
	})
}

func FuzzFence(f *testing.F) {
	for _, s := range corpus() {
		f.Add(s, "````")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		source := []byte("before\n\n" + escape.Fence([]string{a, b}, 60) + "\nafter\n")
		doc := github.Parser().Parse(text.NewReader(source))
		var kinds []string
		for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
			kinds = append(kinds, n.Kind().String())
		}
		if got := strings.Join(kinds, " "); got != "Paragraph FencedCodeBlock Paragraph" {
			t.Errorf("%q, %q: %s:\n%s", a, b, got, bytes.TrimSpace(source))
		}
	})
}
