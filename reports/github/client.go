package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v84/github"
	"github.com/servegate/pipeline/reports/publish/remote"
)

// Limits of lists.
const (
	perPage  = 100
	maxPages = 1000
)

// Options configures a client.
type Options struct {
	// URL of the API as in GITHUB_API_URL; that of github.com if "".
	URL   string
	Token string
	Repo  string // "owner/name"
	// Clock defaults to the system's.
	Clock Clock
	// Transport defaults to that of the standard library.
	Transport http.RoundTripper
}

// Client accesses one repository through go-github; no other package depends on its version. Errors
// are *Error if GitHub answered.
type Client struct {
	gh          *gh.Client
	graphql     string
	owner, repo string
}

// NewClient returns the client of a repository. The token is only sent to the host of the URL, and
// over TLS unless that is this machine.
func NewClient(o Options) (*Client, error) {
	if o.URL == "" {
		o.URL = "https://api.github.com"
	}
	base, err := remote.Base("GITHUB_API_URL", o.URL)
	if err != nil {
		return nil, err
	}
	owner, repo, ok := strings.Cut(o.Repo, "/")
	if !ok || !repoName.MatchString(o.Repo) {
		return nil, fmt.Errorf("repository %q is not of the form owner/name", o.Repo)
	}
	if o.Token == "" {
		return nil, errors.New("no token: pass github-token, or set GITHUB_TOKEN")
	}
	t := &remote.Transport{Service: "GitHub", Next: o.Transport, Scheme: base.Scheme, Host: base.Host,
		Header: "Authorization", Value: "Bearer " + o.Token, Clock: remote.ClockOr(o.Clock)}
	// A redirect off the API is returned as the answer; the request is not repeated there.
	c := gh.NewClient(&http.Client{Transport: t, CheckRedirect: t.SameOrigin}) // the transport limits the time
	c.BaseURL = base
	c.DisableRateLimitCheck = true // the transport waits
	return &Client{c, graphqlURL(base), owner, repo}, nil
}

// graphqlURL returns the GraphQL endpoint beside the REST API: https://HOST/api/v3/ has
// https://HOST/api/graphql. It is not read from the environment, so that the token never reaches a
// second host.
func graphqlURL(base *url.URL) string {
	return strings.TrimSuffix(base.String(), "v3/") + "graphql"
}

// fault converts go-github's errors.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	var resp *http.Response
	message := ""
	if e, ok := errors.AsType[*gh.ErrorResponse](err); ok {
		resp, message = e.Response, e.Message
		for _, detail := range e.Errors {
			message += " " + detail.Message
		}
	} else if e, ok := errors.AsType[*gh.RateLimitError](err); ok {
		resp, message = e.Response, e.Message
	} else if e, ok := errors.AsType[*gh.AbuseRateLimitError](err); ok {
		resp, message = e.Response, e.Message
	}
	if resp == nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the address is long and adds nothing
		}
		return fmt.Errorf("%s: %w", op, err)
	}
	wait, _ := remote.RetryAfter(resp, time.Now())
	return &Error{Service: "GitHub", Op: op, Code: resp.StatusCode, Message: remote.OneLine(message), Wait: wait}
}

// pages collects all pages of a list, with each element converted by show.
func pages[T, U any](op string, show func(T) U, list func(gh.ListOptions) ([]T, *gh.Response, error)) ([]U, error) {
	var all []U
	for page := 1; page != 0; {
		if page > maxPages {
			return nil, fmt.Errorf("%s: more than %d pages", op, maxPages)
		}
		some, resp, err := list(gh.ListOptions{Page: page, PerPage: perPage})
		if err != nil {
			return nil, fault(op, err)
		}
		for _, one := range some {
			all = append(all, show(one))
		}
		page = resp.NextPage
	}
	return all, nil
}

func (c *Client) query(ctx context.Context, op, query string, variables map[string]any, into any) error {
	req, err := c.gh.NewRequest(http.MethodPost, c.graphql, map[string]any{"query": query, "variables": variables})
	if err != nil {
		return fault(op, err)
	}
	answer := struct {
		Data   any `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}{Data: into}
	if _, err := c.gh.Do(remote.Idempotent(ctx, true), req, &answer); err != nil {
		return fault(op, err)
	}
	if len(answer.Errors) > 0 {
		return &Error{Service: "GitHub", Op: op, Code: http.StatusForbidden, Message: remote.OneLine(answer.Errors[0].Message)}
	}
	return nil
}

// Viewer returns the login of the token ("github-actions[bot]"). It tries GraphQL first, which some
// servers and tokens do not support, then the REST API, which does not know apps.
func (c *Client) Viewer(ctx context.Context) (string, error) {
	login, err := c.viewer(ctx)
	if err == nil || ctx.Err() != nil {
		return login, err
	}
	user, _, restErr := c.gh.Users.Get(ctx, "")
	if restErr != nil || user.GetLogin() == "" {
		return "", err
	}
	return user.GetLogin(), nil
}

func (c *Client) viewer(ctx context.Context) (string, error) {
	var data struct {
		Viewer struct {
			Login string `json:"login"`
		} `json:"viewer"`
	}
	err := c.query(ctx, "asking who the token stands for", "query{viewer{login}}", nil, &data)
	if err == nil && data.Viewer.Login == "" {
		err = errors.New("asking who the token stands for: the answer holds no login")
	}
	return data.Viewer.Login, err
}

// HideComment folds a comment as outdated.
func (c *Client) HideComment(ctx context.Context, nodeID string) error {
	const mutation = "mutation($id:ID!){minimizeComment(input:{subjectId:$id,classifier:OUTDATED}){minimizedComment{isMinimized}}}"
	return c.query(ctx, "hiding a comment", mutation, map[string]any{"id": nodeID}, &struct{}{})
}

func (c *Client) PullRequest(ctx context.Context, number int) (PullRequest, error) {
	p, _, err := c.gh.PullRequests.Get(ctx, c.owner, c.repo, number)
	return pullRequest(p), fault(fmt.Sprintf("reading pull request %d", number), err)
}

func pullRequest(p *gh.PullRequest) PullRequest {
	return PullRequest{
		Number: p.GetNumber(), Open: p.GetState() == "open", HeadSHA: p.GetHead().GetSHA(), HeadRepo: p.GetHead().GetRepo().GetFullName(),
	}
}

// PullRequestsFrom lists the open pull requests from a branch of an owner.
func (c *Client) PullRequestsFrom(ctx context.Context, owner, branch string) ([]PullRequest, error) {
	return pages("listing pull requests", pullRequest, func(o gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error) {
		return c.gh.PullRequests.List(ctx, c.owner, c.repo, &gh.PullRequestListOptions{State: "open", Head: owner + ":" + branch, ListOptions: o})
	})
}

// PullRequestsWith lists the open pull requests that contain a commit.
func (c *Client) PullRequestsWith(ctx context.Context, sha string) ([]PullRequest, error) {
	return pages("listing pull requests with a commit", pullRequest, func(o gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error) {
		return c.gh.PullRequests.ListPullRequestsWithCommit(ctx, c.owner, c.repo, sha, &o)
	})
}

// Files lists the paths that a pull request changes, including the old names of renamed ones.
func (c *Client) Files(ctx context.Context, number int) ([]string, error) {
	names := func(f *gh.CommitFile) []string { return []string{f.GetFilename(), f.GetPreviousFilename()} }
	files, err := pages("listing the changed files", names, func(o gh.ListOptions) ([]*gh.CommitFile, *gh.Response, error) {
		return c.gh.PullRequests.ListFiles(ctx, c.owner, c.repo, number, &o)
	})
	return slices.DeleteFunc(slices.Concat(files...), func(name string) bool { return name == "" }), err
}

// Comments lists the comments of a conversation.
func (c *Client) Comments(ctx context.Context, number int) ([]Comment, error) {
	return pages("listing the comments", comment, func(o gh.ListOptions) ([]*gh.IssueComment, *gh.Response, error) {
		return c.gh.Issues.ListComments(ctx, c.owner, c.repo, number, &gh.IssueListCommentsOptions{ListOptions: o})
	})
}

func comment(c *gh.IssueComment) Comment {
	return Comment{
		ID: c.GetID(), NodeID: c.GetNodeID(), Author: c.GetUser().GetLogin(), Bot: c.GetUser().GetType() == "Bot",
		Body: c.GetBody(), URL: c.GetHTMLURL(),
	}
}

func (c *Client) CreateComment(ctx context.Context, number int, body string) (Comment, error) {
	made, _, err := c.gh.Issues.CreateComment(ctx, c.owner, c.repo, number, &gh.IssueComment{Body: &body})
	return comment(made), fault("writing the comment", err)
}

func (c *Client) EditComment(ctx context.Context, id int64, body string) (Comment, error) {
	made, _, err := c.gh.Issues.EditComment(ctx, c.owner, c.repo, id, &gh.IssueComment{Body: &body})
	return comment(made), fault("updating the comment", err)
}

func (c *Client) DeleteComment(ctx context.Context, id int64) error {
	_, err := c.gh.Issues.DeleteComment(ctx, c.owner, c.repo, id)
	return fault("deleting a comment", err)
}

// Checks lists the check runs with a name, or all if it is "".
func (c *Client) Checks(ctx context.Context, sha, name string) ([]Check, error) {
	return pages("listing the check runs", check, func(o gh.ListOptions) ([]*gh.CheckRun, *gh.Response, error) {
		found, resp, err := c.gh.Checks.ListCheckRunsForRef(ctx, c.owner, c.repo, sha, &gh.ListCheckRunsOptions{
			CheckName: optional(name), Filter: new("all"), ListOptions: o,
		})
		if err != nil {
			return nil, resp, err
		}
		return found.CheckRuns, resp, nil
	})
}

func check(c *gh.CheckRun) Check {
	out := Check{
		ID: c.GetID(), Name: c.GetName(), SHA: c.GetHeadSHA(), ExternalID: c.GetExternalID(), Conclusion: c.GetConclusion(), URL: c.GetHTMLURL(),
		DetailsURL: c.GetDetailsURL(), Title: c.GetOutput().GetTitle(), Summary: c.GetOutput().GetSummary(),
		Annotated: c.GetOutput().GetAnnotationsCount(), Completed: c.GetCompletedAt().Time,
	}
	if slug := c.GetApp().GetSlug(); slug != "" {
		out.Author = slug + "[bot]"
	}
	return out
}

// Check reads one check run, without its annotations.
func (c *Client) Check(ctx context.Context, id int64) (Check, error) {
	one, _, err := c.gh.Checks.GetCheckRun(ctx, c.owner, c.repo, id)
	return check(one), fault("reading the check run", err)
}

func (c *Client) CreateCheck(ctx context.Context, k Check) (Check, error) {
	status, conclusion := state(k)
	made, _, err := c.gh.Checks.CreateCheckRun(ctx, c.owner, c.repo, gh.CreateCheckRunOptions{
		Name: k.Name, HeadSHA: k.SHA, DetailsURL: optional(k.DetailsURL), ExternalID: optional(k.ExternalID),
		Status: &status, Conclusion: conclusion, Output: output(k),
	})
	return check(made), fault("writing the check run", err)
}

// UpdateCheck updates a check run. It adds the annotations to the present ones.
func (c *Client) UpdateCheck(ctx context.Context, k Check) (Check, error) {
	status, conclusion := state(k)
	if len(k.Annotations) > 0 {
		ctx = remote.Idempotent(ctx, false) // sent twice, the annotations would appear twice
	}
	made, _, err := c.gh.Checks.UpdateCheckRun(ctx, c.owner, c.repo, k.ID, gh.UpdateCheckRunOptions{
		Name: k.Name, DetailsURL: optional(k.DetailsURL), ExternalID: optional(k.ExternalID),
		Status: &status, Conclusion: conclusion, Output: output(k),
	})
	return check(made), fault("updating the check run", err)
}

func state(k Check) (status string, conclusion *string) {
	if k.Conclusion == "" {
		return "in_progress", nil
	}
	return "completed", &k.Conclusion
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func output(k Check) *gh.CheckRunOutput {
	if k.Title == "" {
		return nil
	}
	out := &gh.CheckRunOutput{Title: &k.Title, Summary: &k.Summary}
	for i := range k.Annotations {
		a := &k.Annotations[i]
		out.Annotations = append(out.Annotations, &gh.CheckRunAnnotation{
			Path: &a.Path, StartLine: &a.StartLine, EndLine: &a.EndLine, AnnotationLevel: &a.Level, Title: &a.Title, Message: &a.Message,
		})
	}
	return out
}

func (c *Client) CreateStatus(ctx context.Context, sha string, s Status) error {
	_, _, err := c.gh.Repositories.CreateStatus(remote.Idempotent(ctx, true), c.owner, c.repo, sha, gh.RepoStatus{
		State: &s.State, Context: &s.Context, Description: &s.Description, TargetURL: optional(s.URL),
	})
	return fault("writing the commit status", err)
}

// Statuses lists the latest status of each context.
func (c *Client) Statuses(ctx context.Context, sha string) ([]Status, error) {
	status := func(s *gh.RepoStatus) Status {
		return Status{State: s.GetState(), Context: s.GetContext(), Description: s.GetDescription(), URL: s.GetTargetURL()}
	}
	return pages("listing the commit statuses", status, func(o gh.ListOptions) ([]*gh.RepoStatus, *gh.Response, error) {
		found, resp, err := c.gh.Repositories.GetCombinedStatus(ctx, c.owner, c.repo, sha, &o)
		if err != nil {
			return nil, resp, err
		}
		return found.Statuses, resp, nil
	})
}
