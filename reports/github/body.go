package github

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/model"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// bodyBudget is the largest size of a comment in bytes. GitHub counts 65,536 characters or bytes,
// depending on the endpoint. The limit leaves room for a redactor that lengthens the text.
const bodyBudget = 60_000

// minSection is the size in bytes that every section gets. If the sections do not fit together,
// some lose what follows their lead.
const minSection = 4_000

// surroundings holds what a comment shows beside the result.
type surroundings struct {
	event Event
	// head is the present commit of the pull request, "" if unknown. base is the commit that the
	// head was measured against.
	head, base string
	// judges are the files of the pull request that define what is measured and how it is judged.
	judges    []string
	changed   []GateChange
	untrusted bool
	// baseJudges is set if changes of the pull request to its own gates have no effect.
	baseJudges bool
	checkURL   string
	command    string
	// bisect is the command that finds the commit, without its ends; "" for none.
	bisect string
	leg    Leg
}

// render returns the section of a result within a budget, and the banner of the whole comment. All
// foreign text in it is escaped.
func (s surroundings) render(doc *result.Document, o reports.Options, budget int) (section, string, error) {
	actions, links := s.actions(doc, o), s.links()
	o.Budget, o.Full, o.Comment = max(budget-len(actions)-len(links)-1000, minSection), "the run's summary", true
	parts, err := reports.MarkdownParts(doc, o)
	if err != nil {
		return section{}, "", err
	}
	out := s.section(doc)
	out.title, out.lead, out.rest = inert(strings.TrimSuffix(parts.Heading, "\n")), inert(parts.Lead+actions), inert(parts.Rest+links)
	return out, s.banner(strings.TrimSpace(parts.Banner)), nil
}

// section returns the section of a result without its text.
func (s surroundings) section(doc *result.Document) section {
	return section{
		leg: legID(s.leg), label: escape.Text(cmp.Or(s.leg.Matrix, s.leg.Job), 100), matrix: s.leg.Matrix != "",
		session: digest("session", doc.RunID),
		attempt: max(s.event.Run.Attempt, 1), rank: rankOf(doc),
	}
}

func rankOf(doc *result.Document) rank {
	switch conclusion(doc) {
	case Success:
		return passed
	case Neutral:
		return undecided
	}
	return failed
}

// compose joins the sections of a comment, the worst first. If they do not fit, the least important
// ones lose what follows their lead.
func compose(m marker, file, banner string, sections []section, full string, budget int) string {
	several := len(sections) > 1
	start := m.String() + "\n"
	if several {
		start += overview(file, sections) + banner + "\n"
		banner = ""
	}
	short := make([]bool, len(sections))
	for cut := len(sections); ; cut-- {
		var b strings.Builder
		b.WriteString(start)
		for i, s := range sections {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(s.text(several, short[i], banner, full))
		}
		text := b.String()
		if len(text) <= budget || cut == 0 {
			return text
		}
		short[cut-1] = true
	}
}

// overview returns the heading over several sections.
func overview(file string, sections []section) string {
	n := map[rank]int{}
	for _, s := range sections {
		n[s.rank]++
	}
	icon, parts := model.IconPass, []string(nil)
	for _, r := range []struct {
		rank rank
		icon model.Icon
		what string
	}{{failed, model.IconRegression, "failed"}, {undecided, model.IconWarning, "not decided"}, {passed, model.IconPass, "passed"}} {
		if n[r.rank] == 0 {
			continue
		}
		if len(parts) == 0 {
			icon = r.icon
			parts = append(parts, fmt.Sprintf("%d of %d jobs %s", n[r.rank], len(sections), r.what))
		} else {
			parts = append(parts, fmt.Sprintf("%d %s", n[r.rank], r.what))
		}
	}
	text := "### " + icon.Emoji() + " Performance: " + strings.Join(parts, ", ")
	if file != "" {
		text += " — " + escape.Code(file, 160)
	}
	return text + "\n"
}

// short returns the abbreviated commit.
func short(sha string) string { return sha[:min(7, len(sha))] }

// banner returns a line of warnings that follows the verdict, "" if there are none.
func (s surroundings) banner(simulated string) string {
	var parts []string
	if simulated != "" {
		parts = append(parts, simulated)
	}
	if s.head != "" && s.head != s.event.SHA {
		parts = append(parts, fmt.Sprintf("These results are for %s; the head of the pull request is %s by now.",
			escape.Code(short(s.event.SHA), 0), escape.Code(short(s.head), 0)))
	}
	switch {
	case len(s.changed) > 0:
		parts = append(parts, "This pull request changes the gates that judge it: "+s.changes()+".")
	case len(s.judges) > 0:
		parts = append(parts, "This pull request changes what judges it: "+s.list()+".")
	}
	if s.baseJudges && len(s.changed) > 0 {
		parts = append(parts, "The file of the base judged: only what it says of the head's own servers had an effect.")
	}
	if s.untrusted {
		parts = append(parts, ownFigures)
	}
	if len(parts) == 0 {
		return ""
	}
	return "> ⚠️ " + strings.Join(parts, " ") + "\n\n"
}

// list names the first of the files that judge.
func (s surroundings) list() string {
	return some(s.judges, 3, func(f string) string { return escape.Code(f, 100) })
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
func (s surroundings) changes() string {
	return some(s.changed, 4, func(c GateChange) string {
		text := escape.Code(c.Gate, 100) + " " + escape.Inline(c.Setting, 30)
		if c.Old != "" || c.New != "" {
			text += " " + cmp.Or(escape.Code(c.Old, 100), "unset") + " → " + cmp.Or(escape.Code(c.New, 100), "unset")
		}
		return text
	})
}

// actions returns what the reader can do about a result that is not green.
func (s surroundings) actions(doc *result.Document, o reports.Options) string {
	if rankOf(doc) == passed {
		return ""
	}
	var lines []string
	if gates := s.gates(doc, o); gates != "" {
		lines = append(lines, "**Gate:** "+gates)
	}
	if s.command != "" {
		lines = append(lines, "**Reproduce:** "+escape.Code("git checkout "+short(s.event.SHA)+" && "+s.command, 1000))
	}
	if s.bisect != "" && s.base != "" && doc.Verdict == result.Regression {
		lines = append(lines, "**Which commit it was:** "+escape.Code(s.bisect+" --good "+short(s.base)+" --bad "+short(s.event.SHA), 1000))
	}
	if s.event.Number > 0 || s.event.Name == "workflow_run" {
		commit := ""
		if s.event.Fork() { // its head can change after a review
			commit = " " + short(s.event.SHA)
		}
		lines = append(lines, commands(commit, doc.Outcome().Accept))
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n" + strings.Join(lines, "<br>\n") + "\n"
}

// commands describes the commands that a comment can contain, about a commit if it is not the head.
// Only results that were measured and block merging can be accepted.
func commands(commit string, accept bool) string {
	title, or := "Measure again", ""
	if accept {
		title, or = "Measure again or accept", ", or `/pipeline accept"+commit+" REASON`"
	}
	return "**" + title + ":** anybody who can push comments `/pipeline run" + commit + "`" + or +
		" (<sub>the workflow of `pipeline init --github` carries it out</sub>)"
}

// gates links the lines of the first gates that did not pass, at the measured commit.
func (s surroundings) gates(doc *result.Document, o reports.Options) string {
	return some(annotations(doc, o), 3, func(a Annotation) string {
		place := escape.Code(fmt.Sprintf("%s:%d", a.Path, a.StartLine), 200)
		if link := s.fileURL(a); link != "" {
			return "[" + place + "](" + link + ")"
		}
		return place
	})
}

// fileURL returns the page of a place in a file at the measured commit.
func (s surroundings) fileURL(a Annotation) string {
	if s.event.ServerURL == "" {
		return ""
	}
	segments := strings.Split(a.Path, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	lines := fmt.Sprintf("L%d", a.StartLine)
	if a.EndLine > a.StartLine {
		lines += fmt.Sprintf("-L%d", a.EndLine)
	}
	return fmt.Sprintf("%s/%s/blob/%s/%s#%s", s.event.ServerURL, cmp.Or(s.event.HeadRepo, s.event.Repo), s.event.SHA,
		strings.Join(segments, "/"), lines)
}

// links returns links to the evidence. The addresses consist of validated parts.
func (s surroundings) links() string {
	var parts []string
	if url := s.event.RunURL(); url != "" {
		parts = append(parts, "[Run]("+url+")", "[artifacts]("+url+"#artifacts)")
	}
	if s.checkURL != "" {
		parts = append(parts, "[check]("+s.checkURL+")")
	}
	commits := "commit " + s.commit(cmp.Or(s.event.HeadRepo, s.event.Repo), s.event.SHA)
	if s.base != "" {
		commits += " against base " + s.commit(s.event.Repo, s.base)
	}
	return "\n<sub>" + strings.Join(append(parts, commits), " · ") + "</sub>\n"
}

func (s surroundings) commit(repo, sha string) string {
	text := escape.Code(short(sha), 0)
	if s.event.ServerURL == "" {
		return text
	}
	return fmt.Sprintf("[%s](%s/%s/commit/%s)", text, s.event.ServerURL, repo, sha)
}

// judging returns the files that define what is measured and how it is judged: pipeline files and
// workflows.
func judging(files []string, doc *result.Document) []string {
	known := map[string]bool{doc.File: true}
	for i := range doc.Gates {
		known[doc.Gates[i].Range.File] = true
	}
	var out []string
	for _, f := range files {
		if known[f] || strings.HasSuffix(f, ".hcl") || strings.HasSuffix(f, ".hcl.json") || strings.HasSuffix(f, ".pipeline.json") ||
			strings.HasPrefix(f, ".github/workflows/") {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
