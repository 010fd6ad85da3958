package github

import (
	"context"
	"fmt"
	"net/http"

	gh "github.com/google/go-github/v84/github"
	"github.com/servegate/pipeline/reports/publish/remote"
)

// WorkflowRun is one run of a workflow.
type WorkflowRun struct {
	Run        Run
	Event      string
	SHA        string
	Status     string // "completed", "in_progress", …
	Conclusion string
}

// MayWrite reports whether a user can push to the repository. It asks for the permission itself,
// because the association of a comment's author in the event does not define rights.
func (c *Client) MayWrite(ctx context.Context, login string) (bool, error) {
	level, _, err := c.gh.Repositories.GetPermissionLevel(ctx, c.owner, c.repo, login)
	if err := fault("asking for the rights of "+remote.OneLine(login), err); err != nil {
		if remote.Refused(err, http.StatusNotFound) {
			return false, nil // a deleted user
		}
		return false, err
	}
	switch level.GetPermission() {
	case "admin", "maintain", "write":
		return true, nil
	}
	return false, nil
}

func (c *Client) React(ctx context.Context, commentID int64, content string) error {
	_, _, err := c.gh.Reactions.CreateIssueCommentReaction(remote.Idempotent(ctx, true), c.owner, c.repo, commentID, content)
	return fault("reacting to the comment", err)
}

// WorkflowRuns lists the runs of a workflow file on a commit.
func (c *Client) WorkflowRuns(ctx context.Context, file, sha string) ([]WorkflowRun, error) {
	show := func(w *gh.WorkflowRun) WorkflowRun {
		return WorkflowRun{Run{ID: w.GetID(), Attempt: w.GetRunAttempt()}, w.GetEvent(), w.GetHeadSHA(), w.GetStatus(), w.GetConclusion()}
	}
	return pages("listing the runs of "+file, show, func(o gh.ListOptions) ([]*gh.WorkflowRun, *gh.Response, error) {
		found, resp, err := c.gh.Actions.ListWorkflowRunsByFileName(ctx, c.owner, c.repo, file,
			&gh.ListWorkflowRunsOptions{HeadSHA: sha, ListOptions: o})
		if err != nil {
			return nil, resp, err
		}
		return found.WorkflowRuns, resp, nil
	})
}

// RunAgain re-runs a workflow. It is not retried, because a second attempt would be measured and
// counted.
func (c *Client) RunAgain(ctx context.Context, id int64) error {
	_, err := c.gh.Actions.RerunWorkflowByID(ctx, c.owner, c.repo, id)
	return fault(fmt.Sprintf("running %d again", id), err)
}
