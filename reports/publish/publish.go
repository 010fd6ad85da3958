// Package publish defines what this program needs of a place where verdicts are published. The
// command line has a table of such places, a [Kind] each; GitHub is one (package reports/github).
//
// A [Publisher] is of the job that this program runs in. Whatever goes wrong with it is a warning:
// the verdict alone decides how a run ends.
package publish

import (
	"context"
	"net/http"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// Kind returns the publisher of a job for one kind of place: it is a row of the table.
type Kind func(Job) Publisher

// Job is what a publisher knows of the job that this program runs in.
type Job struct {
	Getenv func(string) string
	// Matrix is what the inputs of the job say of its leg of a matrix, "" for none.
	Matrix string
	// Transport reaches the place; nil is that of the standard library.
	Transport http.RoundTripper
	// Mask hides secrets in what is posted.
	Mask func(string) string
	// Note and Warn tell the user something.
	Note, Warn func(text string)
}

// Publisher publishes what a job measures or has measured.
type Publisher interface {
	// Name is the kind of the report blocks that say what is published: "github".
	Name() string
	// Here reports whether this program runs in a job of the place.
	Here() bool
	// Usable returns why nothing can be published from here, nil if something can.
	Usable() error
	// Change returns what the job is about, and with which rights. What is not known counts against it.
	Change() Change

	// Run returns what publishes a run that is about to begin.
	Run(RunOptions) Run
	// Post publishes a stored result.
	Post(context.Context, *result.Document, []Settings) Posted
	// Posted returns what was last published of a verdict.
	Posted() Posted
	// Annotations returns the gates that did not pass as lines for the log of the job, if the run
	// could not publish them.
	Annotations(*result.Document) []string
	// Clean ends what a program that was killed has left under way, and returns warnings.
	Clean(context.Context) []string

	// Respond carries out the command that started the job, such as to accept a verdict. workflow
	// names the one that measures.
	Respond(ctx context.Context, workflow string) (Response, error)
	// Tracker returns what keeps issues on series that regressed.
	Tracker(TrackerOptions) (Tracker, error)
}

// Run publishes a run while it goes on. Its methods return warnings: that something could not be
// published never changes how a run ends.
type Run interface {
	// Start publishes that the run has begun.
	Start(ctx context.Context) []string
	// Finish publishes how it ended; ctx is done where the run was interrupted.
	Finish(ctx context.Context, doc *result.Document) []string
	// Abort publishes that it ended without a result.
	Abort(ctx context.Context, err error) []string
}

// RunOptions are what is published of a run.
type RunOptions struct {
	Settings []Settings
	// Simulated says that the run measures nothing.
	Simulated bool
	// Configuration reports whether a run without a result failed by its configuration.
	Configuration func(error) bool
}

// Settings say what is posted.
type Settings struct {
	// Comment is the mode of the comment; "" and Never write none.
	Comment CommentMode
	// Key distinguishes several reports on one pull request.
	Key string
	// Check is the name of the check run, Status that of the commit status; "" for none.
	Check  string
	Status string
	// Report chooses what is shown.
	Report reports.Options
	// Untrusted marks a result that untrusted code has made.
	Untrusted bool
	// Changed is what the pull request does to the gates that judge it.
	Changed []GateChange
	// BaseJudges is set if the file of the base judged, so that Changed had no effect.
	BaseJudges bool
	// Leg is the job that reports; the publisher sets it.
	Leg Leg
	// Base is the commit that the head was measured against, "" if only the event says one.
	Base string
	// Command repeats the run at a shell, "" if it is not known.
	Command string
	// Bisect searches for the commit of a regression, without the ends; "" where the file does not
	// say how.
	Bisect string
}

// Nothing reports whether nothing is to be posted.
func (s Settings) Nothing() bool {
	return (s.Comment == "" || s.Comment == CommentNever) && s.Check == "" && s.Status == ""
}

// GateChange is a setting of a gate before and after a change; without values the setting
// is what became of the whole gate, "new" or "removed".
type GateChange struct{ Gate, Setting, Old, New string }

// Leg is the job that reports: one of several of a workflow run that may report on the same
// file, most often the legs of a matrix. The zero value is the only one.
type Leg struct {
	Job string
	// Matrix is "gpu=h100 tp=2", "" for a job without one; Values are "h100" and "2".
	Matrix string
	Values []string
}

// Posted is what was written.
type Posted struct {
	CommentURL string
	CheckURL   string
	// Notes say why there was nothing to post to; Warnings what went wrong.
	Notes    []string
	Warnings []string
}

// Response is what became of a command.
type Response struct {
	// Done says what was done, "" if nothing; Refused why not.
	Done, Refused string
}
