package github

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/publish"
)

// eventRights lists the GitHub events of measuring jobs. The rights of other events are unknown: a
// new event is refused until it has been reviewed.
var eventRights = map[string]publish.Rights{
	"":                    publish.RightsOfMembers, // not a GitHub job
	"push":                publish.RightsOfMembers,
	"schedule":            publish.RightsOfMembers,
	"workflow_dispatch":   publish.RightsOfMembers,
	"repository_dispatch": publish.RightsOfMembers,
	"release":             publish.RightsOfMembers,
	"create":              publish.RightsOfMembers,
	"deployment":          publish.RightsOfMembers,
	"registry_package":    publish.RightsOfMembers,

	"pull_request":                publish.RightsOfChange,
	"pull_request_review":         publish.RightsOfChange,
	"pull_request_review_comment": publish.RightsOfChange,
	"merge_group":                 publish.RightsOfChange,

	"pull_request_target": publish.RightsOfDefault,
	"workflow_run":        publish.RightsOfDefault,
	"issue_comment":       publish.RightsOfDefault,
}

// queued matches the branch of a merge queue, which contains the number of the pull request.
var queued = lazyregexp.New(`^refs/heads/gh-readonly-queue/.+/pr-([0-9]+)-[0-9a-f]+$`)

// readChange reads the event of the job. If it cannot be read, the change is unknown and counts as
// not merged.
func readChange(getenv func(string) string) publish.Change {
	c := publish.Change{
		Event: getenv("GITHUB_EVENT_NAME"), Repo: getenv("GITHUB_REPOSITORY"), DefaultBranch: "main",
		Commit: getenv("GITHUB_SHA"), Job: getenv("GITHUB_JOB"), Actor: getenv("GITHUB_ACTOR"),
	}
	c.Attempt, _ = strconv.Atoi(getenv("GITHUB_RUN_ATTEMPT")) // not a number: unknown
	if getenv("GITHUB_REF_TYPE") == "branch" {
		c.Branch = getenv("GITHUB_REF_NAME")
	}
	c.Rights = eventRights[c.Event]
	c.Unmerged = c.Rights != publish.RightsOfMembers
	p, err := ReadPayload(getenv("GITHUB_EVENT_PATH"))
	if err != nil {
		return c
	}
	c.DefaultBranch = cmp.Or(p.Repository.DefaultBranch, c.DefaultBranch)
	switch {
	case p.PullRequest != nil:
		pr := p.PullRequest
		c.Number, c.Base, c.Head, c.From = max(pr.Number, p.Number), pr.Base.Ref, pr.Head.SHA, pr.Head.Repo.FullName
	case p.MergeGroup != nil:
		c.Base, c.Head = p.MergeGroup.BaseRef, p.MergeGroup.HeadSHA
		if m := queued.FindStringSubmatch(p.MergeGroup.HeadRef); m != nil && c.Event == "merge_group" {
			c.Number, _ = strconv.Atoi(m[1]) // too many digits: no number
			// Only people with write access add a pull request to the queue, and GitHub creates the
			// branch in the repository itself.
			c.From = c.Repo
		}
	case p.Issue != nil:
		c.Number = p.Issue.Number
		c.Unmerged = p.Issue.PullRequest != nil || c.Event != "issue_comment"
	case p.WorkflowRun != nil && c.Event == "workflow_run":
		w := p.WorkflowRun
		c.From = w.Repository.FullName
		c.Unmerged = eventRights[w.Event] != publish.RightsOfMembers || w.Event == "" || c.From != c.Repo
	}
	return c
}

// fork reports whether the change comes from another repository. It also returns true if the event
// does not name the repository, for example because the fork was deleted.
func fork(c publish.Change) bool { return c.Unmerged && (c.From == "" || c.From != c.Repo) }

// origin names the repository of the change.
func origin(c publish.Change) string {
	if c.From == "" {
		return "a repository that the event does not name"
	}
	return "the fork " + c.From
}

// refusal returns why a job must not run the code of its change, nil if it may. A runner that is
// not known to be GitHub's is assumed to outlive the job.
func refusal(c publish.Change, runner string) error {
	switch {
	case !c.Unmerged:
		return nil
	case c.Rights == publish.RightsOfDefault:
		return fmt.Errorf("a job of the event %s has the rights and secrets of the default branch, and a pipeline file starts programs: "+
			"measure in a pull_request job and post with command: comment, or set allow-untrusted: true", c.Event)
	case c.Rights == publish.RightsUnknown:
		return fmt.Errorf("the event %s is not one of those that are known to be safe, and a pipeline file starts programs: "+
			"measure in a pull_request job, or set allow-untrusted: true", c.Event)
	case fork(c) && runner != "github-hosted":
		return fmt.Errorf("the change (event %s) comes from %s, and a runner that is not GitHub's own lives on after it: "+
			"let someone approve such jobs (an environment with reviewers), and set allow-untrusted: true", c.Event, origin(c))
	}
	return nil
}

// changeOf returns the change that the event of the job describes.
func changeOf(getenv func(string) string) publish.Change {
	c := readChange(getenv)
	c.Queued = c.Event == "merge_group"
	c.Refused = refusal(c, getenv("RUNNER_ENVIRONMENT"))
	return c
}
