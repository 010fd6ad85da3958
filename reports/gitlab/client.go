package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/publish/remote"
	gl "gitlab.com/gitlab-org/api/client-go"
)

// Limits of lists.
const (
	perPage  = 100
	maxPages = 100
)

// options configures a client.
type options struct {
	url, token string
	// transport defaults to that of the standard library, clock to the system's.
	transport http.RoundTripper
	clock     remote.Clock
}

// client accesses one merge request through GitLab's Go client; nothing else depends on its version. Errors are
// *remote.Error if GitLab answered.
type client struct {
	gl      *gl.Client
	project string
	number  int64
	page    string // of the merge request, "" if unknown
}

// unlimited is a rate limiter that never waits: the transport waits as long as GitLab asks for.
type unlimited struct{}

func (unlimited) Wait(context.Context) error { return nil }

// newClient returns the client of a merge request. The token is only sent to the host of the API, and over TLS unless
// that is this machine.
func newClient(o options, e event) (*client, error) {
	base, err := remote.Base("CI_API_V4_URL", o.url)
	if err != nil {
		return nil, err
	}
	if o.token == "" {
		return nil, errNoToken
	}
	t := &remote.Transport{Service: "GitLab", Next: o.transport, Scheme: base.Scheme, Host: base.Host,
		Header: "Private-Token", Value: o.token, Clock: remote.ClockOr(o.clock)}
	// A redirect off the API is returned as the answer; the request is not repeated there.
	api, err := gl.NewClient(o.token, gl.WithBaseURL(base.String()), gl.WithoutRetries(), gl.WithCustomLimiter(unlimited{}),
		gl.WithHTTPClient(&http.Client{Transport: t, CheckRedirect: t.SameOrigin}))
	if err != nil {
		return nil, fmt.Errorf("GitLab: %w", err)
	}
	c := &client{gl: api, project: e.target, number: e.number}
	if e.projectURL != "" {
		c.page = fmt.Sprintf("%s/-/merge_requests/%d", e.projectURL, e.number)
	}
	return c, nil
}

// errNoToken reports that the job has no token that may write notes.
var errNoToken = errors.New("no token: set PIPELINE_GITLAB_TOKEN to a project access token with the scope api " +
	"(CI_JOB_TOKEN cannot write notes)")

// fault converts the errors of GitLab's client.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*gl.ErrorResponse](err)
	if !ok || e.Response == nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the address is long and adds nothing
		}
		if errors.Is(err, gl.ErrNotFound) {
			return &remote.Error{Service: "GitLab", Op: op, Code: http.StatusNotFound, Message: "not found"}
		}
		return fmt.Errorf("%s: %w", op, err)
	}
	wait, _ := remote.RetryAfter(e.Response, time.Now())
	return &remote.Error{Service: "GitLab", Op: op, Code: e.Response.StatusCode, Message: remote.OneLine(e.Message), Wait: wait}
}

// pages collects all pages of a list.
func pages[T any](op string, list func(gl.ListOptions) ([]T, *gl.Response, error)) ([]T, error) {
	var all []T
	for page := int64(1); page != 0; {
		if page > maxPages {
			return nil, fmt.Errorf("%s: more than %d pages", op, maxPages)
		}
		some, resp, err := list(gl.ListOptions{Page: page, PerPage: perPage})
		if err != nil {
			return nil, fault(op, err)
		}
		all = append(all, some...)
		page = resp.NextPage
	}
	return all, nil
}

// Comments implements note.Conversation.
func (c *client) Comments(ctx context.Context) ([]note.Comment, error) {
	list, err := pages("listing the notes", func(o gl.ListOptions) ([]*gl.Note, *gl.Response, error) {
		return c.gl.Notes.ListMergeRequestNotes(c.project, c.number, &gl.ListMergeRequestNotesOptions{
			ListOptions: o, OrderBy: new("created_at"), Sort: new("asc")}, gl.WithContext(ctx))
	})
	var out []note.Comment
	for _, n := range list {
		if n != nil && !n.System {
			out = append(out, c.comment(n))
		}
	}
	return out, err
}

func (c *client) comment(n *gl.Note) note.Comment {
	if n == nil {
		return note.Comment{}
	}
	out := note.Comment{ID: n.ID, Author: n.Author.Username, Body: n.Body}
	if c.page != "" {
		out.URL = fmt.Sprintf("%s#note_%d", c.page, n.ID)
	}
	return out
}

// Create implements note.Conversation.
func (c *client) Create(ctx context.Context, body string) (note.Comment, error) {
	body = withoutActions(body)
	made, _, err := c.gl.Notes.CreateMergeRequestNote(c.project, c.number, &gl.CreateMergeRequestNoteOptions{Body: &body},
		gl.WithContext(ctx))
	return c.comment(made), fault("writing the note", err)
}

// Edit implements note.Conversation.
func (c *client) Edit(ctx context.Context, id int64, body string) (note.Comment, error) {
	body = withoutActions(body)
	made, _, err := c.gl.Notes.UpdateMergeRequestNote(c.project, c.number, id, &gl.UpdateMergeRequestNoteOptions{Body: &body},
		gl.WithContext(ctx))
	return c.comment(made), fault("updating the note", err)
}

// Delete implements note.Conversation.
func (c *client) Delete(ctx context.Context, id int64) error {
	_, err := c.gl.Notes.DeleteMergeRequestNote(c.project, c.number, id, gl.WithContext(ctx))
	return fault("deleting a note", err)
}

// Hide implements note.Conversation.
func (*client) Hide(context.Context, note.Comment) error {
	return errors.New("GitLab cannot fold notes as outdated")
}

// TooLong implements note.Conversation.
func (*client) TooLong(err error) bool {
	e, ok := errors.AsType[*remote.Error](err)
	return ok && e.Code == http.StatusBadRequest && e.Says("too long")
}

// viewer returns the name of the account of the token.
func (c *client) viewer(ctx context.Context) (string, error) {
	u, _, err := c.gl.Users.CurrentUser(gl.WithContext(ctx))
	if err != nil || u == nil {
		return "", fault("asking for the account of the token", err)
	}
	return u.Username, nil
}

// files lists the paths that the merge request changes, including the old names of renamed ones.
func (c *client) files(ctx context.Context) ([]string, error) {
	list, err := pages("listing the changed files", func(o gl.ListOptions) ([]*gl.MergeRequestDiff, *gl.Response, error) {
		return c.gl.MergeRequests.ListMergeRequestDiffs(c.project, c.number, &gl.ListMergeRequestDiffsOptions{ListOptions: o},
			gl.WithContext(ctx))
	})
	var out []string
	for _, d := range list {
		if d != nil {
			out = append(out, d.NewPath, d.OldPath)
		}
	}
	return out, err
}

// head returns the present head of the merge request.
func (c *client) head(ctx context.Context) (string, error) {
	mr, _, err := c.gl.MergeRequests.GetMergeRequest(c.project, c.number, nil, gl.WithContext(ctx))
	if err != nil || mr == nil {
		return "", fault("reading the merge request", err)
	}
	return mr.SHA, nil
}

// withoutActions breaks quick actions: GitLab carries out a line of a note that begins with a slash and a word, with
// the rights of the token.
func withoutActions(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		bare := strings.TrimLeft(line, " \t>")
		if strings.HasPrefix(bare, "/") {
			line = line[:len(line)-len(bare)] + "\u200b" + bare
		}
		b.WriteString(line)
	}
	return b.String()
}
