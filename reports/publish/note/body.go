package note

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
)

// minSection is the size in bytes that every section gets. If the sections do not fit together,
// some lose what follows their lead.
const minSection = 4_000

// Body holds what a comment shows beside the result.
type Body struct {
	// Change names the change: "pull request". Full is where the omitted part can be read.
	Change, Full string
	// SHA is the measured commit.
	SHA string
	// Head is the present commit of the change, "" if unknown. Base is the commit that the
	// head was measured against.
	Head, Base string
	// Attempt counts the tries of the measuring job.
	Attempt int
	// Judges are the files of the change that define what is measured and how it is judged.
	Judges []string
	// Set holds the settings of the report.
	Set publish.Settings
	// Commands tells how the change is measured again or accepted, "" if it cannot be.
	Commands string
	// Links are links to the evidence.
	Links []string
	// FileURL returns the page of lines of a file at the measured commit, CommitURL that of a commit, of the
	// head's repository or of the base's; "" if there is none.
	FileURL   func(Annotation) string
	CommitURL func(sha string, base bool) string
}

// Render returns the section of a result within a budget, and the banner of the whole comment. All
// foreign text in it is escaped.
func (b Body) Render(doc *result.Document, budget int) (Section, string, error) {
	o := b.Set.Report
	actions, links := b.actions(doc), b.links()
	o.Budget, o.Full, o.Comment = max(budget-len(actions)-len(links)-1000, minSection), b.Full, true
	parts, err := reports.MarkdownParts(doc, o)
	if err != nil {
		return Section{}, "", err
	}
	out := b.Section(doc)
	out.title, out.lead = inert(strings.TrimSuffix(parts.Heading, "\n")), inert(parts.Lead+actions)
	out.rest = inert(withLinks(parts.Rest, links))
	return out, b.banner(strings.TrimSpace(parts.Banner)), nil
}

// Masked returns the section with secrets hidden.
func (s Section) Masked(mask func(string) string) Section {
	s.label, s.title, s.lead, s.rest = mask(s.label), mask(s.title), mask(s.lead), mask(s.rest)
	return s
}

// Section returns the section of a result without its text.
func (b Body) Section(doc *result.Document) Section {
	return Section{
		leg: LegID(b.Set.Leg), label: escape.Text(cmp.Or(b.Set.Leg.Matrix, b.Set.Leg.Job), 100), matrix: b.Set.Leg.Matrix != "",
		session: Digest("session", doc.RunID), attempt: max(b.Attempt, 1), rank: rankOf(doc),
	}
}

// Short returns the abbreviated commit.
func Short(sha string) string { return sha[:min(7, len(sha))] }

// banner returns a line of warnings that follows the verdict, "" if there are none.
func (b Body) banner(simulated string) string {
	var parts []string
	if simulated != "" {
		parts = append(parts, simulated)
	}
	if b.Head != "" && b.Head != b.SHA {
		parts = append(parts, fmt.Sprintf("These results are for %s; the head of the %s is %s by now.",
			escape.Code(Short(b.SHA), 0), b.Change, escape.Code(Short(b.Head), 0)))
	}
	switch {
	case len(b.Set.Changed) > 0:
		parts = append(parts, "This "+b.Change+" changes the gates that judge it: "+b.changes()+".")
	case len(b.Judges) > 0:
		parts = append(parts, "This "+b.Change+" changes what judges it: "+b.list()+".")
	}
	if b.Set.BaseJudges && len(b.Set.Changed) > 0 {
		parts = append(parts, "The file of the base judged: only what it says of the head's own servers had an effect.")
	}
	if b.Set.Untrusted {
		parts = append(parts, OwnFigures(b.Change))
	}
	if len(parts) == 0 {
		return ""
	}
	return "> ⚠️ " + strings.Join(parts, " ") + "\n\n"
}

// list names the first of the files that judge.
func (b Body) list() string {
	return some(b.Judges, 3, func(f string) string { return escape.Code(f, 100) })
}

// some shows the first elements of a list and counts the rest.
func some[T any](all []T, most int, show func(T) string) string {
	var parts []string
	for _, one := range all[:min(most, len(all))] {
		parts = append(parts, show(one))
	}
	if more := len(all) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// changes lists the first changed settings of the gates.
func (b Body) changes() string {
	return some(b.Set.Changed, 4, func(c publish.GateChange) string {
		text := escape.Code(c.Gate, 100) + " " + escape.Inline(c.Setting, 30)
		if c.Old != "" || c.New != "" {
			text += " " + cmp.Or(escape.Code(c.Old, 100), "unset") + " → " + cmp.Or(escape.Code(c.New, 100), "unset")
		}
		return text
	})
}

// actions returns what the reader can do about a result that is not green.
func (b Body) actions(doc *result.Document) string {
	if rankOf(doc) == passed {
		return ""
	}
	var lines []string
	cause := doc.Outcome().Cause
	if gates := b.gates(doc); gates != "" && cause != result.CauseFailed && cause != result.CauseInfrastructure {
		lines = append(lines, "**Gate:** "+gates)
	}
	if b.Set.Command != "" {
		lines = append(lines, "**Reproduce:** "+escape.Code("git checkout "+Short(b.SHA)+" && "+b.Set.Command, 1000))
	}
	if b.Set.Bisect != "" && b.Base != "" && doc.Verdict == result.Regression {
		lines = append(lines, "**Which commit it was:** "+escape.Code(b.Set.Bisect+" --good "+Short(b.Base)+" --bad "+Short(b.SHA), 1000))
	}
	if b.Commands != "" {
		lines = append(lines, b.Commands)
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n" + strings.Join(lines, "<br>\n") + "\n"
}

// gates links the lines of the first gates that did not pass, at the measured commit.
func (b Body) gates(doc *result.Document) string {
	return some(Annotations(doc, b.Set.Report), 3, func(a Annotation) string {
		place := escape.Code(fmt.Sprintf("%s:%d", a.Path, a.StartLine), 200)
		if link := b.FileURL(a); link != "" {
			return "[" + place + "](" + link + ")"
		}
		return place
	})
}

// links returns links to the evidence, in one line.
func (b Body) links() string {
	commits := "commit " + b.commit(b.SHA, false)
	if b.Base != "" {
		commits += " against base " + b.commit(b.Base, true)
	}
	return strings.Join(append(slices.Clone(b.Links), commits), " · ")
}

// withLinks returns the rest of a report with links in its last small line, or in one of their own.
func withLinks(rest, links string) string {
	if last, ok := strings.CutSuffix(rest, "</sub>\n"); ok {
		return last + " · " + links + "</sub>\n"
	}
	return rest + "\n<sub>" + links + "</sub>\n"
}

func (b Body) commit(sha string, base bool) string {
	text := escape.Code(Short(sha), 0)
	if url := b.CommitURL(sha, base); url != "" {
		return fmt.Sprintf("[%s](%s)", text, url)
	}
	return text
}

// Judging returns the files that define what is measured and how it is judged: pipeline files and
// workflows.
func Judging(files []string, doc *result.Document) []string {
	known := map[string]bool{doc.File: true}
	for i := range doc.Gates {
		known[doc.Gates[i].Range.File] = true
	}
	var out []string
	for _, f := range files {
		if known[f] || strings.HasSuffix(f, ".hcl") || strings.HasSuffix(f, ".hcl.json") || strings.HasSuffix(f, ".pipeline.json") ||
			strings.HasPrefix(f, ".github/workflows/") || f == ".gitlab-ci.yml" {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// OwnFigures returns the warning on an untrusted result.
func OwnFigures(change string) string {
	return "Measured by code of this " + change + ", in a run without secrets: the figures are its own."
}
