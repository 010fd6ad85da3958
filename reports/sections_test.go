package reports

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/markdown"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/text"
)

// toyChart is a drawing that nothing but this file knows.
type toyChart struct{}

func (toyChart) SVG() string { return `<svg class="chart" role="img"><title>toy chart</title></svg>` }

// withToys is the table with two sections more: one of all formats and one of pages.
func withToys() []model.SectionOf[*view] {
	return append(slices.Clone(sections),
		model.SectionOf[*view]{ID: "toy", Weight: model.Attention, Build: func(v *view) model.Section {
			return model.Section{Title: model.Plain("Toys of " + v.doc.RunID), Notes: []model.Line{model.Plain("one <toy>")}}
		}},
		model.SectionOf[*view]{ID: "drawn", On: model.PageOnly, Build: func(*view) model.Section {
			return model.Section{Title: model.Plain("Drawn toys"), Charts: []model.Chart{toyChart{}}, Parts: []model.Part{
				{ID: "part", Title: model.Plain("a part"), Footnotes: []model.Line{model.Plain("below")}, Parts: []model.Part{
					{Title: model.Plain("its charts"), Charts: []model.Chart{toyChart{}}},
				}},
			}}
		}},
		model.SectionOf[*view]{ID: "absent", Build: func(*view) model.Section {
			return model.Section{Title: model.Plain("absent"), Tables: []model.Table{{Columns: []model.Column{{Title: "absent"}}}}}
		}},
	)
}

// TestToySections: a section is its function and its row, and the renderers know none by name.
func TestToySections(t *testing.T) {
	doc := &result.Document{RunID: "r1", Status: result.StatusComplete}
	write := map[string]func(*strings.Builder) error{
		"text": func(b *strings.Builder) error {
			return text.Write(b, newView(doc, Options{}).report(withToys()), Options{})
		},
		"markdown": func(b *strings.Builder) error {
			return markdown.Write(b, newView(doc, Options{}).report(withToys()), Options{})
		},
		"html": func(b *strings.Builder) error { return writeHTML(b, doc, Options{}, withToys()) },
	}
	for _, tt := range []struct {
		format     string
		has, lacks []string
	}{
		{"text", []string{"\nToys of r1\n- one <toy>\n"}, []string{"rawn toys", "absent"}},
		{"markdown", []string{"#### Toys of r1\n\n- one &#60;toy&#62;\n"}, []string{"rawn toys", "absent"}},
		{"html", []string{
			`<a href="#toy">Toys of r1</a>`, `<section id="toy"`, "<li>one &lt;toy&gt;</li>", `<section id="drawn"`,
			`<details class="pair" id="part">`, `aria-label="its charts"`, `<p class="note">below</p>`,
		}, []string{"absent"}},
	} {
		var out strings.Builder
		if err := write[tt.format](&out); err != nil {
			t.Fatalf("%s: %v", tt.format, err)
		}
		for _, want := range tt.has {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s has no %q:\n%s", tt.format, want, out.String())
			}
		}
		for _, bad := range tt.lacks {
			if strings.Contains(out.String(), bad) {
				t.Errorf("%s has %q", tt.format, bad)
			}
		}
		if n := strings.Count(out.String(), "toy chart"); tt.format == "html" && n != 2 {
			t.Errorf("the page has %d charts", n)
		}
	}
}

// TestSectionsAreNamedOnce: an id is an address on a page.
func TestSectionsAreNamedOnce(t *testing.T) {
	for _, on := range []model.Medium{model.TextOnly, model.PageOnly} {
		seen := map[string]bool{}
		for _, row := range sections {
			if row.On != model.Everywhere && row.On != on {
				continue
			}
			if seen[row.ID] {
				t.Errorf("%s is there twice", row.ID)
			}
			seen[row.ID] = true
		}
	}
}
