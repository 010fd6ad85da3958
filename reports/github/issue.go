package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/publish/remote"
	"github.com/servegate/pipeline/reports/series"
)

// maxSeries is the largest number of series in one issue. Further ones appear in an issue of the
// next night.
const maxSeries = 100

// Tracker keeps issues for the series of a history that regressed: one for all that are found in
// one night, because one commit can slow a whole matrix.
type Tracker struct {
	// API is nil in a dry run without requests.
	API *Client
	// Server is "https://github.com". RunURL is the page of the run, "" for none.
	Server, RunURL string
	// Labels of new issues.
	Labels []string
	// DryRun writes nothing and reports what would be done.
	DryRun bool
	// Mask hides secrets in what is posted.
	Mask Mask
	// Clock defaults to the system's.
	Clock Clock

	author string
	own    []*ownedIssue // the oldest first
	out    Tracked
}

// ownedIssue is an issue of ours, on one series or several.
type ownedIssue struct {
	Issue
	series []issueMarker
}

func (o *ownedIssue) has(key string) bool {
	return slices.ContainsFunc(o.series, func(m issueMarker) bool { return m.key == key })
}

// Sync updates the issues of the repository from a history. Even if replies are lost, there is at
// most one issue for a series and one comment for a state: before it writes something again, it
// asks GitHub what exists.
func (k *Tracker) Sync(ctx context.Context, h *series.History) Tracked {
	k.out = Tracked{}
	ctx = remote.WithBudget(ctx, issuesBudget)
	if err := k.list(ctx); err != nil {
		k.warn("the issues were not looked at", err)
		return k.out
	}
	all := k.sorted(h)
	attempt := func(what string, err error) (goOn bool) {
		if err != nil {
			k.warn(what+" was not written", err)
		}
		return err == nil || !stops(err) && ctx.Err() == nil
	}
	for _, is := range slices.Clone(k.own) {
		done, err := k.closeTwin(ctx, is)
		if err == nil && !done {
			err = k.update(ctx, h, all, is)
		}
		if !attempt(fmt.Sprintf("issue %d", is.Number), err) {
			return k.out
		}
	}
	if fresh := k.fresh(all); len(fresh) > 0 {
		attempt("the issue on "+groupTitle(fresh), k.open(ctx, h, fresh))
	}
	return k.out
}

// sorted returns the series of a history, the worst first, without those with an invalid key.
func (k *Tracker) sorted(h *series.History) []*series.Trend {
	var out []*series.Trend
	for i := range h.Trends {
		t := &h.Trends[i]
		if !seriesKey.MatchString(t.Key) {
			k.warn("the issue on "+issueTitle(t)+" was not written", fmt.Errorf("the key of a series must have 16 hexadecimal digits: %q", t.Key))
			continue
		}
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b *series.Trend) int { return cmp.Compare(b.Excess(), a.Excess()) })
	return out
}

// fresh returns the series that regressed and have no issue.
func (k *Tracker) fresh(all []*series.Trend) []*series.Trend {
	var out []*series.Trend
	for _, t := range all {
		if stand, _ := wanted(t); stand == worse && k.on(t.Key) == nil {
			out = append(out, t)
		}
	}
	if more := len(out) - maxSeries; more > 0 {
		k.out.Notes = append(k.out.Notes, fmt.Sprintf("%d more series regressed, which the issue of the next night names", more))
		out = out[:maxSeries]
	}
	return out
}

// on returns the oldest issue on a series, nil if there is none.
func (k *Tracker) on(key string) *ownedIssue {
	if i := slices.IndexFunc(k.own, func(o *ownedIssue) bool { return o.has(key) }); i >= 0 {
		return k.own[i]
	}
	return nil
}

// stops reports errors after which further requests would fail too: a missing permission, a limit,
// a server that does not answer.
func stops(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Code != 422 && !e.Says("locked")
}

func (k *Tracker) warn(what string, err error) {
	k.out.Warnings = append(k.out.Warnings, k.Mask.of(warning(what, err, "issues")))
}

// list finds our issues by their first line and their author. Anyone can write the line, and the
// author writes other issues too.
func (k *Tracker) list(ctx context.Context) error {
	k.own = nil
	if k.API == nil {
		return nil
	}
	if k.author == "" {
		k.author, _ = k.API.Viewer(ctx) // with "", any bot's issue may be ours
	}
	all, err := k.API.Issues(ctx, k.author)
	if err != nil {
		return err
	}
	for _, i := range all {
		if markers := parseIssueMarkers(i.Body); len(markers) > 0 && wroteAs(k.author, i.Author, i.Bot) {
			k.own = append(k.own, &ownedIssue{i, markers})
		}
	}
	slices.SortFunc(k.own, byNumber)
	return nil
}

func byNumber(a, b *ownedIssue) int { return cmp.Compare(a.Number, b.Number) }

// open creates one issue for all series that are newly worse. If no answer comes, it lists the
// issues again.
func (k *Tracker) open(ctx context.Context, h *series.History, fresh []*series.Trend) error {
	var markers []issueMarker
	for _, t := range fresh {
		_, m := wanted(t)
		markers = append(markers, m)
	}
	body, err := k.issueBody(markers, h, fresh)
	if err != nil {
		return err
	}
	want := Issue{Title: k.Mask.of(groupTitle(fresh)), Body: body, Open: true, Labels: k.Labels}
	if k.DryRun {
		k.done("opened", want)
		return nil
	}
	made, unsure, err := remote.CreateOnce(ctx, remote.ClockOr(k.Clock),
		func() (Issue, error) { return k.API.CreateIssue(ctx, want) },
		func() (Issue, bool) {
			if k.list(ctx) != nil {
				return Issue{}, false
			}
			if found := k.on(fresh[0].Key); found != nil {
				return found.Issue, true
			}
			return Issue{}, false
		})
	if err != nil {
		return err
	}
	k.done("opened", made)
	return k.after(ctx, &ownedIssue{made, markers}, unsure)
}

// after checks whether another run has opened an issue on the series at the same time. The older
// one stays.
func (k *Tracker) after(ctx context.Context, made *ownedIssue, unsure bool) error {
	_, err := remote.Settled(ctx, remote.ClockOr(k.Clock), func() ([]*ownedIssue, bool, error) {
		err := k.list(ctx)
		shown := slices.ContainsFunc(k.own, func(o *ownedIssue) bool { return o.Number == made.Number })
		return k.own, shown || !unsure, err
	})
	if err != nil {
		return nil //nolint:nilerr // the issue is there; the next night closes a twin
	}
	if !slices.ContainsFunc(k.own, func(o *ownedIssue) bool { return o.Number == made.Number }) {
		k.own = append(k.own, made) // the list may lag
		slices.SortFunc(k.own, byNumber)
	}
	for _, o := range k.own {
		if _, err := k.closeTwin(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// closeTwin closes an issue if an older issue covers all of its series. It reports whether this is
// so.
func (k *Tracker) closeTwin(ctx context.Context, is *ownedIssue) (bool, error) {
	older := 0
	for _, m := range is.series {
		first := k.on(m.key)
		if first.Number == is.Number {
			return false, nil
		}
		older = first.Number
	}
	if !is.Open {
		return true, nil
	}
	is.Open, is.Reason = false, "not_planned"
	if err := k.edit(ctx, is.Issue); err != nil {
		return true, err
	}
	k.out.Notes = append(k.out.Notes, fmt.Sprintf("issue %d is closed: issue %d is on the same series", is.Number, older))
	return true, nil
}

// item is news of one series.
type item struct {
	headline string
	t        *series.Trend
}

// update updates an issue from its series: it comments on the news of each, and keeps the issue
// open as long as one of them is worse.
func (k *Tracker) update(ctx context.Context, h *series.History, all []*series.Trend, is *ownedIssue) error {
	next := *is
	next.series = slices.Clone(is.series)
	var news []item
	unresolved, reopen := 0, false
	for i := range next.series {
		if k.on(next.series[i].key) != is {
			continue // an older issue covers it
		}
		one, resolved := k.compare(all, is.Open, &next.series[i], is.Number)
		if one != nil {
			news = append(news, *one)
			reopen = reopen || !is.Open
		}
		if !resolved {
			unresolved++
		}
	}
	if !is.Open && !reopen {
		return nil // left closed
	}
	next.Open = unresolved > 0
	if !next.Open {
		next.Reason = "completed"
	}
	return k.rewrite(ctx, h, all, is, &next, news)
}

// compare compares a series with the state in its issue and updates the state. It returns the news,
// and whether the series has recovered.
func (k *Tracker) compare(all []*series.Trend, open bool, m *issueMarker, number int) (news *item, resolved bool) {
	i := slices.IndexFunc(all, func(t *series.Trend) bool { return t.Key == m.key })
	if i < 0 {
		return nil, false // no longer measured: unknown
	}
	t := all[i]
	stand, now := wanted(t)
	switch {
	case stand == worse && m.state == now.state:
		return nil, false
	case stand == worse:
		*m = now
		return &item{map[bool]string{true: "News:", false: "Regressed again:"}[open], t}, false
	case !open:
		return nil, true
	case stand == unknown:
		k.out.Notes = append(k.out.Notes, fmt.Sprintf("issue %d stays as it is: %s", number, k.Mask.of(series.PlainNews(t))))
		return nil, false
	case m.state == now.state:
		return nil, true
	case accepted(t, m.machine):
		m.state = now.state
		return &item{"Accepted:", t}, true
	case asBefore(t, *m):
		m.state = now.state
		return &item{"Recovered:", t}, true
	}
	k.out.Notes = append(k.out.Notes, fmt.Sprintf("issue %d stays open: the last sessions are still worse than before the regression", number))
	return nil, false
}

// rewrite comments on the news and updates the issue.
func (k *Tracker) rewrite(ctx context.Context, h *series.History, all []*series.Trend, was, is *ownedIssue, news []item) error {
	about := slices.DeleteFunc(slices.Clone(all), func(t *series.Trend) bool { return !is.has(t.Key) })
	if len(about) == 0 {
		return nil // none of its series is still measured
	}
	body, err := k.issueBody(is.series, h, about)
	if err != nil {
		return err
	}
	if len(news) > 0 {
		state := stateOf(is.series)
		if err := k.comment(ctx, is.Number, state, k.news(state, news)); err != nil {
			return err
		}
	}
	if len(is.series) == 1 {
		is.Title = k.Mask.of(issueTitle(about[0]))
	}
	if len(news) == 0 && is.Open == was.Open && body == was.Body {
		return nil
	}
	is.Body = body
	if err := k.edit(ctx, is.Issue); err != nil {
		return err
	}
	switch {
	case is.Open && !was.Open:
		k.done("reopened", is.Issue)
	case !is.Open:
		k.done("closed", is.Issue)
	case len(news) > 0:
		k.done("updated", is.Issue)
	}
	return nil
}

// accepted reports whether the level on a machine was accepted.
func accepted(t *series.Trend, machine string) bool {
	return slices.ContainsFunc(t.Parts, func(p series.Part) bool {
		return note.Digest(p.Machine) == machine && p.Accepted != nil && p.Regressions == 0
	})
}

// asBefore reports whether each of the last two sessions on the machine of the regression is within
// the margin of the level before it.
func asBefore(t *series.Trend, m issueMarker) bool {
	i := slices.IndexFunc(t.Parts, func(p series.Part) bool { return note.Digest(p.Machine) == m.machine })
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

// comment writes a comment on a state, once.
func (k *Tracker) comment(ctx context.Context, number int, state, text string) error {
	if k.DryRun {
		return nil
	}
	if found, err := k.commented(ctx, number, state); err != nil || found {
		return err
	}
	_, _, err := remote.CreateOnce(ctx, remote.ClockOr(k.Clock),
		func() (Comment, error) { return k.API.CreateComment(ctx, number, text) },
		func() (Comment, bool) {
			found, err := k.commented(ctx, number, state)
			return Comment{}, found && err == nil
		})
	return err // the last request may have been executed; the next night sees it
}

// commented reports whether a comment of ours is about a state.
func (k *Tracker) commented(ctx context.Context, number int, state string) (bool, error) {
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

func (k *Tracker) done(action string, i Issue) {
	k.out.Done = append(k.out.Done, IssueDone{Action: action, Title: i.Title, Number: i.Number, URL: webLink(i.URL, k.Server)})
}
