package github

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// bodyBudget is the size of a comment in bytes. GitHub counts 65,536 characters, or
// bytes, depending on the way in; fewer bytes are fewer of both, and a redactor may still
// make the text a little longer.
const bodyBudget = 60_000

// surroundings are what a comment says beside the result.
type surroundings struct {
	event Event
	// head is the commit that the pull request is at now, "" if unknown.
	head string
	// judges are the files of the pull request that decide what is measured and how.
	judges    []string
	changed   []GateChange
	untrusted bool
	checkURL  string
}

// body is the text of a comment within a budget. Everything in it that is not ours has
// been escaped.
func body(m marker, doc *result.Document, o reports.Options, s surroundings, budget int) (string, error) {
	start := m.String() + "\n" + strings.Join(s.banners(), "\n\n")
	end := s.links()
	if len(s.banners()) > 0 {
		start += "\n\n"
	}
	o.Budget, o.Full = budget-len(start)-len(end), "the run's summary"
	var text bytes.Buffer
	if err := reports.Markdown(&text, doc, o); err != nil {
		return "", err
	}
	return start + text.String() + end, nil
}

// short is the form of a commit that people know.
func short(sha string) string { return sha[:min(7, len(sha))] }

// banners are what a reader must know before any figure.
func (s surroundings) banners() []string {
	var out []string
	if s.head != "" && s.head != s.event.SHA {
		out = append(out, alert("NOTE", fmt.Sprintf("These results are for %s; the head of the pull request is %s by now.",
			escape.Code(short(s.event.SHA), 0), escape.Code(short(s.head), 0))))
	}
	switch {
	case len(s.changed) > 0:
		out = append(out, alert("WARNING", "This pull request changes the gates that judge it: "+s.changes()+"."))
	case len(s.judges) > 0:
		out = append(out, alert("WARNING", "This pull request changes what judges it: "+s.list()+"."))
	}
	if s.untrusted {
		out = append(out, alert("NOTE", "Measured by code of this pull request, in a run without secrets: the figures are its own."))
	}
	return out
}

func alert(kind, text string) string { return "> [!" + kind + "]\n> " + text }

// list names the files that judge, a few of them.
func (s surroundings) list() string {
	const most = 5
	var names []string
	for _, f := range s.judges[:min(most, len(s.judges))] {
		names = append(names, escape.Code(f, 100))
	}
	if more := len(s.judges) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// changes says what becomes of the gates, a few settings of them.
func (s surroundings) changes() string {
	const most = 8
	var parts []string
	for _, c := range s.changed[:min(most, len(s.changed))] {
		text := escape.Code(c.Gate, 100) + " " + escape.Inline(c.Setting, 30)
		if c.Old != "" || c.New != "" {
			text += " " + cmp.Or(escape.Code(c.Old, 100), "unset") + " → " + cmp.Or(escape.Code(c.New, 100), "unset")
		}
		parts = append(parts, text)
	}
	if more := len(s.changed) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// links lead to the evidence. The addresses are made of parts that were checked.
func (s surroundings) links() string {
	var parts []string
	if url := s.event.RunURL(); url != "" {
		parts = append(parts, "[Run]("+url+")", "[artifacts]("+url+"#artifacts)")
	}
	if s.checkURL != "" {
		parts = append(parts, "[check]("+s.checkURL+")")
	}
	parts = append(parts, "commit "+escape.Code(short(s.event.SHA), 0))
	return "\n<sub>" + strings.Join(parts, " · ") + "</sub>\n"
}

// judging picks the files that decide what is measured and how it is judged: the pipeline
// files and the workflows.
func judging(files []string, doc *result.Document) []string {
	known := map[string]bool{doc.File: true}
	for i := range doc.Gates {
		known[doc.Gates[i].Range.File] = true
	}
	var out []string
	for _, f := range files {
		if known[f] || strings.HasSuffix(f, ".hcl") || strings.HasPrefix(f, ".github/workflows/") {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
