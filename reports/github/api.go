package github

// PullRequest identifies a pull request and its head.
type PullRequest struct {
	Number   int
	Open     bool
	HeadSHA  string
	HeadRepo string // "owner/name", "" if the fork is gone
}

// Comment is a comment of a conversation.
type Comment struct {
	ID     int64
	NodeID string
	Author string // login
	Bot    bool
	Body   string
	URL    string
}

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
}

// The conclusions in use.
const (
	Success   = "success"
	Failure   = "failure"
	Neutral   = "neutral"
	Cancelled = "cancelled"
)

// Annotation is an annotation on lines of a file.
type Annotation struct {
	Path           string
	StartLine      int
	EndLine        int
	Level          string // "failure", "warning" or "notice"
	Title, Message string
}

// Status is a commit status.
type Status struct {
	State       string // "pending", "success", "failure" or "error"
	Context     string
	Description string
	URL         string
}
