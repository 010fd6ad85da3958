package note

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/remote"
)

// Comment is a comment of a conversation.
type Comment struct {
	ID     int64
	NodeID string // of GitHub's GraphQL
	Author string // login
	Bot    bool
	Body   string
	URL    string
}

// Conversation is where comments are written. Its errors are *remote.Error if the service answered.
type Conversation interface {
	Comments(context.Context) ([]Comment, error)
	Create(ctx context.Context, body string) (Comment, error)
	Edit(ctx context.Context, id int64, body string) (Comment, error)
	Delete(ctx context.Context, id int64) error
	// Hide folds a comment as outdated.
	Hide(context.Context, Comment) error
	// TooLong reports that the service found a body too long.
	TooLong(error) bool
}

// ErrSuperseded reports that a newer run has already reported.
var ErrSuperseded = errors.New("a newer run has reported already; its comment stays")

// errOverwritten reports that another run wrote the comment at the same time.
var errOverwritten = errors.New("other runs have written over the comment, again and again")

// UntidyError reports that the comment was written but the earlier ones were not cleaned up.
type UntidyError struct{ Err error }

func (e *UntidyError) Error() string { return e.Err.Error() }

func (e *UntidyError) Unwrap() error { return e.Err }

// Poster writes the section of one leg of a run into the run's comment.
type Poster struct {
	In    Conversation
	Clock remote.Clock
	Mode  publish.CommentMode
	Mark  Marker
	// Ours reports whether the account of the token wrote a comment: anyone can write a marker.
	Ours   func(Comment) bool
	File   string // for the overview of several legs
	Full   string // where the omitted part can be read
	Budget int    // largest size of a comment in bytes
	// Mine is this leg's section. At first only its identity is known.
	Mine Section
	// Render returns this leg's section within a budget, and the banner of the comment.
	Render func(budget int) (Section, string, error)

	// seen holds the sections of other legs from all polls. A section that existed and was not
	// replaced is never lost, even if another run overwrites it.
	seen []Section
	// created is set once a comment was created. Another run may have created one that no poll has
	// shown yet.
	created bool
}

// owned is a comment of ours.
type owned struct {
	Comment
	Marker
}

// waitForOthers is the time for legs of a matrix that end together to write, before each checks
// that all are in the comment. It is much longer than the time between the poll and the edit of a
// leg.
const waitForOthers = 3 * time.Second

// Post writes the comment and cleans up the earlier ones. At most one comment of this run remains,
// even if replies are lost: before it creates something again, it lists the comments again. No service
// has a conditional edit, so two simultaneous edits overwrite each other. Each leg therefore
// checks afterwards that its own section and those it has seen are present, and writes again if
// not. An older run that takes even longer is not detected. What it leaves reports that the head
// has moved on, because it asked for the head after this run had begun.
func (c *Poster) Post(ctx context.Context) (Comment, error) {
	var made Comment
	err := remote.Retry(ctx, c.Clock, 2*time.Second, 6, func() error {
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
func (c *Poster) tryPost(ctx context.Context) (made Comment, again bool, err error) {
	own, err := c.own(ctx)
	if err != nil {
		return Comment{}, false, err
	}
	if len(own) > 0 && c.superseded(own[0]) {
		return own[0].Comment, false, ErrSuperseded
	}
	c.noteOthers(own)
	target := c.target(own)
	if made, err = c.write(ctx, target); err != nil {
		return Comment{}, remote.Gone(err) && target != nil, err
	}
	if made, err = c.tidy(ctx, made); errors.Is(err, errOverwritten) {
		return Comment{}, true, err
	}
	return made, false, err
}

// superseded reports whether a newer run, or a newer attempt of this leg, has already reported.
func (c *Poster) superseded(newest owned) bool {
	switch {
	case c.Mark.Single || newest.Run.Compare(c.Mark.Run) <= 0:
		return false
	case newest.Run.ID > c.Mark.Run.ID:
		return true
	}
	sections := ParseSections(newest.Body)
	return len(sections) == 0 || slices.ContainsFunc(sections, func(s Section) bool {
		return s.leg == c.Mine.leg &&
			s.attempt > c.Mine.attempt
	})
}

// noteOthers records the sections of other legs of this run.
func (c *Poster) noteOthers(own []owned) {
	for _, o := range own {
		if o.Run.ID != c.Mark.Run.ID {
			continue
		}
		c.Mark.Run.Attempt = max(c.Mark.Run.Attempt, o.Run.Attempt)
		for _, s := range ParseSections(o.Body) {
			if !s.same(c.Mine) {
				c.seen = append(slices.DeleteFunc(c.seen, s.same), s)
			}
		}
	}
	c.seen = Merge(c.seen)
}

// lost reports whether a comment lacks a section that it must have.
func (c *Poster) lost(in owned) bool {
	there := ParseSections(in.Body)
	for _, s := range Merge(append(slices.Clone(c.seen), c.Mine)) {
		if !slices.ContainsFunc(there, func(o Section) bool { return o.same(s) || o.replaces(s) }) {
			return true
		}
	}
	return false
}

// own lists our comments of this report, the newest first. It checks the marker and the author:
// anyone can write a marker, and other workflows write as the same bot.
func (c *Poster) own(ctx context.Context) ([]owned, error) {
	list, err := c.In.Comments(ctx)
	if err != nil {
		return nil, err
	}
	var own []owned
	for _, one := range list {
		if m, ok := ParseMarker(one.Body); ok && m.Key == c.Mark.Key && m.Single == c.Mark.Single && c.Ours(one) {
			own = append(own, owned{one, m})
		}
	}
	slices.SortFunc(own, newest)
	return own, nil
}

// newest orders by run, and comments of one run by age, so that two simultaneous writers keep the
// same one.
func newest(a, b owned) int {
	return cmp.Or(b.Run.Compare(a.Run), cmp.Compare(a.ID, b.ID))
}

// target returns the comment to edit, nil to create one.
func (c *Poster) target(own []owned) *owned {
	for i := range own {
		if c.Mode == publish.CommentUpdate || own[i].Run == c.Mark.Run {
			return &own[i]
		}
	}
	return nil
}

// write edits the target or creates a comment. If the service finds it too long, it writes one of half
// the size.
func (c *Poster) write(ctx context.Context, target *owned) (Comment, error) {
	made, err := c.writeWithin(ctx, target, c.Budget)
	if c.In.TooLong(err) {
		made, err = c.writeWithin(ctx, target, c.Budget/2)
	}
	return made, err
}

func (c *Poster) writeWithin(ctx context.Context, target *owned, budget int) (Comment, error) {
	text, err := c.compose(budget)
	switch {
	case err != nil:
		return Comment{}, err
	case target == nil:
		c.created = true
		made, _, err := remote.CreateOnce(ctx, c.Clock,
			func() (Comment, error) { return c.In.Create(ctx, text) },
			func() (Comment, bool) { return c.find(ctx) })
		return made, err
	case target.Body == text:
		return target.Comment, nil
	}
	return c.In.Edit(ctx, target.ID, text)
}

// compose returns the whole comment.
func (c *Poster) compose(budget int) (string, error) {
	mine, banner, err := c.Render(budget / (1 + len(c.seen)))
	if err != nil {
		return "", err
	}
	c.Mine = mine
	return Compose(c.Mark.String(), c.File, banner, Merge(append(slices.Clone(c.seen), mine)), c.Full, budget), nil
}

// find finds the comment that this leg has created.
func (c *Poster) find(ctx context.Context) (Comment, bool) {
	own, err := c.own(ctx)
	if err != nil {
		return Comment{}, false
	}
	i := slices.IndexFunc(own, func(o owned) bool {
		return o.Run.ID == c.Mark.Run.ID && slices.ContainsFunc(ParseSections(o.Body), c.Mine.same)
	})
	if i < 0 {
		return Comment{}, false
	}
	return own[i].Comment, true
}

// poll lists the comments after one was written. If other legs may be writing, it first waits for
// them. After a creation it lists until that comment appears. A list that lags shows comments in
// order, so of several runs that create one at once, the last sees all and removes the surplus.
func (c *Poster) poll(ctx context.Context, made Comment) ([]owned, error) {
	if c.Mine.matrix || len(c.seen) > 0 {
		if err := remote.Pause(ctx, c.Clock, waitForOthers+remote.Jittered(time.Second)); err != nil {
			return nil, err
		}
	}
	if !c.created {
		return c.own(ctx)
	}
	return remote.Settled(ctx, c.Clock, func() ([]owned, bool, error) {
		own, err := c.own(ctx)
		return own, slices.ContainsFunc(own, func(o owned) bool { return o.ID == made.ID }), err
	})
}

// tidy lists the comments after the comment was written. A simultaneous run may have created a
// second one, and the mode may require to hide or delete the earlier ones.
func (c *Poster) tidy(ctx context.Context, made Comment) (Comment, error) {
	own, err := c.poll(ctx, made)
	if err != nil {
		return made, &UntidyError{err}
	}
	i := slices.IndexFunc(own, func(o owned) bool { return o.ID == made.ID })
	if i >= 0 && own[i].Run.Compare(c.Mark.Run) < 0 {
		return made, errOverwritten
	}
	if i < 0 {
		own = append(own, owned{made, c.Mark}) // the list may lag
		slices.SortFunc(own, newest)
	}
	c.noteOthers(own)
	if own[0].Run.ID == c.Mark.Run.ID && c.lost(own[0]) {
		return made, errOverwritten
	}
	if err := c.remove(ctx, own); err != nil {
		return own[0].Comment, &UntidyError{err}
	}
	return own[0].Comment, nil
}

// remove deletes or hides the comments after the first, depending on the mode.
func (c *Poster) remove(ctx context.Context, own []owned) error {
	var errs []error
	hidden := 0
	for _, one := range own[1:] {
		same := one.Run == own[0].Run
		switch {
		case same || c.Mode == publish.CommentUpdate || c.Mode == publish.CommentDeleteAndNew:
			if err := c.In.Delete(ctx, one.ID); !remote.Gone(err) {
				errs = append(errs, err)
			}
		case c.Mode == publish.CommentHideAndNew && hidden < maxHidden:
			hidden++
			errs = append(errs, c.In.Hide(ctx, one.Comment))
		}
	}
	return errors.Join(errs...)
}

// maxHidden is the largest number of earlier comments to hide. Older ones were hidden by the runs
// after them.
const maxHidden = 3
