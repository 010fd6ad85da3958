package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/result"
)

// previewBudget is the size in bytes of a comment that is only printed.
const previewBudget = 60_000

// previewComment prints the comment that would be posted about a result, and the conclusions of check run and status.
// It asks no service, so links and what only the event of a job knows are missing.
func (a *app) previewComment(doc *result.Document, post postFlags) error {
	set := publish.Settings{Key: post.key, Base: post.base, Comment: post.comment}
	nowhere := func(string, bool) string { return "" }
	body := note.Body{Change: "change", Base: post.base, Set: set, CommitURL: nowhere, FileURL: func(note.Annotation) string { return "" }}
	body.SHA = "unknown"
	if doc.Source != nil {
		body.SHA = cmp.Or(doc.Source.Commit, body.SHA)
	}
	section, banner, err := body.Render(doc, previewBudget)
	if err != nil {
		return exit(exitUsage, err)
	}
	outcome := doc.Outcome()
	text := strings.TrimSpace(note.Compose("", doc.File, banner, []note.Section{section}, "the run's summary", previewBudget))
	_, err = fmt.Fprintf(a.Out, "%s\n\ncheck run: %s, status: %s, exit status of the run: %d\n", text, outcome.Check, outcome.State,
		outcome.Exit)
	for _, n := range note.Annotations(doc, body.Set.Report) {
		if err == nil {
			_, err = fmt.Fprintf(a.Out, "annotation: %s:%d: %s\n", n.Path, n.StartLine, n.Title)
		}
	}
	return err
}
