package github

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/publish/remote"
	"github.com/servegate/pipeline/reports/result"
)

// Limits of a check run. GitHub accepts 65,535 characters of summary, and 50 annotations per
// request.
const (
	maxSummary = 60_000
	perRequest = 50
	maxTitle   = 200
	maxMessage = 4000
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
	k.Summary, k.Annotations = text.String(), note.Annotations(doc, o)
	return k, nil
}

// checker writes the check run of one run of the workflow.
type checker struct {
	api   *Client
	clock Clock
}

// create creates a check run, at most one for each leg of a run of the workflow. It reports whether
// a second one may exist.
func (c checker) create(ctx context.Context, k Check) (Check, bool, error) {
	return remote.CreateOnce(ctx, c.clock,
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
		if failed++; !remote.Uncertain(err) || failed == tries {
			return err
		}
		if waited := remote.Pause(ctx, c.clock, max(remote.Jittered(remote.PollsAfterLoss[0]), remote.RetryWait(err))); waited != nil {
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
	own, err := remote.Settled(ctx, c.clock, func() ([]Check, bool, error) {
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
