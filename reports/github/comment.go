package github

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/servegate/pipeline/reports/publish"
)

// errSuperseded reports that a newer run has already reported.
var errSuperseded = errors.New("a newer run has reported already; its comment stays")

// errOverwritten reports that another run wrote the comment at the same time.
var errOverwritten = errors.New("other runs have written over the comment, again and again")

// untidyError reports that the comment was written but the earlier ones were not cleaned up.
type untidyError struct{ err error }

func (e *untidyError) Error() string { return e.err.Error() }

func (e *untidyError) Unwrap() error { return e.err }

// commenter writes the section of one leg of a run into the run's comment on a pull request.
type commenter struct {
	api    *Client
	clock  Clock
	number int
	mode   publish.CommentMode
	mark   marker
	author string
	file   string // for the overview of several legs
	full   string // where the omitted part can be read
	// render returns this leg's section within a budget, and the banner of the comment.
	render func(budget int) (section, string, error)

	// seen holds the sections of other legs from all polls. A section that existed and was not
	// replaced is never lost, even if another run overwrites it.
	seen []section
	// mine is this leg's section. At first only its identity is known.
	mine section
	// created is set once a comment was created. Another run may have created one that no poll has
	// shown yet.
	created bool
}

// owned is a comment of ours.
type owned struct {
	Comment
	marker
}

// waitForOthers is the time for legs of a matrix that end together to write, before each checks
// that all are in the comment. It is much longer than the time between the poll and the edit of a
// leg.
const waitForOthers = 3 * time.Second

// post writes the comment and cleans up the earlier ones. At most one comment of this run remains,
// even if replies are lost: before it creates something again, it lists the comments again. GitHub
// has no conditional edit, so two simultaneous edits overwrite each other. Each leg therefore
// checks afterwards that its own section and those it has seen are present, and writes again if
// not. An older run that takes even longer is not detected. What it leaves reports that the head
// has moved on, because it asked for the head after this run had begun.
func (c *commenter) post(ctx context.Context) (Comment, error) {
	var made Comment
	err := retry(ctx, c.clock, budgetOf(ctx), 2*time.Second, 6, func() error {
		var again bool
		var err error
		if made, again, err = c.tryPost(ctx); again {
			return err
		}
		return backoff.Permanent(err)
	})
	return made, err
}

// tryPost writes the comment once. again reports that other runs interfered.
func (c *commenter) tryPost(ctx context.Context) (made Comment, again bool, err error) {
	own, err := c.own(ctx)
	if err != nil {
		return Comment{}, false, err
	}
	if len(own) > 0 && c.superseded(own[0]) {
		return own[0].Comment, false, errSuperseded
	}
	c.noteOthers(own)
	target := c.target(own)
	if made, err = c.write(ctx, target); err != nil {
		return Comment{}, gone(err) && target != nil, err
	}
	if made, err = c.tidy(ctx, made); errors.Is(err, errOverwritten) {
		return Comment{}, true, err
	}
	return made, false, err
}

// superseded reports whether a newer run, or a newer attempt of this leg, has already reported.
func (c *commenter) superseded(newest owned) bool {
	switch {
	case c.mark.single || newest.run.compare(c.mark.run) <= 0:
		return false
	case newest.run.ID > c.mark.run.ID:
		return true
	}
	sections := parseSections(newest.Body)
	return len(sections) == 0 || slices.ContainsFunc(sections, func(s section) bool {
		return s.leg == c.mine.leg &&
			s.attempt > c.mine.attempt
	})
}

// noteOthers records the sections of other legs of this run.
func (c *commenter) noteOthers(own []owned) {
	for _, o := range own {
		if o.run.ID != c.mark.run.ID {
			continue
		}
		c.mark.run.Attempt = max(c.mark.run.Attempt, o.run.Attempt)
		for _, s := range parseSections(o.Body) {
			if !s.same(c.mine) {
				c.seen = append(slices.DeleteFunc(c.seen, s.same), s)
			}
		}
	}
	c.seen = merge(c.seen)
}

// lost reports whether a comment lacks a section that it must have.
func (c *commenter) lost(in owned) bool {
	there := parseSections(in.Body)
	for _, s := range merge(append(slices.Clone(c.seen), c.mine)) {
		if !slices.ContainsFunc(there, func(o section) bool { return o.same(s) || o.replaces(s) }) {
			return true
		}
	}
	return false
}

// own lists our comments of this report, the newest first. It checks the marker and the author:
// anyone can write a marker, and other workflows write as the same bot.
func (c *commenter) own(ctx context.Context) ([]owned, error) {
	list, err := c.api.Comments(ctx, c.number)
	if err != nil {
		return nil, err
	}
	var own []owned
	for _, one := range list {
		if m, ok := parseMarker(one.Body); ok && c.ours(one, m) {
			own = append(own, owned{one, m})
		}
	}
	slices.SortFunc(own, newest)
	return own, nil
}

func (c *commenter) ours(one Comment, m marker) bool {
	return m.key == c.mark.key && m.single == c.mark.single && wroteAs(c.author, one.Author, one.Bot)
}

// wroteAs reports whether an account is the one of the token. If GitHub does not return the viewer,
// any bot counts: unlike a user, a bot writes only after a maintainer has installed it.
func wroteAs(viewer, login string, bot bool) bool {
	if viewer == "" {
		return bot
	}
	return strings.EqualFold(login, viewer) && bot == strings.HasSuffix(viewer, "[bot]")
}

// newest orders by run, and comments of one run by age, so that two simultaneous writers keep the
// same one.
func newest(a, b owned) int {
	return cmp.Or(b.run.compare(a.run), cmp.Compare(a.ID, b.ID))
}

// target returns the comment to edit, nil to create one.
func (c *commenter) target(own []owned) *owned {
	for i := range own {
		if c.mode == publish.CommentUpdate || own[i].run == c.mark.run {
			return &own[i]
		}
	}
	return nil
}

// write edits the target or creates a comment. If GitHub finds it too long, it writes one of half
// the size.
func (c *commenter) write(ctx context.Context, target *owned) (Comment, error) {
	made, err := c.writeWithin(ctx, target, bodyBudget)
	if tooLong(err) {
		made, err = c.writeWithin(ctx, target, bodyBudget/2)
	}
	return made, err
}

func (c *commenter) writeWithin(ctx context.Context, target *owned, budget int) (Comment, error) {
	text, err := c.compose(budget)
	switch {
	case err != nil:
		return Comment{}, err
	case target == nil:
		c.created = true
		made, _, err := createOnce(ctx, c.clock,
			func() (Comment, error) { return c.api.CreateComment(ctx, c.number, text) },
			func() (Comment, bool) { return c.find(ctx) })
		return made, err
	case target.Body == text:
		return target.Comment, nil
	}
	return c.api.EditComment(ctx, target.ID, text)
}

// compose returns the whole comment.
func (c *commenter) compose(budget int) (string, error) {
	mine, banner, err := c.render(budget / (1 + len(c.seen)))
	if err != nil {
		return "", err
	}
	c.mine = mine
	return compose(c.mark, c.file, banner, merge(append(slices.Clone(c.seen), mine)), c.full, budget), nil
}

// find finds the comment that this leg has created.
func (c *commenter) find(ctx context.Context) (Comment, bool) {
	own, err := c.own(ctx)
	if err != nil {
		return Comment{}, false
	}
	i := slices.IndexFunc(own, func(o owned) bool {
		return o.run.ID == c.mark.run.ID && slices.ContainsFunc(parseSections(o.Body), c.mine.same)
	})
	if i < 0 {
		return Comment{}, false
	}
	return own[i].Comment, true
}

// poll lists the comments after one was written. If other legs may be writing, it first waits for
// them. After a creation it lists until that comment appears. A list that lags shows comments in
// order, so of several runs that create one at once, the last sees all and removes the surplus.
func (c *commenter) poll(ctx context.Context, made Comment) ([]owned, error) {
	if c.mine.matrix || len(c.seen) > 0 {
		if err := pause(ctx, c.clock, waitForOthers+jittered(time.Second)); err != nil {
			return nil, err
		}
	}
	if !c.created {
		return c.own(ctx)
	}
	return settled(ctx, c.clock, func() ([]owned, bool, error) {
		own, err := c.own(ctx)
		return own, slices.ContainsFunc(own, func(o owned) bool { return o.ID == made.ID }), err
	})
}

// tidy lists the comments after the comment was written. A simultaneous run may have created a
// second one, and the mode may require to hide or delete the earlier ones.
func (c *commenter) tidy(ctx context.Context, made Comment) (Comment, error) {
	own, err := c.poll(ctx, made)
	if err != nil {
		return made, &untidyError{err}
	}
	i := slices.IndexFunc(own, func(o owned) bool { return o.ID == made.ID })
	if i >= 0 && own[i].run.compare(c.mark.run) < 0 {
		return made, errOverwritten
	}
	if i < 0 {
		own = append(own, owned{made, c.mark}) // the list may lag
		slices.SortFunc(own, newest)
	}
	c.noteOthers(own)
	if own[0].run.ID == c.mark.run.ID && c.lost(own[0]) {
		return made, errOverwritten
	}
	if err := c.remove(ctx, own); err != nil {
		return own[0].Comment, &untidyError{err}
	}
	return own[0].Comment, nil
}

// remove deletes or hides the comments after the first, depending on the mode.
func (c *commenter) remove(ctx context.Context, own []owned) error {
	var errs []error
	hidden := 0
	for _, one := range own[1:] {
		same := one.run == own[0].run
		switch {
		case same || c.mode == publish.CommentUpdate || c.mode == publish.CommentDeleteAndNew:
			if err := c.api.DeleteComment(ctx, one.ID); !gone(err) {
				errs = append(errs, err)
			}
		case c.mode == publish.CommentHideAndNew && hidden < maxHidden:
			hidden++
			errs = append(errs, c.api.HideComment(ctx, one.NodeID))
		}
	}
	return errors.Join(errs...)
}

// maxHidden is the largest number of earlier comments to hide. Older ones were hidden by the runs
// after them.
const maxHidden = 3
