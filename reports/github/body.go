package github

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/result"
)

// bodyBudget is the largest size of a comment in bytes. GitHub counts 65,536 characters or bytes,
// depending on the endpoint. The limit leaves room for a redactor that lengthens the text.
const bodyBudget = 60_000

// body returns what a comment shows beside a result. The addresses consist of validated parts.
func (p *Publisher) body(doc *result.Document, head string, judges []string, checkURL string) note.Body {
	b := note.Body{
		Change: "pull request", Full: "the run's summary", SHA: p.Event.SHA, Head: head, Base: cmp.Or(p.Settings.Base, p.Event.BaseSHA),
		Attempt: p.Event.Run.Attempt, Judges: judges, Set: p.Settings, FileURL: p.Event.fileURL, CommitURL: p.Event.commitURL,
	}
	if url := p.Event.RunURL(); url != "" {
		b.Links = append(b.Links, "[Run]("+url+")", "[artifacts]("+url+"#artifacts)")
	}
	if checkURL != "" {
		b.Links = append(b.Links, "[check]("+checkURL+")")
	}
	if p.Event.PullRequest() {
		commit := ""
		if p.Event.Fork() { // its head can change after a review
			commit = " " + note.Short(p.Event.SHA)
		}
		b.Commands = commands(commit, doc.Outcome().Accept)
	}
	return b
}

// commands describes the commands that a comment can contain, about a commit if it is not the head.
// Only results that were measured and block merging can be accepted.
func commands(commit string, accept bool) string {
	title, or := "Measure again", ""
	if accept {
		title, or = "Measure again or accept", " or `/pipeline accept"+commit+" REASON`"
	}
	return "**" + title + ":** whoever can push comments `/pipeline run" + commit + "`" + or +
		" (needs the workflow of `pipeline init --github`)"
}

// fileURL returns the page of a place in a file at the measured commit.
func (e Event) fileURL(a note.Annotation) string {
	if e.ServerURL == "" {
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
	return fmt.Sprintf("%s/%s/blob/%s/%s#%s", e.ServerURL, cmp.Or(e.HeadRepo, e.Repo), e.SHA,
		strings.Join(segments, "/"), lines)
}

// commitURL returns the page of a commit, of the repository of the head or of the base.
func (e Event) commitURL(sha string, base bool) string {
	if e.ServerURL == "" {
		return ""
	}
	repo := cmp.Or(e.HeadRepo, e.Repo)
	if base {
		repo = e.Repo
	}
	return fmt.Sprintf("%s/%s/commit/%s", e.ServerURL, repo, sha)
}
