package github

import (
	"context"
	"fmt"

	gh "github.com/google/go-github/v84/github"
)

// Issue is an issue of the repository.
type Issue struct {
	Number int
	Author string // login
	Bot    bool
	Title  string
	Body   string
	Open   bool
	// Reason of closing: "completed" or "not_planned".
	Reason string
	Labels []string
	URL    string
}

// Issues lists the issues that an author opened, including closed ones, without pull requests.
func (c *Client) Issues(ctx context.Context, author string) ([]Issue, error) {
	all, err := pages("listing the issues", func(i *gh.Issue) *gh.Issue { return i }, func(o gh.ListOptions) ([]*gh.Issue,
		*gh.Response, error) {
		// Oldest first, so that issues opened meanwhile do not move the pages.
		return c.gh.Issues.ListByRepo(ctx, c.owner, c.repo, &gh.IssueListByRepoOptions{
			State: "all", Creator: author, Sort: "created", Direction: "asc", ListOptions: o,
		})
	})
	var out []Issue
	for _, one := range all {
		if !one.IsPullRequest() {
			out = append(out, issue(one))
		}
	}
	return out, err
}

func issue(i *gh.Issue) Issue {
	if i == nil {
		return Issue{}
	}
	out := Issue{
		Number: i.GetNumber(), Author: i.GetUser().GetLogin(), Bot: i.GetUser().GetType() == "Bot", Title: i.GetTitle(), Body: i.GetBody(),
		Open: i.GetState() == "open", Reason: i.GetStateReason(), URL: i.GetHTMLURL(),
	}
	for _, l := range i.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	return out
}

func (c *Client) CreateIssue(ctx context.Context, i Issue) (Issue, error) {
	req := &gh.IssueRequest{Title: &i.Title, Body: &i.Body}
	if len(i.Labels) > 0 {
		req.Labels = &i.Labels
	}
	made, _, err := c.gh.Issues.Create(ctx, c.owner, c.repo, req)
	return issue(made), fault("opening an issue", err)
}

// EditIssue sets the title, the body and whether the issue is open. Labels stay.
func (c *Client) EditIssue(ctx context.Context, i Issue) (Issue, error) {
	state := "closed"
	if i.Open {
		state = "open"
	}
	req := &gh.IssueRequest{Title: &i.Title, Body: &i.Body, State: &state}
	if !i.Open && i.Reason != "" {
		req.StateReason = &i.Reason
	}
	made, _, err := c.gh.Issues.Edit(ctx, c.owner, c.repo, i.Number, req)
	return issue(made), fault(fmt.Sprintf("updating issue %d", i.Number), err)
}
