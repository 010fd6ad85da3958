package github

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
)

// Mode is what becomes of the comments of earlier runs.
type Mode string

// The modes.
const (
	Update       Mode = "update"         // one comment, edited
	HideAndNew   Mode = "hide-and-new"   // a new one, the earlier are folded as outdated
	DeleteAndNew Mode = "delete-and-new" // a new one, the earlier are deleted
	New          Mode = "new"            // a new one, the earlier stay
	Never        Mode = "never"
)

// Modes lists them.
func Modes() []Mode { return []Mode{Update, HideAndNew, DeleteAndNew, New, Never} }

// actionsBot is who GITHUB_TOKEN stands for.
const actionsBot = "github-actions[bot]"

// errSuperseded says that a newer run has reported already.
var errSuperseded = errors.New("a newer run has reported already; its comment stays")

// errOverwritten says that an older run has written over the comment at the same time.
var errOverwritten = errors.New("an older run has written over the comment, again and again")

// untidyError says that the comment was written, and the earlier ones not dealt with.
type untidyError struct{ err error }

func (e *untidyError) Error() string { return e.err.Error() }

func (e *untidyError) Unwrap() error { return e.err }

// commenter writes the comment of one run on one pull request.
type commenter struct {
	api    API
	number int
	mode   Mode
	mark   marker
	author string
	// render makes the body within a budget.
	render func(budget int) (string, error)
}

// owned is a comment of ours.
type owned struct {
	Comment
	marker
}

// post writes the comment and puts the earlier ones in order. At most one comment of this
// run is left, whatever becomes of replies: before something is created a second time, the
// comments are listed again. What an older run writes over it in the same instant, between
// its own look and its edit, is mended by the look afterwards. An older run that takes even
// longer cannot be seen from here; what it leaves says that the head has moved on, since it
// asked for the head after this run had begun.
func (c *commenter) post(ctx context.Context) (Comment, error) {
	const tries = 3
	var failed error
	for range tries {
		own, err := c.own(ctx)
		if err != nil {
			return Comment{}, err
		}
		if len(own) > 0 && own[0].run.compare(c.mark.run) > 0 && !c.mark.single {
			return own[0].Comment, errSuperseded
		}
		made, err := c.write(ctx, c.target(own))
		if err == nil {
			if made, err = c.tidy(ctx, made); !errors.Is(err, errOverwritten) {
				return made, err
			}
		}
		if !gone(err) && !uncertain(err) || ctx.Err() != nil {
			return Comment{}, err
		}
		failed = err
	}
	return Comment{}, failed
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
	return m.key == c.mark.key && m.single == c.mark.single &&
		strings.EqualFold(one.Author, c.author) && one.Bot == strings.HasSuffix(c.author, "[bot]")
}

// newest orders by run, and comments of one run by their age, so that two that write at
// once agree on which one stays.
func newest(a, b owned) int {
	return cmp.Or(b.run.compare(a.run), cmp.Compare(a.ID, b.ID))
}

// target is the comment to edit, nil to create one.
func (c *commenter) target(own []owned) *owned {
	for i := range own {
		if c.mode == Update || own[i].run == c.mark.run {
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
	text, err := c.render(budget)
	switch {
	case err != nil:
		return Comment{}, err
	case target == nil:
		return c.api.CreateComment(ctx, c.number, text)
	case target.Body == text:
		return target.Comment, nil
	}
	return c.api.EditComment(ctx, target.ID, text)
}

// tidy looks again after the comment was written: a run that wrote at the same time has
// made a second one, and the mode may ask to hide or delete the earlier ones.
func (c *commenter) tidy(ctx context.Context, made Comment) (Comment, error) {
	own, err := c.own(ctx)
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
	var errs []error
	hidden := 0
	for _, one := range own[1:] {
		same := one.run == own[0].run
		switch {
		case same || c.mode == Update || c.mode == DeleteAndNew:
			if err := c.api.DeleteComment(ctx, one.ID); !gone(err) {
				errs = append(errs, err)
			}
		case c.mode == HideAndNew && hidden < maxHidden:
			hidden++
			errs = append(errs, c.api.HideComment(ctx, one.NodeID))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return own[0].Comment, &untidyError{err}
	}
	return own[0].Comment, nil
}

// maxHidden bounds how many earlier comments are hidden: those before them were hidden by
// the runs that followed them.
const maxHidden = 3
