package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports"
)

// maxNew bounds the issues that one night opens: where a whole matrix is slower, more of
// them say nothing more.
const maxNew = 10

// Tracker keeps one issue for each series of a history that regressed.
type Tracker struct {
	// API is nil in a dry run that looks at nothing.
	API API
	// Server is "https://github.com"; RunURL the page of the run that looked, "" for none.
	Server, RunURL string
	// Labels of new issues.
	Labels []string
	// DryRun writes nothing and says what would be done.
	DryRun bool
	// Mask hides secrets in what is posted; nil hides nothing.
	Mask func(string) string
	// Clock is the system's if nil.
	Clock Clock

	author string
	own    map[string][]ownedIssue // by the key of the series, the oldest first
	opened int
	out    Tracked
}

// Tracked is what was done, or would be.
type Tracked struct {
	Done []IssueDone
	// Notes say what was left as it is and why; Warnings what GitHub did not take.
	Notes    []string
	Warnings []string
}

// IssueDone is one issue.
type IssueDone struct {
	Action string // "opened", "updated", "reopened" or "closed"
	Key    string
	Title  string
	// Number and URL are 0 and "" in a dry run of one that is not there yet.
	Number int
	URL    string
}

// ownedIssue is an issue of ours.
type ownedIssue struct {
	Issue
	issueMarker
}

// Sync brings the issues of the repository in line with a history. Whatever becomes of
// replies there is one issue for a series at most, and one comment for a state: before
// something is written a second time, GitHub is asked what is there.
func (k *Tracker) Sync(ctx context.Context, h *reports.History) Tracked {
	k.out, k.opened = Tracked{}, 0
	ctx = within(ctx, issuesPatience)
	if err := k.list(ctx); err != nil {
		k.warn("the issues were not looked at", err)
		return k.out
	}
	trends := slices.Clone(h.Trends)
	slices.SortStableFunc(trends, func(a, b reports.Trend) int { return cmp.Compare(b.Excess(), a.Excess()) })
	for i := range trends {
		if err := k.one(ctx, h, &trends[i]); err != nil {
			k.warn("the issue on "+issueTitle(&trends[i])+" was not written", err)
			if stops(err) || ctx.Err() != nil {
				break
			}
		}
	}
	if more := k.opened - maxNew; more > 0 {
		k.out.Notes = append(k.out.Notes, fmt.Sprintf("%d more series regressed, for which no issue was opened tonight: more than %d at once say nothing more", more, maxNew))
	}
	return k.out
}

// stops reports errors after which nothing else will succeed either: a permission that is
// missing, a limit, a server that does not answer.
func stops(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Code != 422 && !strings.Contains(strings.ToLower(e.Message), "locked")
}

func (k *Tracker) clock() Clock {
	if k.Clock == nil {
		return systemClock{}
	}
	return k.Clock
}

func (k *Tracker) warn(what string, err error) {
	k.out.Warnings = append(k.out.Warnings, k.mask(warning(what, err, "issues")))
}

// list finds the issues of ours: by their first line, which anyone can write, and by their
// author, who writes other issues as well.
func (k *Tracker) list(ctx context.Context) error {
	k.own = map[string][]ownedIssue{}
	if k.API == nil {
		return nil
	}
	if k.author == "" {
		k.author, _ = k.API.Viewer(ctx) // "": any bot's may be ours
	}
	all, err := k.API.Issues(ctx, k.author)
	if err != nil {
		return err
	}
	for _, i := range all {
		m, ok := parseIssueMarker(i.Body)
		if ok && wroteAs(k.author, i.Author, i.Bot) {
			k.own[m.key] = append(k.own[m.key], ownedIssue{i, m})
		}
	}
	for _, list := range k.own {
		slices.SortFunc(list, func(a, b ownedIssue) int { return cmp.Compare(a.Number, b.Number) })
	}
	return nil
}

// one brings the issue of one series in line.
func (k *Tracker) one(ctx context.Context, h *reports.History, t *reports.Trend) error {
	if !seriesKey.MatchString(t.Key) {
		return fmt.Errorf("%q is no key of a series: it has 16 hexadecimal digits", t.Key)
	}
	stand, m := wanted(t)
	own := k.own[t.Key]
	if len(own) == 0 {
		if stand != worse {
			return nil
		}
		if k.opened++; k.opened > maxNew {
			return nil
		}
		return k.open(ctx, h, t, m)
	}
	if err := k.closeTwins(ctx, own); err != nil {
		return err
	}
	is := own[0]
	switch {
	case stand == worse && is.Open && is.state == m.state:
		return k.refresh(ctx, h, t, is, m)
	case stand == worse && is.Open:
		return k.tell(ctx, h, t, is, m, "News:", "updated")
	case stand == worse && is.state != m.state: // closed by us, or in an earlier state
		return k.tell(ctx, h, t, is, m, "Regressed again:", "reopened")
	case stand == fine && is.Open:
		return k.recovered(ctx, h, t, is, m)
	case stand == unknown && is.Open:
		k.out.Notes = append(k.out.Notes, fmt.Sprintf("issue %d stays as it is: %s", is.Number, k.mask(reports.TrendPlain(t))))
	}
	return nil
}

// open creates the issue. Where no answer comes, the issues are listed again.
func (k *Tracker) open(ctx context.Context, h *reports.History, t *reports.Trend, m issueMarker) error {
	body, err := k.issueBody(m, h, t)
	if err != nil {
		return err
	}
	want := Issue{Title: k.mask(issueTitle(t)), Body: body, Open: true, Labels: k.Labels}
	if k.DryRun {
		k.done("opened", t, want)
		return nil
	}
	made, unsure, err := createOnce(ctx, k.clock(),
		func() (Issue, error) { return k.API.CreateIssue(ctx, want) },
		func() (Issue, bool) {
			if k.list(ctx) != nil || len(k.own[t.Key]) == 0 {
				return Issue{}, false
			}
			return k.own[t.Key][0].Issue, true
		})
	if err != nil {
		return err
	}
	k.done("opened", t, made)
	return k.after(ctx, made, m, unsure)
}

// after looks whether another run has opened an issue on the series at the same time. The
// older one stays.
func (k *Tracker) after(ctx context.Context, made Issue, m issueMarker, unsure bool) error {
	_, err := settled(ctx, k.clock(), func() ([]ownedIssue, bool, error) {
		err := k.list(ctx)
		shown := slices.ContainsFunc(k.own[m.key], func(o ownedIssue) bool { return o.Number == made.Number })
		return k.own[m.key], shown || !unsure, err
	})
	if err != nil {
		return nil //nolint:nilerr // the issue is there; the next night closes a twin
	}
	own := k.own[m.key]
	if !slices.ContainsFunc(own, func(o ownedIssue) bool { return o.Number == made.Number }) {
		own = append(own, ownedIssue{made, m}) // a list may lag behind
		slices.SortFunc(own, func(a, b ownedIssue) int { return cmp.Compare(a.Number, b.Number) })
		k.own[m.key] = own
	}
	return k.closeTwins(ctx, own)
}

// closeTwins closes all issues of a series but the oldest.
func (k *Tracker) closeTwins(ctx context.Context, own []ownedIssue) error {
	for _, twin := range own[1:] {
		if !twin.Open {
			continue
		}
		twin.Open, twin.Reason = false, "not_planned"
		if err := k.edit(ctx, twin.Issue); err != nil {
			return err
		}
		k.out.Notes = append(k.out.Notes, fmt.Sprintf("issue %d is closed: issue %d is on the same series", twin.Number, own[0].Number))
	}
	return nil
}

// refresh updates the figures of an issue of which there is no news.
func (k *Tracker) refresh(ctx context.Context, h *reports.History, t *reports.Trend, is ownedIssue, m issueMarker) error {
	m.machine, m.reference = is.machine, is.reference
	body, err := k.issueBody(m, h, t)
	if err != nil || body == is.Body {
		return err
	}
	is.Body = body
	return k.edit(ctx, is.Issue)
}

// tell comments on a state, and lets the issue say it and be open.
func (k *Tracker) tell(ctx context.Context, h *reports.History, t *reports.Trend, is ownedIssue, m issueMarker, headline, action string) error {
	body, err := k.issueBody(m, h, t)
	if err != nil {
		return err
	}
	if err := k.comment(ctx, is.Number, m.state, k.news(m.state, headline, t)); err != nil {
		return err
	}
	is.Body, is.Title, is.Open = body, k.mask(issueTitle(t)), true
	if err := k.edit(ctx, is.Issue); err != nil {
		return err
	}
	k.done(action, t, is.Issue)
	return nil
}

// recovered closes an issue, if its series is as good as before the regression or what it
// is now was accepted. A change point that is not found any more is no recovery.
func (k *Tracker) recovered(ctx context.Context, h *reports.History, t *reports.Trend, is ownedIssue, m issueMarker) error {
	headline := "Accepted:"
	if !accepted(t, is.machine) {
		headline = "Recovered:"
		if !asBefore(t, is.issueMarker) {
			k.out.Notes = append(k.out.Notes, fmt.Sprintf("issue %d stays open: the last sessions are still worse than before the regression", is.Number))
			return nil
		}
	}
	m.machine, m.reference = is.machine, is.reference
	body, err := k.issueBody(m, h, t)
	if err != nil {
		return err
	}
	if err := k.comment(ctx, is.Number, m.state, k.news(m.state, headline, t)); err != nil {
		return err
	}
	is.Body, is.Open, is.Reason = body, false, "completed"
	if err := k.edit(ctx, is.Issue); err != nil {
		return err
	}
	k.done("closed", t, is.Issue)
	return nil
}

// accepted reports that the level on a machine was accepted.
func accepted(t *reports.Trend, machine string) bool {
	return slices.ContainsFunc(t.Parts, func(p reports.TrendPart) bool {
		return digest(p.Machine) == machine && p.Accepted != nil && p.Regressions == 0
	})
}

// asBefore reports that each of the last two sessions on the machine of the regression is
// within the margin of what was before it.
func asBefore(t *reports.Trend, m issueMarker) bool {
	i := slices.IndexFunc(t.Parts, func(p reports.TrendPart) bool { return digest(p.Machine) == m.machine })
	if i < 0 {
		return false
	}
	points := t.Parts[i].Points
	for _, p := range points[max(0, len(points)-2):] {
		now, before := p.Value, m.reference
		if t.Direction == string(metric.HigherIsBetter) {
			now, before = before, now
		}
		limit := before * (1 + t.Margin)
		if before <= 0 {
			limit = 0
		}
		if now > limit {
			return false
		}
	}
	return true
}

// comment tells of a state once.
func (k *Tracker) comment(ctx context.Context, number int, state, text string) error {
	if k.DryRun {
		return nil
	}
	if said, err := k.said(ctx, number, state); err != nil || said {
		return err
	}
	_, _, err := createOnce(ctx, k.clock(),
		func() (Comment, error) { return k.API.CreateComment(ctx, number, text) },
		func() (Comment, bool) {
			said, err := k.said(ctx, number, state)
			return Comment{}, said && err == nil
		})
	return err // the last request may have been carried out; the next night sees it
}

// said reports whether a comment of ours tells of a state.
func (k *Tracker) said(ctx context.Context, number int, state string) (bool, error) {
	list, err := k.API.Comments(ctx, number)
	for _, c := range list {
		parts := commentLine.FindStringSubmatch(c.Body)
		if parts != nil && parts[1] == state && wroteAs(k.author, c.Author, c.Bot) {
			return true, nil
		}
	}
	return false, err
}

func (k *Tracker) edit(ctx context.Context, i Issue) error {
	if k.DryRun {
		return nil
	}
	_, err := k.API.EditIssue(ctx, i)
	return err
}

func (k *Tracker) done(action string, t *reports.Trend, i Issue) {
	k.out.Done = append(k.out.Done, IssueDone{Action: action, Key: t.Key, Title: k.mask(issueTitle(t)), Number: i.Number, URL: webLink(i.URL, k.Server)})
}
