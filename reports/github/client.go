package github

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v84/github"
)

// The bounds of what is listed.
const (
	perPage  = 100
	maxPages = 1000
)

// Options of a client.
type Options struct {
	// URL of the API as the runner gives it in GITHUB_API_URL; that of github.com if "".
	URL   string
	Token string
	Repo  string // "owner/name"
	// Clock is the system's if nil.
	Clock Clock
	// Transport is that of the standard library if nil.
	Transport http.RoundTripper
}

// client is the API by way of go-github, whose version nothing else knows.
type client struct {
	gh          *gh.Client
	graphql     string
	owner, repo string
}

// NewClient returns the API of a repository. The token is sent to the host of the URL
// alone, and over TLS unless that is this machine.
func NewClient(o Options) (API, error) {
	if o.URL == "" {
		o.URL = "https://api.github.com"
	}
	base, err := url.Parse(strings.TrimSuffix(o.URL, "/") + "/")
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("GITHUB_API_URL %q is no address", o.URL)
	}
	if clear := base.Scheme == "http" && loopback(base.Hostname()); base.Scheme != "https" && !clear {
		return nil, fmt.Errorf("GITHUB_API_URL %q is not https: the token would be sent in the clear", o.URL)
	}
	owner, repo, ok := strings.Cut(o.Repo, "/")
	if !ok || !repoName.MatchString(o.Repo) {
		return nil, fmt.Errorf("repository %q is not of the form owner/name", o.Repo)
	}
	if o.Token == "" {
		return nil, errors.New("there is no token: pass github-token, or set GITHUB_TOKEN")
	}
	t := &transport{next: o.Transport, scheme: base.Scheme, host: base.Host, token: o.Token, clock: clockOr(o.Clock)}
	if t.next == nil {
		t.next = http.DefaultTransport
	}
	// A redirect off the API is an answer: what was to be sent there is not.
	c := gh.NewClient(&http.Client{Transport: t, CheckRedirect: t.sameOrigin}) // the transport bounds the time
	c.BaseURL = base
	c.DisableRateLimitCheck = true // the transport waits
	return &client{c, graphqlURL(base), owner, repo}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// graphqlURL is beside the REST API: https://HOST/api/v3/ has https://HOST/api/graphql.
// It is derived rather than read from the environment, so that a token never reaches a
// second host.
func graphqlURL(base *url.URL) string {
	return strings.TrimSuffix(base.String(), "v3/") + "graphql"
}

// fault turns go-github's errors into ours.
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
			err = e.Err // the address says nothing, and is long
		}
		return fmt.Errorf("%s: %w", op, err)
	}
	wait, _ := retryAfter(resp, time.Now())
	return &Error{Op: op, Code: resp.StatusCode, Message: oneLine(message), Wait: wait}
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > 300 {
		s = string(runes[:299]) + "…"
	}
	return s
}

// pages collects a list to its end.
func pages[T any](op string, list func(page int) ([]T, *gh.Response, error)) ([]T, error) {
	var all []T
	for page := 1; page != 0; {
		if page > maxPages {
			return nil, fmt.Errorf("%s: more than %d pages", op, maxPages)
		}
		some, resp, err := list(page)
		if err != nil {
			return nil, fault(op, err)
		}
		all = append(all, some...)
		page = resp.NextPage
	}
	return all, nil
}

func (c *client) query(ctx context.Context, op, query string, variables map[string]any, into any) error {
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
	if _, err := c.gh.Do(idempotent(ctx, true), req, &answer); err != nil {
		return fault(op, err)
	}
	if len(answer.Errors) > 0 {
		return &Error{Op: op, Code: http.StatusForbidden, Message: oneLine(answer.Errors[0].Message)}
	}
	return nil
}

// Viewer asks the two ways that there are: GraphQL, which some servers and tokens do not
// have, and the REST API, which knows users and no apps.
func (c *client) Viewer(ctx context.Context) (string, error) {
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

func (c *client) viewer(ctx context.Context) (string, error) {
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

func (c *client) HideComment(ctx context.Context, nodeID string) error {
	const mutation = "mutation($id:ID!){minimizeComment(input:{subjectId:$id,classifier:OUTDATED}){minimizedComment{isMinimized}}}"
	return c.query(ctx, "hiding a comment", mutation, map[string]any{"id": nodeID}, &struct{}{})
}

func (c *client) PullRequest(ctx context.Context, number int) (PullRequest, error) {
	p, _, err := c.gh.PullRequests.Get(ctx, c.owner, c.repo, number)
	return pullRequest(p), fault(fmt.Sprintf("reading pull request %d", number), err)
}

func pullRequest(p *gh.PullRequest) PullRequest {
	return PullRequest{
		Number: p.GetNumber(), Open: p.GetState() == "open", HeadSHA: p.GetHead().GetSHA(), HeadRepo: p.GetHead().GetRepo().GetFullName(),
	}
}

func pullRequests(list []*gh.PullRequest, err error) ([]PullRequest, error) {
	var out []PullRequest
	for _, p := range list {
		out = append(out, pullRequest(p))
	}
	return out, err
}

func (c *client) PullRequestsFrom(ctx context.Context, owner, branch string) ([]PullRequest, error) {
	return pullRequests(pages("listing pull requests", func(page int) ([]*gh.PullRequest, *gh.Response, error) {
		return c.gh.PullRequests.List(ctx, c.owner, c.repo, &gh.PullRequestListOptions{
			State: "open", Head: owner + ":" + branch, ListOptions: gh.ListOptions{Page: page, PerPage: perPage},
		})
	}))
}

func (c *client) PullRequestsWith(ctx context.Context, sha string) ([]PullRequest, error) {
	return pullRequests(pages("listing pull requests with a commit", func(page int) ([]*gh.PullRequest, *gh.Response, error) {
		return c.gh.PullRequests.ListPullRequestsWithCommit(ctx, c.owner, c.repo, sha, &gh.ListOptions{Page: page, PerPage: perPage})
	}))
}

func (c *client) Files(ctx context.Context, number int) ([]string, error) {
	files, err := pages("listing the changed files", func(page int) ([]*gh.CommitFile, *gh.Response, error) {
		return c.gh.PullRequests.ListFiles(ctx, c.owner, c.repo, number, &gh.ListOptions{Page: page, PerPage: perPage})
	})
	var out []string
	for _, f := range files {
		out = append(out, f.GetFilename())
		if old := f.GetPreviousFilename(); old != "" {
			out = append(out, old)
		}
	}
	return out, err
}

func (c *client) Comments(ctx context.Context, number int) ([]Comment, error) {
	list, err := pages("listing the comments", func(page int) ([]*gh.IssueComment, *gh.Response, error) {
		return c.gh.Issues.ListComments(ctx, c.owner, c.repo, number, &gh.IssueListCommentsOptions{
			ListOptions: gh.ListOptions{Page: page, PerPage: perPage},
		})
	})
	var out []Comment
	for _, one := range list {
		out = append(out, comment(one))
	}
	return out, err
}

func comment(c *gh.IssueComment) Comment {
	return Comment{
		ID: c.GetID(), NodeID: c.GetNodeID(), Author: c.GetUser().GetLogin(), Bot: c.GetUser().GetType() == "Bot",
		Body: c.GetBody(), URL: c.GetHTMLURL(),
	}
}

func (c *client) CreateComment(ctx context.Context, number int, body string) (Comment, error) {
	made, _, err := c.gh.Issues.CreateComment(ctx, c.owner, c.repo, number, &gh.IssueComment{Body: &body})
	return comment(made), fault("writing the comment", err)
}

func (c *client) EditComment(ctx context.Context, id int64, body string) (Comment, error) {
	made, _, err := c.gh.Issues.EditComment(ctx, c.owner, c.repo, id, &gh.IssueComment{Body: &body})
	return comment(made), fault("updating the comment", err)
}

func (c *client) DeleteComment(ctx context.Context, id int64) error {
	_, err := c.gh.Issues.DeleteComment(ctx, c.owner, c.repo, id)
	return fault("deleting a comment", err)
}

func (c *client) Checks(ctx context.Context, sha, name string) ([]Check, error) {
	list, err := pages("listing the check runs", func(page int) ([]*gh.CheckRun, *gh.Response, error) {
		found, resp, err := c.gh.Checks.ListCheckRunsForRef(ctx, c.owner, c.repo, sha, &gh.ListCheckRunsOptions{
			CheckName: optional(name), Filter: optional("all"), ListOptions: gh.ListOptions{Page: page, PerPage: perPage},
		})
		if err != nil {
			return nil, resp, err
		}
		return found.CheckRuns, resp, nil
	})
	var out []Check
	for _, one := range list {
		out = append(out, check(one))
	}
	return out, err
}

func check(c *gh.CheckRun) Check {
	out := Check{
		ID: c.GetID(), Name: c.GetName(), SHA: c.GetHeadSHA(), ExternalID: c.GetExternalID(), Conclusion: c.GetConclusion(), URL: c.GetHTMLURL(),
		DetailsURL: c.GetDetailsURL(), Title: c.GetOutput().GetTitle(), Summary: c.GetOutput().GetSummary(), Annotated: c.GetOutput().GetAnnotationsCount(),
	}
	if slug := c.GetApp().GetSlug(); slug != "" {
		out.Author = slug + "[bot]"
	}
	return out
}

func (c *client) Check(ctx context.Context, id int64) (Check, error) {
	one, _, err := c.gh.Checks.GetCheckRun(ctx, c.owner, c.repo, id)
	return check(one), fault("reading the check run", err)
}

func (c *client) CreateCheck(ctx context.Context, k Check) (Check, error) {
	status, conclusion := state(k)
	made, _, err := c.gh.Checks.CreateCheckRun(ctx, c.owner, c.repo, gh.CreateCheckRunOptions{
		Name: k.Name, HeadSHA: k.SHA, DetailsURL: optional(k.DetailsURL), ExternalID: optional(k.ExternalID),
		Status: &status, Conclusion: conclusion, Output: output(k),
	})
	return check(made), fault("writing the check run", err)
}

func (c *client) UpdateCheck(ctx context.Context, k Check) (Check, error) {
	status, conclusion := state(k)
	if len(k.Annotations) > 0 {
		ctx = idempotent(ctx, false) // they would be there twice
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

func (c *client) CreateStatus(ctx context.Context, sha string, s Status) error {
	_, _, err := c.gh.Repositories.CreateStatus(idempotent(ctx, true), c.owner, c.repo, sha, gh.RepoStatus{
		State: &s.State, Context: &s.Context, Description: &s.Description, TargetURL: optional(s.URL),
	})
	return fault("writing the commit status", err)
}

func (c *client) Statuses(ctx context.Context, sha string) ([]Status, error) {
	list, err := pages("listing the commit statuses", func(page int) ([]*gh.RepoStatus, *gh.Response, error) {
		found, resp, err := c.gh.Repositories.GetCombinedStatus(ctx, c.owner, c.repo, sha, &gh.ListOptions{Page: page, PerPage: perPage})
		if err != nil {
			return nil, resp, err
		}
		return found.Statuses, resp, nil
	})
	var out []Status
	for _, one := range list {
		out = append(out, Status{State: one.GetState(), Context: one.GetContext(), Description: one.GetDescription(), URL: one.GetTargetURL()})
	}
	return out, err
}
