package reports

import (
	"io"

	"github.com/servegate/pipeline/reports/markdown"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/text"
)

// Options choose what a report shows. The zero value shows everything.
type Options = model.Options

// JSON writes the document itself, see result.Encode. It ignores the options.
func JSON(w io.Writer, doc *result.Document, _ Options) error { return result.Encode(w, doc) }

// Markdown writes doc as GitHub-flavoured markdown. With Options.Budget it leaves out whole rows and sections until
// the text fits (see markdown.Render). It returns an error if even heading and lead do not fit.
func Markdown(w io.Writer, doc *result.Document, o Options) error {
	return markdown.Write(w, Build(doc, o), o)
}

// MarkdownParts returns the markdown of doc in parts. The budget applies to all of them together.
func MarkdownParts(doc *result.Document, o Options) (markdown.Parts, error) {
	return markdown.RenderParts(Build(doc, o), o)
}

// Text writes doc for a terminal: aligned columns that fit Options.Width (default 120), symbols with words, and
// colours only with Options.Color.
func Text(w io.Writer, doc *result.Document, o Options) error {
	return text.Write(w, Build(doc, o), o)
}
