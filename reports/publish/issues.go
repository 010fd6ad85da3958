package publish

import (
	"context"

	"github.com/servegate/pipeline/reports/series"
)

// TrackerOptions say how issues are kept.
type TrackerOptions struct {
	// Labels of new issues.
	Labels []string
	// DryRun writes nothing and says what would be done.
	DryRun bool
	// Allowed returns why this job must not write issues, nil if it may.
	Allowed func() error
}

// Tracker keeps issues on the series of a history that regressed.
type Tracker interface {
	// Sync brings the issues in line with a history.
	Sync(context.Context, *series.History) Tracked
	// Answer writes which commit it was into the issue of the worst series that has no answer yet.
	// find searches for it.
	Answer(ctx context.Context, h *series.History, find func(key string) (string, error)) Tracked
}

// Tracked is what was done, or would be.
type Tracked struct {
	Done []IssueDone
	// Notes say what was left as it is and why; Warnings what was not taken.
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
