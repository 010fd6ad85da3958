package github

import (
	"time"

	"github.com/servegate/pipeline/reports/publish/note"
)

// PullRequest identifies a pull request and its head.
type PullRequest struct {
	Number   int
	Open     bool
	HeadSHA  string
	HeadRepo string // "owner/name", "" if the fork is gone
}

// Types of a comment.
type (
	Comment    = note.Comment
	Annotation = note.Annotation
)

// Check is a check run.
type Check struct {
	ID         int64
	Name       string
	SHA        string
	ExternalID string
	DetailsURL string
	// Conclusion is "" while the check run is in progress.
	Conclusion  string
	Title       string
	Summary     string
	Annotations []Annotation
	// Annotated is the number of annotations that GitHub has.
	Annotated int
	// Author is the login of the app that created it, "" if GitHub did not return it.
	Author string
	URL    string
	// Completed is when it got its conclusion, zero if GitHub did not return it.
	Completed time.Time
}

// The conclusions in use.
const (
	Success   = "success"
	Failure   = "failure"
	Neutral   = "neutral"
	Cancelled = "cancelled"
)

// Status is a commit status.
type Status struct {
	State       string // "pending", "success", "failure" or "error"
	Context     string
	Description string
	URL         string
}
