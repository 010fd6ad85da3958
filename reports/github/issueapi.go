package github

import (
	"context"
	"fmt"

	gh "github.com/google/go-github/v84/github"
)

// Issue of the repository.
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

func (c *client) Issues(ctx context.Context, author string) ([]Issue, error) {
	list, err := pages("listing the issues", func(page int) ([]*gh.Issue, *gh.Response, error) {
		// Oldest first: what is opened meanwhile does not move the pages.
		return c.gh.Issues.ListByRepo(ctx, c.owner, c.repo, &gh.IssueListByRepoOptions{
			State: "all", Creator: author, Sort: "created", Direction: "asc", ListOptions: gh.ListOptions{Page: page, PerPage: perPage},
		})
	})
	var out []Issue
	for _, one := range list {
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

func (c *client) CreateIssue(ctx context.Context, i Issue) (Issue, error) {
	req := &gh.IssueRequest{Title: &i.Title, Body: &i.Body}
	if len(i.Labels) > 0 {
		req.Labels = &i.Labels
	}
	made, _, err := c.gh.Issues.Create(ctx, c.owner, c.repo, req)
	return issue(made), fault("opening an issue", err)
}

func (c *client) EditIssue(ctx context.Context, i Issue) (Issue, error) {
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
