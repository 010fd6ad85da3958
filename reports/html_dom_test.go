package reports_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/servegate/pipeline/reports"
	"golang.org/x/net/html"
)

// pageElements are those that a page is made of, pageAttributes what they may have.
var (
	pageElements = strings.Fields(`html head meta title style body a aside header h1 h2 h3 p span strong code nav ul li main section
		details summary table caption thead tbody tr th td div figure button article pre footer script
		svg desc line text circle path rect g clipPath
		label select option input ol`)
	pageAttributes = strings.Fields(`lang charset http-equiv content name class id href tabindex role aria-label aria-labelledby
		aria-hidden hidden open scope type value size focusable preserveAspectRatio data-open data-open-only data-sort data-find data-passed
		data-worse title viewbox viewBox width height x y x1 y1 x2 y2 cx cy r rx d text-anchor clip-path data-left data-right`)
)

// pageFacts is what a walk over a page found.
type pageFacts struct {
	t           *testing.T
	ids         map[string]bool
	links, refs []string
	policy      string
	bodies      map[string][]string // of style and script
	count       map[string]int
}

// inspect parses a page with another project's parser and holds it to the lists above.
func inspect(t *testing.T, source string) *pageFacts {
	t.Helper()
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	f := &pageFacts{t: t, ids: map[string]bool{}, bodies: map[string][]string{}, count: map[string]int{}}
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			f.element(n)
		case html.CommentNode:
			t.Errorf("there is a comment: %q", n.Data)
		case html.TextNode:
			f.text(n)
		}
	}
	for _, l := range f.links {
		if !strings.HasPrefix(l, "#") || !f.ids[l[1:]] {
			t.Errorf("a link leads to %q", l)
		}
	}
	for _, r := range f.refs {
		if !f.ids[r] {
			t.Errorf("%q is the name of something and is nowhere", r)
		}
	}
	return f
}

func (f *pageFacts) element(n *html.Node) {
	if !slices.Contains(pageElements, n.Data) {
		f.t.Errorf("there is an element <%s>", n.Data)
	}
	f.count[n.Data]++
	for _, a := range n.Attr {
		switch {
		case !slices.Contains(pageAttributes, a.Key):
			f.t.Errorf("<%s> has an attribute %s=%q", n.Data, a.Key, a.Val)
		case a.Key == "id":
			if f.ids[a.Val] {
				f.t.Errorf("the id %q is there twice", a.Val)
			}
			f.ids[a.Val] = true
		case a.Key == "href":
			f.links = append(f.links, a.Val)
		case a.Key == "clip-path":
			f.refs = append(f.refs, strings.TrimSuffix(strings.TrimPrefix(a.Val, "url(#"), ")"))
		case a.Key == "aria-labelledby":
			f.refs = append(f.refs, strings.Fields(a.Val)...)
		case a.Key == "content" && strings.HasPrefix(a.Val, "default-src"):
			f.policy = a.Val
		case n.Namespace == "svg" && (strings.Contains(a.Val, "NaN") || strings.Contains(a.Val, "Inf")):
			f.t.Errorf("a chart has %s=%q", a.Key, a.Val)
		}
	}
	if n.Data == "th" && !slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "scope" }) {
		f.t.Error("a heading of a table has no scope")
	}
	if n.Data == "tr" {
		f.row(n)
	}
}

// row checks that a row has as many cells as its table has columns.
func (f *pageFacts) row(n *html.Node) {
	cells := func(tr *html.Node) (c int) {
		for child := range tr.ChildNodes() {
			if child.Type == html.ElementNode {
				c++
			}
		}
		return c
	}
	table := n.Parent.Parent
	for tr := range table.Descendants() {
		if tr.Data == "tr" {
			if cells(tr) != cells(n) {
				f.t.Errorf("a row has %d cells of %d", cells(n), cells(tr))
			}
			return
		}
	}
}

func (f *pageFacts) text(n *html.Node) {
	if parent := n.Parent.Data; parent == "style" || parent == "script" {
		f.bodies[parent] = append(f.bodies[parent], n.Data)
		return
	}
	for _, r := range n.Data {
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			f.t.Errorf("%U is in the page: %q", r, n.Data)
			return
		}
	}
}

// TestPagesAreClosed holds every page to its own elements: no payload becomes markup, no
// address leads anywhere but into the page, and the policy allows the one style and the
// one script by their hashes.
func TestPagesAreClosed(t *testing.T) {
	docs := fixtures()
	docs["charts"] = withHistograms(t, regression())
	docs["hostile"] = withHistograms(t, docs["hostile"])
	for name, doc := range docs {
		t.Run(name, func(t *testing.T) {
			f := inspect(t, pageOf(t, doc, reports.Options{}))
			for _, element := range []string{"style", "script"} {
				if len(f.bodies[element]) != 1 || f.count[element] != 1 {
					t.Fatalf("%d <%s>", f.count[element], element)
				}
				sum := sha256.Sum256([]byte(f.bodies[element][0]))
				want := fmt.Sprintf("%s-src 'sha256-%s'", element, base64.StdEncoding.EncodeToString(sum[:]))
				if !strings.Contains(f.policy, want) {
					t.Errorf("the policy %q has no %s", f.policy, want)
				}
			}
			if !strings.HasPrefix(f.policy, "default-src 'none';") || strings.Contains(f.policy, "unsafe") {
				t.Errorf("policy %q", f.policy)
			}
			for element, want := range map[string]int{"h1": 1, "main": 1, "header": 1, "footer": 1, "nav": 1} {
				if f.count[element] != want {
					t.Errorf("%d <%s>, want %d", f.count[element], element, want)
				}
			}
		})
	}
}

// TestHostilePageShowsPayloads makes sure that the test above had something to find.
func TestHostilePageShowsPayloads(t *testing.T) {
	out := pageOf(t, withHistograms(t, hostile()), reports.Options{})
	for _, want := range []string{"&lt;img src=x onerror=alert(1)&gt;", "javascript:alert(1)", "&lt;/details&gt;"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
}

// TestPhonesShowChangeAndVerdict: what is left out on a narrow page is not what matters.
func TestPhonesShowChangeAndVerdict(t *testing.T) {
	var page strings.Builder
	if err := reports.HTML(&page, regression(), reports.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<th scope="col" class="num">change</th>`, `<th scope="col">verdict</th>`,
		`<th scope="col" class="num aside">v0.10.2</th>`, `.aside { display: none; }`, "<title>#1 v0.10.2: "} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
