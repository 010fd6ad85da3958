package github

import "context"

// API is what is asked of GitHub, in one repository. Its errors are *Error where GitHub
// answered.
type API interface {
	// Viewer is the login that the token stands for, as it is shown ("github-actions[bot]").
	// An app whose server has no GraphQL is not known.
	Viewer(ctx context.Context) (string, error)

	PullRequest(ctx context.Context, number int) (PullRequest, error)
	// PullRequestsFrom lists the open ones from a branch of an owner.
	PullRequestsFrom(ctx context.Context, owner, branch string) ([]PullRequest, error)
	// PullRequestsWith lists the open ones that contain a commit.
	PullRequestsWith(ctx context.Context, sha string) ([]PullRequest, error)
	// Files lists the paths that a pull request changes, old names of renamed ones as well.
	Files(ctx context.Context, number int) ([]string, error)

	Comments(ctx context.Context, number int) ([]Comment, error)
	CreateComment(ctx context.Context, number int, body string) (Comment, error)
	EditComment(ctx context.Context, id int64, body string) (Comment, error)
	DeleteComment(ctx context.Context, id int64) error
	// HideComment folds a comment as outdated.
	HideComment(ctx context.Context, nodeID string) error

	// Checks lists those of a name, or all if it is "".
	Checks(ctx context.Context, sha, name string) ([]Check, error)
	// Check reads one check run, without its annotations.
	Check(ctx context.Context, id int64) (Check, error)
	CreateCheck(ctx context.Context, c Check) (Check, error)
	// UpdateCheck adds the annotations to those that are there.
	UpdateCheck(ctx context.Context, c Check) (Check, error)

	CreateStatus(ctx context.Context, sha string, s Status) error
	// Statuses lists the latest one of each context.
	Statuses(ctx context.Context, sha string) ([]Status, error)

	// MayWrite reports whether a user can push to the repository.
	MayWrite(ctx context.Context, login string) (bool, error)
	React(ctx context.Context, commentID int64, content string) error
	// WorkflowRuns lists the runs of a workflow's file on a commit.
	WorkflowRuns(ctx context.Context, file, sha string) ([]WorkflowRun, error)
	RunAgain(ctx context.Context, id int64) error

	// Issues lists those that an author opened, closed ones as well, and no pull requests.
	Issues(ctx context.Context, author string) ([]Issue, error)
	CreateIssue(ctx context.Context, i Issue) (Issue, error)
	// EditIssue sets title, body and whether it is open, and leaves labels as they are.
	EditIssue(ctx context.Context, i Issue) (Issue, error)
}

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
