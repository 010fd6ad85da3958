package github

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// The bounds of a check run. GitHub takes 65,535 characters of summary and 50 annotations
// with each request.
const (
	checkBudget    = 60_000
	perRequest     = 50
	maxAnnotations = 10 * perRequest
	maxTitle       = 200
	maxMessage     = 4000
)

// conclusion is what a result means for a check. Only what fails the run fails the check;
// what is merely not decided is neutral, with which a required check is content.
func conclusion(doc *result.Document) string {
	worst := result.Overall(doc.Gates)
	switch {
	case doc.Status == result.StatusInterrupted && doc.ExitCode != result.ExitRegression:
		return Cancelled
	case doc.Status == result.StatusFailed || result.Exit(doc) != result.ExitOK || doc.ExitCode != result.ExitOK:
		return Failure
	case len(doc.Gates) == 0, worst == result.Pass, worst == result.Improvement:
		return Success
	}
	return Neutral
}

// title is the verdict in words.
func title(doc *result.Document, o reports.Options) string {
	heading := reports.Build(doc, o).Heading.String()
	if doc.Simulated != "" {
		heading = "Simulated: " + heading
	}
	return escape.Text(strings.TrimPrefix(heading, "Performance: "), maxTitle)
}

// completed is the check run of a result.
func completed(k Check, doc *result.Document, o reports.Options) (Check, error) {
	k.Conclusion, k.Title = conclusion(doc), title(doc, o)
	o.Budget, o.Full, o.Brief = checkBudget, "the run's summary", true
	var text bytes.Buffer
	if err := reports.Markdown(&text, doc, o); err != nil {
		return k, err
	}
	k.Summary, k.Annotations = text.String(), annotations(doc, o)
	return k, nil
}

// annotations are one for each gate that did not pass, on the lines of its block.
func annotations(doc *result.Document, o reports.Options) []Annotation {
	var out []Annotation
	for i := range doc.Gates {
		g := &doc.Gates[i]
		shown := len(o.Gates) == 0 || slices.Contains(o.Gates, g.Addr)
		if g.Verdict == result.Pass || g.Verdict == result.Improvement || !shown {
			continue
		}
		file, ok := repoPath(g.Range.File)
		if !ok || g.Range.Line < 1 || len(out) == maxAnnotations {
			continue
		}
		out = append(out, Annotation{
			Path: file, StartLine: g.Range.Line, EndLine: max(g.Range.Line, g.Range.EndLine), Level: level(g),
			Title: escape.Text(fmt.Sprintf("%s: %s", g.Addr, g.Verdict), maxTitle), Message: message(g),
		})
	}
	return out
}

func level(g *result.Gate) string {
	switch g.On(g.Verdict) {
	case result.Fail:
		return "failure"
	case result.Warn:
		return "warning"
	}
	return "notice"
}

// message lists the comparisons of a gate that did not pass, in plain text: annotations
// are not markdown.
func message(g *result.Gate) string {
	var lines []string
	size := 0
	for i := range g.Decisions {
		d := &g.Decisions[i]
		if d.Verdict == result.Pass || d.Verdict == result.Improvement {
			continue
		}
		line := decision(d)
		if size += len(line) + 1; size > maxMessage {
			lines = append(lines, "…")
			break
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = append(lines, string(g.Verdict))
	}
	return strings.Join(lines, "\n")
}

func decision(d *result.Decision) string {
	var cell []string
	for _, v := range d.Values {
		cell = append(cell, v.Name+"="+v.Value)
	}
	text := string(d.Verdict) + ": " + cmp.Or(d.Label, d.Metric)
	if d.Kind == result.KindMetric && d.N > 0 && d.Scale == "log" {
		text += fmt.Sprintf(" %+.1f %% (margin %g %%)", 100*d.Change, 100*d.Margin)
	}
	if len(cell) > 0 {
		text += " at " + strings.Join(cell, " ")
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return escape.Text(text, 300)
}

// repoPath is a file of a document as a path of the repository. A path that leads out of
// it names nothing there.
func repoPath(name string) (string, bool) {
	name = path.Clean(filepath.ToSlash(name))
	return name, filepath.IsLocal(name) && name != "." && len(name) <= 1000
}

// begin creates the check run while the run is still going on, which takes the place of
// an earlier verdict on the same commit.
func begin(ctx context.Context, api API, k Check) (Check, error) {
	k.Title, k.Summary = "Measuring", "The run is going on."
	return createCheck(ctx, api, k)
}

// createCheck creates a check run, at most one for each run of the workflow: when no reply
// came, it looks whether it is there.
func createCheck(ctx context.Context, api API, k Check) (Check, error) {
	const tries = 3
	var failed error
	for range tries {
		made, err := api.CreateCheck(ctx, k)
		if err == nil || !uncertain(err) || ctx.Err() != nil {
			return made, err
		}
		failed = err
		if made, ok := findCheck(ctx, api, k); ok {
			return made, nil
		}
	}
	return Check{}, failed
}

// findCheck finds the check run that this run of the workflow has created.
func findCheck(ctx context.Context, api API, k Check) (Check, bool) {
	found, err := api.Checks(ctx, k.SHA, k.Name)
	if err != nil {
		return Check{}, false
	}
	i := slices.IndexFunc(found, func(f Check) bool { return f.ExternalID == k.ExternalID })
	if i < 0 {
		return Check{}, false
	}
	return found[i], true
}

// finish completes a check run, creating it first if it is not there. The annotations go
// in parts: the verdict comes with the first.
func finish(ctx context.Context, api API, k Check) (Check, error) {
	rest := k.Annotations
	part := func() Check {
		next := k
		n := min(perRequest, len(rest))
		next.Annotations, rest = rest[:n], rest[n:]
		return next
	}
	var made Check
	var err error
	if first := part(); k.ID == 0 {
		made, err = createCheck(ctx, api, first)
	} else {
		made, err = api.UpdateCheck(ctx, first)
	}
	for err == nil && len(rest) > 0 {
		k.ID = made.ID
		made, err = api.UpdateCheck(ctx, part())
	}
	return made, err
}
