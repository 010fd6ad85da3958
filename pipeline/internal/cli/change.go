package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"

	"github.com/servegate/pipeline/reports/github"
)

// rights of a job, as its event gives them.
type rights int

const (
	// rightsUnknown are those of events that this program does not know. They count as
	// the most dangerous ones.
	rightsUnknown rights = iota
	// rightsOfMembers: only who may write to the repository starts the event, or its job runs
	// nothing but the default branch.
	rightsOfMembers
	// rightsOfChange: the job runs the code of a change that is not merged.
	rightsOfChange
	// rightsOfDefault: anybody starts the event, and its job has the token and the secrets of
	// the default branch.
	rightsOfDefault
)

// eventRights lists the events of GitHub that a measuring job can have. An event that is
// not here is of unknown rights: a new one is refused until it has been reviewed.
var eventRights = map[string]rights{
	"":                    rightsOfMembers, // no job of GitHub
	"push":                rightsOfMembers,
	"schedule":            rightsOfMembers,
	"workflow_dispatch":   rightsOfMembers,
	"repository_dispatch": rightsOfMembers,
	"release":             rightsOfMembers,
	"create":              rightsOfMembers,
	"deployment":          rightsOfMembers,
	"registry_package":    rightsOfMembers,

	"pull_request":                rightsOfChange,
	"pull_request_review":         rightsOfChange,
	"pull_request_review_comment": rightsOfChange,
	"merge_group":                 rightsOfChange,

	"pull_request_target": rightsOfDefault,
	"workflow_run":        rightsOfDefault,
	"issue_comment":       rightsOfDefault,
}

// change is what the event of a job says of the change that the job is about.
type change struct {
	event  string
	rights rights
	// unmerged is set where the job is about a change that is not merged, or may be.
	unmerged bool
	// number of the pull request and the branch that it is for; 0 and "" if unknown.
	number int
	base   string
	// head is the commit of the pull request, "" if unknown.
	head string
	// repo that the job belongs to, from where the change comes; "" if unknown.
	repo, from string
	// defaultBranch of the repository; main if unknown.
	defaultBranch string
}

// queued is the branch of a merge queue, which names the pull request it is for.
var queued = regexp.MustCompile(`^refs/heads/gh-readonly-queue/.+/pr-([0-9]+)-[0-9a-f]+$`)

// change returns what the event of the job says, which is read once.
func (a *app) change() change {
	if a.job == nil {
		c := readChange(a.Getenv)
		a.job = &c
	}
	return *a.job
}

// readChange reads the event of the job. What cannot be read is unknown, and an unknown
// change is one that is not merged.
func readChange(getenv func(string) string) change {
	c := change{event: getenv("GITHUB_EVENT_NAME"), repo: getenv("GITHUB_REPOSITORY"), defaultBranch: "main"}
	c.rights = eventRights[c.event]
	c.unmerged = c.rights != rightsOfMembers
	p, err := github.ReadPayload(getenv("GITHUB_EVENT_PATH"))
	if err != nil {
		return c
	}
	c.defaultBranch = cmp.Or(p.Repository.DefaultBranch, c.defaultBranch)
	switch {
	case p.PullRequest != nil:
		pr := p.PullRequest
		c.number, c.base, c.head, c.from = max(pr.Number, p.Number), pr.Base.Ref, pr.Head.SHA, pr.Head.Repo.FullName
	case p.MergeGroup != nil:
		c.base, c.head = p.MergeGroup.BaseRef, p.MergeGroup.HeadSHA
		if m := queued.FindStringSubmatch(p.MergeGroup.HeadRef); m != nil && c.event == "merge_group" {
			c.number, _ = strconv.Atoi(m[1]) // too many digits: no number
			// Only who may write puts a pull request into the queue, and GitHub makes its branch in the repository itself.
			c.from = c.repo
		}
	case p.Issue != nil:
		c.number = p.Issue.Number
		c.unmerged = p.Issue.PullRequest != nil || c.event != "issue_comment"
	case p.WorkflowRun != nil && c.event == "workflow_run":
		w := p.WorkflowRun
		c.from = w.Repository.FullName
		c.unmerged = eventRights[w.Event] != rightsOfMembers || w.Event == "" || c.from != c.repo
	}
	return c
}

// fork reports whether the change comes from another repository. Where a change comes from
// that names no repository is not known: its fork is deleted, or the event does not say.
func (c change) fork() bool { return c.unmerged && (c.from == "" || c.from != c.repo) }

// origin names where the change comes from.
func (c change) origin() string {
	if c.from == "" {
		return "a repository that the event does not name"
	}
	return "the fork " + c.from
}

// refusal is why a job must not run the code of its change, nil if it may. A machine that
// is not known to be GitHub's own lives on after the job.
func (c change) refusal(runner string) error {
	switch {
	case !c.unmerged:
		return nil
	case c.rights == rightsOfDefault:
		return fmt.Errorf("a job of the event %s has the rights and secrets of the default branch, and a pipeline file starts programs: "+
			"measure in a pull_request job and post with command: comment, or set allow-untrusted: true", c.event)
	case c.rights == rightsUnknown:
		return fmt.Errorf("the event %s is not one of those that are known to be safe, and a pipeline file starts programs: "+
			"measure in a pull_request job, or set allow-untrusted: true", c.event)
	case c.fork() && runner != "github-hosted":
		return fmt.Errorf("the change (event %s) comes from %s, and a runner that is not GitHub's own lives on after it: "+
			"let someone approve such jobs (an environment with reviewers), and set allow-untrusted: true", c.event, c.origin())
	}
	return nil
}
