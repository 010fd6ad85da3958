package github

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// Limits of a check run. GitHub accepts 65,535 characters of summary, and 50 annotations per
// request.
const (
	maxSummary     = 60_000
	perRequest     = 50
	maxAnnotations = 10 * perRequest
	maxTitle       = 200
	maxMessage     = 4000
)

// conclusion returns the conclusion of a check run for a result.
func conclusion(doc *result.Document) string { return string(doc.Outcome().Check) }

// title returns the verdict in words.
func title(doc *result.Document, o reports.Options) string {
	heading := reports.Build(doc, o).Heading.String()
	if doc.Simulated != "" {
		heading = "Simulated: " + heading
	}
	return escape.Text(strings.TrimPrefix(heading, "Performance: "), maxTitle)
}

// completed returns the check run of a result.
func completed(k Check, doc *result.Document, o reports.Options) (Check, error) {
	k.Conclusion, k.Title = conclusion(doc), title(doc, o)
	o.Budget, o.Full, o.Brief = maxSummary, "the run's summary", true
	var text bytes.Buffer
	if err := reports.Markdown(&text, doc, o); err != nil {
		return k, err
	}
	k.Summary, k.Annotations = text.String(), annotations(doc, o)
	return k, nil
}

// annotations returns one annotation for each gate that did not pass, on the lines of its block.
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
			Title: escape.Text(fmt.Sprintf("%s: %s", g.Addr, g.VerdictText()), maxTitle), Message: message(g),
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

// message lists the comparisons of a gate that did not pass, as plain text: annotations do not
// render markdown.
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
		lines = append(lines, g.VerdictText())
	}
	return strings.Join(lines, "\n")
}

func decision(d *result.Decision) string {
	text := d.VerdictText() + ": " + cmp.Or(d.Label, d.Metric)
	if d.Kind == result.KindMetric && d.Change != nil && d.Scale == metric.Log {
		text += fmt.Sprintf(" %+.1f %% (margin %g %%)", 100**d.Change, 100*d.Margin)
	}
	if cell := result.Coordinates(d.Values, " "); cell != "" {
		text += " at " + cell
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return escape.Text(text, 300)
}

// repoPath returns a file of a document as a path in the repository. It reports false for a path
// that leads outside.
func repoPath(name string) (string, bool) {
	name = path.Clean(filepath.ToSlash(name))
	return name, filepath.IsLocal(name) && name != "." && len(name) <= 1000
}

// checker writes the check run of one run of the workflow.
type checker struct {
	api   *Client
	clock Clock
}

// create creates a check run, at most one for each leg of a run of the workflow. It reports whether
// a second one may exist.
func (c checker) create(ctx context.Context, k Check) (Check, bool, error) {
	return createOnce(ctx, c.clock,
		func() (Check, error) { return c.api.CreateCheck(ctx, k) },
		func() (Check, bool) { return c.find(ctx, k) })
}

// find finds the check run that this leg of this run of the workflow has created.
func (c checker) find(ctx context.Context, k Check) (Check, bool) {
	own, err := c.own(ctx, k)
	if err != nil || len(own) == 0 {
		return Check{}, false
	}
	return own[0], true
}

// own lists the check runs of this leg, the newest first. Of several with one name, GitHub shows
// the newest.
func (c checker) own(ctx context.Context, k Check) ([]Check, error) {
	found, err := c.api.Checks(ctx, k.SHA, k.Name)
	own := slices.DeleteFunc(found, func(f Check) bool { return f.ExternalID != k.ExternalID })
	slices.SortFunc(own, func(a, b Check) int { return cmp.Compare(b.ID, a.ID) })
	return own, err
}

// finish completes a check run and creates it if it does not exist. It sends the verdict first, in
// a request that can be repeated, then the annotations.
func (c checker) finish(ctx context.Context, k Check) (made Check, unsure bool, err error) {
	verdict := k
	verdict.Annotations = nil
	if k.ID == 0 {
		made, unsure, err = c.create(ctx, verdict)
		if err == nil && made.Conclusion != k.Conclusion { // found in the state in which it began
			verdict.ID = made.ID
			made, err = c.api.UpdateCheck(ctx, verdict)
		}
	} else {
		made, err = c.api.UpdateCheck(ctx, verdict)
	}
	if err != nil {
		return made, unsure, err
	}
	k.ID = made.ID
	return made, unsure, c.annotate(ctx, k, made.Annotated)
}

// annotate adds the annotations from index there on, in parts. GitHub appends them, so a part whose
// reply was lost is sent again only after asking GitHub how many it has.
func (c checker) annotate(ctx context.Context, k Check, there int) error {
	const tries = 4
	for failed := 0; there < len(k.Annotations); {
		part := k
		part.Annotations = k.Annotations[there:min(there+perRequest, len(k.Annotations))]
		_, err := c.api.UpdateCheck(ctx, part)
		if err == nil {
			there += len(part.Annotations)
			continue
		}
		if failed++; !uncertain(err) || failed == tries {
			return err
		}
		if waited := pause(ctx, c.clock, max(jittered(pollsAfterLoss[0]), retryWait(err))); waited != nil {
			return err
		}
		now, asked := c.api.Check(ctx, k.ID)
		if asked != nil {
			return err
		}
		there = max(there, now.Annotated)
	}
	return nil
}

// settle completes the check runs that this leg created twice, because a reply was lost while the
// list lagged. A check run cannot be deleted.
func (c checker) settle(ctx context.Context, k Check) error {
	own, err := settled(ctx, c.clock, func() ([]Check, bool, error) {
		own, err := c.own(ctx, k)
		return own, slices.ContainsFunc(own, func(o Check) bool { return o.ID == k.ID }), err
	})
	if err != nil || len(own) < 2 {
		return err
	}
	var errs []error
	for _, twin := range own {
		if twin.ID == k.ID {
			continue
		}
		twin.Name, twin.Conclusion = k.Name+" (duplicate)", Neutral
		twin.Title, twin.Summary = "Duplicate", "GitHub lost the reply to the request that made this check run; another one has the result."
		_, err := c.api.UpdateCheck(ctx, twin)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
