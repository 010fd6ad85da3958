// Package publish defines the interface to services on which verdicts are published. The command line has a table of
// them, one [Kind] each; GitHub is one (package reports/github). A publisher embeds [Base] and implements what its
// service has; [AtEnd] is the run of a service that only learns the verdict.
//
// A [Publisher] serves the job in which this program runs. Its failures are warnings: only the verdict determines the
// exit status.
package publish

import (
	"context"
	"net/http"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// Kind returns the publisher for a job on one service. It is a row of the table.
type Kind func(Job) Publisher

// Job describes to a publisher the job in which this program runs.
type Job struct {
	Getenv func(string) string
	// Matrix holds the job's leg of a matrix according to its inputs, "" for none.
	Matrix string
	// Transport sends requests to the service; nil means the standard library's.
	Transport http.RoundTripper
	// Exec runs a program of the service to its end and returns its standard output. If ctx ends first, it kills
	// the program.
	Exec func(context.Context, Program) (stdout string, err error)
	// Mask hides secrets in posted text.
	Mask func(string) string
	// Note and Warn inform the user.
	Note, Warn func(text string)
}

// Program is a short program of a service, such as its agent.
type Program struct {
	Argv  []string
	Stdin string
	// Inherit lists the variables that it gets from this program beside the usual ones, as spawn.Policy does: a
	// trailing * makes a name a prefix, and a secret must be named in full.
	Inherit []string
}

// Publisher publishes the progress and the results of a job.
type Publisher interface {
	// Name returns the kind of report blocks that configure the publisher: "github".
	Name() string
	// Here reports whether this program runs in a job of the service.
	Here() bool
	// Usable returns why publishing is impossible from here, nil if it is possible.
	Usable() error
	// Change returns the job's change and rights. It assumes the worst about unknown facts.
	Change() Change

	// Run returns the publisher of a run that is about to begin.
	Run(RunOptions) Run
	// Post publishes a stored result.
	Post(context.Context, *result.Document, []Settings) Posted
	// Posted returns what was last published about a verdict.
	Posted() Posted
	// Annotations returns the gates that did not pass as lines for the job's log, if the run could not publish them.
	Annotations(*result.Document) []string
	// Clean finishes what a killed program left in progress, and returns warnings.
	Clean(context.Context) []string

	// Respond executes the command that started the job, such as accepting a verdict. workflow names the workflow
	// that measures.
	Respond(ctx context.Context, workflow string) (Response, error)
	// Tracker returns a tracker for issues on regressed series.
	Tracker(TrackerOptions) (Tracker, error)
}

// Run publishes the progress of a run. Its methods return warnings: a failure to publish never changes how a run
// ends.
type Run interface {
	// Start publishes that the run has begun.
	Start(ctx context.Context) []string
	// Finish publishes the result of the run; ctx is done if the run was interrupted.
	Finish(ctx context.Context, doc *result.Document) []string
	// Abort publishes that the run ended without a result.
	Abort(ctx context.Context, err error) []string
}

// RunOptions configures the publishing of a run.
type RunOptions struct {
	Settings []Settings
	// Simulated means that the run measures nothing real. A publisher says so and posts nothing.
	Simulated bool
	// Configuration reports whether the error of a run without a result is due to its configuration.
	Configuration func(error) bool
}

// Settings defines what is posted.
type Settings struct {
	// Comment is the mode of the comment; "" and CommentNever write none.
	Comment CommentMode
	// Key distinguishes several reports on one pull request.
	Key string
	// Check is the name of the check run, Status the name of the commit status; "" for none.
	Check  string
	Status string
	// Report selects what is shown.
	Report reports.Options
	// Options holds the arguments of the report block that only its kind has.
	Options map[string]string
	// Untrusted marks a result produced by untrusted code.
	Untrusted bool
	// Changed lists the pull request's changes to the gates that judge it.
	Changed []GateChange
	// BaseJudges is set if the file of the base judged, so that Changed had no effect.
	BaseJudges bool
	// Leg is the reporting job; the publisher sets it.
	Leg Leg
	// Base is the commit that the head was measured against, "" if only the event names one.
	Base string
	// Number is the number of the change in its repository, 0 if unknown.
	Number int
	// Command repeats the run in a shell, "" if unknown.
	Command string
	// Bisect is the command that searches for the commit of a regression, without the range's ends; "" if the file
	// does not configure it.
	Bisect string
}

// Nothing reports whether the settings post nothing.
func (s Settings) Nothing() bool {
	return (s.Comment == "" || s.Comment == CommentNever) && s.Check == "" && s.Status == ""
}

// GateChange is a setting of a gate before and after a change. Without values, Setting is "new" or "removed" and
// applies to the whole gate.
type GateChange struct{ Gate, Setting, Old, New string }

// Leg is the reporting job: one of several jobs of a workflow run that may report on the same file, usually a leg of
// a matrix. The zero value is the only job.
type Leg struct {
	Job string
	// Matrix is "gpu=h100 tp=2", "" for a job without one; Values are "h100" and "2".
	Matrix string
	Values []string
}

// Posted describes what was posted.
type Posted struct {
	CommentURL string
	CheckURL   string
	// Notes lists why there was nowhere to post; Warnings lists what failed.
	Notes    []string
	Warnings []string
}

// Response is the outcome of a command.
type Response struct {
	// Done describes what was done, "" if nothing; Refused gives the reason for a refusal.
	Done, Refused string
}
