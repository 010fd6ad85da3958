package github

// PullRequest with what identifies its head.
type PullRequest struct {
	Number   int
	Open     bool
	HeadSHA  string
	HeadRepo string // "owner/name", "" if the fork is gone
}

// Comment of a conversation.
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
	// Conclusion is "" while it is in progress.
	Conclusion  string
	Title       string
	Summary     string
	Annotations []Annotation
	// Annotated is how many annotations GitHub has of it.
	Annotated int
	// Author is the login of the app that made it, "" if GitHub did not say.
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

// Annotation of a place in a file.
type Annotation struct {
	Path           string
	StartLine      int
	EndLine        int
	Level          string // "failure", "warning" or "notice"
	Title, Message string
}

// Status of a commit.
type Status struct {
	State       string // "pending", "success", "failure" or "error"
	Context     string
	Description string
	URL         string
}
