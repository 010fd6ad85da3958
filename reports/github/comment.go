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

// errSuperseded reports that a newer run has reported already.
var errSuperseded = errors.New("a newer run has reported already; its comment stays")

// errOverwritten reports that another run has written over the comment at the same time.
var errOverwritten = errors.New("other runs have written over the comment, again and again")

// untidyError reports that the comment was written, and the earlier ones not dealt with.
type untidyError struct{ err error }

func (e *untidyError) Error() string { return e.err.Error() }

func (e *untidyError) Unwrap() error { return e.err }

// commenter writes what one leg of a run has to say into the comment of the run on one pull
// request.
type commenter struct {
	api    *Client
	clock  Clock
	number int
	mode   publish.CommentMode
	mark   marker
	author string
	file   string // for the overview of several legs
	full   string // where what was left out for size can be read
	// render draws this leg's section within a budget, and the banner of the comment.
	render func(budget int) (section, string, error)

	// seen are the sections of other legs that some poll has shown: what was there once and
	// was not replaced is never lost, whoever writes over it.
	seen []section
	// mine is this leg's section, of which at first only its identity is known.
	mine section
	// created is set once a comment was created. Another run may have created one that no poll has shown yet.
	created bool
}

// owned is a comment of ours.
type owned struct {
	Comment
	marker
}

// waitForOthers is how long the legs of a matrix that end together are given to write, before
// each of them checks that all are in the comment. It is much longer than the instant
// between another one's poll and its edit.
const waitForOthers = 3 * time.Second

// post writes the comment and puts the earlier ones in order. At most one comment of this
// run is left, whatever becomes of replies: before something is created a second time, the
// comments are listed again. GitHub knows no edit on a condition, so that two that edit at
// once overwrite each other: each checks afterwards whether what it wrote, and what it has
// seen of other legs, is there, and writes again if it is not. An older run that takes even
// longer cannot be seen from here; what it leaves reports that the head has moved on, since it
// asked for the head after this run had begun.
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

// tryPost writes the comment once. again reports that others were in the way.
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

// superseded reports that a newer run has reported already, or a newer attempt of this leg.
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

// noteOthers notes the sections of other legs of this run.
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

// lost reports that a comment lacks something that it must hold.
func (c *commenter) lost(in owned) bool {
	there := parseSections(in.Body)
	for _, s := range merge(append(slices.Clone(c.seen), c.mine)) {
		if !slices.ContainsFunc(there, func(o section) bool { return o.same(s) || o.replaces(s) }) {
			return true
		}
	}
	return false
}

// own lists the comments of this report that are ours, the newest first. A marker alone
// proves nothing, since anyone can write one; nor does the author, since other workflows
// write as the same bot.
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

// wroteAs reports whether an account is the one that the token stands for. Where GitHub does
// not say which that is, it may be any bot: unlike a user, a bot writes only where a
// maintainer has installed it.
func wroteAs(viewer, login string, bot bool) bool {
	if viewer == "" {
		return bot
	}
	return strings.EqualFold(login, viewer) && bot == strings.HasSuffix(viewer, "[bot]")
}

// newest orders by run, and comments of one run by their age, so that two that write at
// once agree on which one stays.
func newest(a, b owned) int {
	return cmp.Or(b.run.compare(a.run), cmp.Compare(a.ID, b.ID))
}

// target is the comment to edit, nil to create one.
func (c *commenter) target(own []owned) *owned {
	for i := range own {
		if c.mode == publish.CommentUpdate || own[i].run == c.mark.run {
			return &own[i]
		}
	}
	return nil
}

// write edits the target or creates a comment; one that GitHub finds too long is made
// half as long.
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

// compose draws the whole comment.
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

// poll lists the comments after one was written. Where other legs may be writing, it first waits for them. After a
// comment was created it lists until that one is shown: a list that lags shows comments in their order, so of several
// runs that create one at once the last sees those of all others, and removes what is too many.
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

// tidy lists the comments after the comment was written: a run that wrote at the same time has
// made a second one, and the mode may ask to hide or delete the earlier ones.
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
		own = append(own, owned{made, c.mark}) // a list may lag behind
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

// remove deletes or hides the comments after the first, as the mode asks.
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

// maxHidden bounds how many earlier comments are hidden: those before them were hidden by
// the runs that followed them.
const maxHidden = 3
