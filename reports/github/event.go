package github

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/publish/note"
)

// maxEvent is the largest event payload to read; GitHub's own limit is 25 MiB.
const maxEvent = 32 << 20

// Event describes why a job runs, from its environment.
type Event struct {
	Name string // "pull_request"
	Repo string // "owner/name"
	// SHA is the commit of the result: the head of the pull request, never the merge commit that a
	// job checks out.
	SHA string
	// Number of the pull request, 0 if the event does not contain it.
	Number int
	// BaseSHA is the tip of the target branch of the pull request, "" if the event does not contain
	// it.
	BaseSHA string
	// HeadRepo and HeadBranch are the origin of the commit.
	HeadRepo   string
	HeadBranch string
	Workflow   string
	// Run is the run that measured.
	Run Run
	// ServerURL is "https://github.com".
	ServerURL string
	// Comment is set for the event issue_comment, else nil.
	Comment *EventComment
}

// EventComment is the comment of an event.
type EventComment struct {
	Action string // "created", "edited" or "deleted"
	ID     int64
	Author string // login
	Body   string
	// Created is when it was written.
	Created time.Time
}

// Run identifies an attempt of a workflow run.
type Run = note.Run

// Fork reports whether the commit of a pull request comes from another repository. An unknown
// repository counts as another: a deleted fork has no name.
func (e Event) Fork() bool { return e.PullRequest() && e.HeadRepo != e.Repo }

// PullRequest reports whether the event belongs to a pull request.
func (e Event) PullRequest() bool { return e.Number > 0 || e.Name == "workflow_run" }

// RunURL returns the page of the run.
func (e Event) RunURL() string {
	if e.ServerURL == "" || e.Run.ID == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%s/actions/runs/%d", e.ServerURL, e.Repo, e.Run.ID)
}

// AttemptURL returns the page of the attempt of the run.
func (e Event) AttemptURL() string {
	if url := e.RunURL(); url != "" {
		return fmt.Sprintf("%s/attempts/%d", url, max(e.Run.Attempt, 1))
	}
	return ""
}

var (
	repoName   = lazyregexp.New(`^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$`)
	commitHash = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	webAddress = lazyregexp.New(`^https?://[A-Za-z0-9.:-]+$`)
)

// ErrNoEvent reports that the program does not run as a GitHub job.
var ErrNoEvent = errors.New("not a GitHub job: GITHUB_REPOSITORY and GITHUB_EVENT_NAME are not set")

// Payload holds the parts of an event that are used.
type Payload struct {
	Number      int `json:"number"`
	PullRequest *struct {
		Number int  `json:"number"`
		Head   head `json:"head"`
		Base   head `json:"base"`
	} `json:"pull_request"`
	Action string `json:"action"`
	Issue  *struct {
		Number      int       `json:"number"`
		PullRequest *struct{} `json:"pull_request"`
	} `json:"issue"`
	Comment *struct {
		ID      int64     `json:"id"`
		Body    string    `json:"body"`
		Created time.Time `json:"created_at"`
		User    struct {
			Login string `json:"login"`
		} `json:"user"`
	} `json:"comment"`
	MergeGroup *struct {
		HeadRef string `json:"head_ref"`
		BaseRef string `json:"base_ref"`
		HeadSHA string `json:"head_sha"`
	} `json:"merge_group"`
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
	WorkflowRun *struct {
		ID         int64      `json:"id"`
		Attempt    int        `json:"run_attempt"`
		Name       string     `json:"name"`
		Event      string     `json:"event"`
		SHA        string     `json:"head_sha"`
		Branch     string     `json:"head_branch"`
		Repository repository `json:"head_repository"`
	} `json:"workflow_run"`
}

type head struct {
	SHA  string     `json:"sha"`
	Ref  string     `json:"ref"`
	Repo repository `json:"repo"`
}

type repository struct {
	FullName string `json:"full_name"`
}

// ReadEvent reads the runner's environment and the event file that it names.
func ReadEvent(getenv func(string) string) (Event, error) {
	e := Event{
		Name: getenv("GITHUB_EVENT_NAME"), Repo: getenv("GITHUB_REPOSITORY"), SHA: getenv("GITHUB_SHA"),
		Workflow: getenv("GITHUB_WORKFLOW"), ServerURL: cmp.Or(getenv("GITHUB_SERVER_URL"), "https://github.com"),
	}
	if e.Name == "" || e.Repo == "" {
		return Event{}, ErrNoEvent
	}
	e.Run.ID, _ = strconv.ParseInt(getenv("GITHUB_RUN_ID"), 10, 64) // not a number: 0, and no link
	e.Run.Attempt, _ = strconv.Atoi(getenv("GITHUB_RUN_ATTEMPT"))
	e.Run.Attempt = max(e.Run.Attempt, 1)
	p, err := ReadPayload(getenv("GITHUB_EVENT_PATH"))
	if err != nil {
		return Event{}, err
	}
	switch {
	case p.PullRequest != nil:
		e.Number, e.SHA = cmp.Or(p.PullRequest.Number, p.Number), p.PullRequest.Head.SHA
		e.HeadRepo, e.HeadBranch = p.PullRequest.Head.Repo.FullName, p.PullRequest.Head.Ref
		e.BaseSHA = p.PullRequest.Base.SHA
	case p.WorkflowRun != nil:
		w := p.WorkflowRun
		e.SHA, e.HeadRepo, e.HeadBranch, e.Workflow = w.SHA, w.Repository.FullName, w.Branch, w.Name
		e.Run = Run{ID: w.ID, Attempt: max(w.Attempt, 1)}
	case e.Name == "issue_comment" && p.Issue != nil && p.Comment != nil:
		e.Comment = &EventComment{Action: p.Action, ID: p.Comment.ID, Author: p.Comment.User.Login, Body: p.Comment.Body,
			Created: p.Comment.Created}
		if p.Issue.PullRequest != nil {
			e.Number = p.Issue.Number
		}
	}
	return e, e.check()
}

// ReadPayload reads the file of GITHUB_EVENT_PATH, if it is set.
func ReadPayload(path string) (Payload, error) {
	var p Payload
	if path == "" {
		return p, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return p, fmt.Errorf("reading the event: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	if err := json.NewDecoder(io.LimitReader(f, maxEvent)).Decode(&p); err != nil {
		return p, fmt.Errorf("reading the event %s: %w", path, err)
	}
	return p, nil
}

// check returns an error for values that are not valid in an address.
func (e Event) check() error {
	switch {
	case !repoName.MatchString(e.Repo):
		return fmt.Errorf("repository %q is not of the form owner/name", e.Repo)
	case e.BaseSHA != "" && !commitHash.MatchString(e.BaseSHA):
		return fmt.Errorf("the event's base %q must be the hash of a commit", e.BaseSHA)
	case e.HeadRepo != "" && !repoName.MatchString(e.HeadRepo):
		return fmt.Errorf("head repository %q of the event is not of the form owner/name", e.HeadRepo)
	case !commitHash.MatchString(e.SHA):
		return fmt.Errorf("the event's commit %q must be the hash of a commit", e.SHA)
	case !webAddress.MatchString(e.ServerURL):
		return fmt.Errorf("GITHUB_SERVER_URL %q is not a valid URL", e.ServerURL)
	}
	return nil
}
