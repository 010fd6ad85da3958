package publish

import (
	"context"

	"github.com/servegate/pipeline/reports/series"
)

// TrackerOptions configures a tracker.
type TrackerOptions struct {
	// Labels are the labels of new issues.
	Labels []string
	// DryRun writes nothing and reports what would be done.
	DryRun bool
	// Allowed returns why this job must not write issues, nil if it may.
	Allowed func() error
}

// Tracker keeps issues on the regressed series of a history.
type Tracker interface {
	// Sync updates the issues to match a history.
	Sync(context.Context, *series.History) Tracked
	// Answer writes the culprit commit into the issue of the worst series without an answer. It calls find to search
	// for the commit.
	Answer(ctx context.Context, h *series.History, find func(key string) (string, error)) Tracked
}

// Tracked lists what was done, or would be done in a dry run.
type Tracked struct {
	Done []IssueDone
	// Notes lists what was left unchanged and why; Warnings lists what failed.
	Notes    []string
	Warnings []string
}

// IssueDone describes the action on one issue.
type IssueDone struct {
	Action string // "opened", "updated", "reopened" or "closed"
	Title  string
	// Number and URL are 0 and "" in a dry run for an issue that does not exist yet.
	Number int
	URL    string
}
