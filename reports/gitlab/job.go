package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/publish/remote"
	"github.com/servegate/pipeline/reports/result"
)

// Limits of a note: the time to write one, and its size. GitLab accepts 1,000,000 characters; more than a reader wants
// moves to the page.
const (
	noteBudget = 90 * time.Second
	bodyBudget = 100_000
)

// job is the publisher of a process, in a GitLab job or outside.
type job struct {
	publish.Base
	publish.Job
	clock  remote.Clock
	posted publish.Posted
}

// New returns the publisher of a job: it is a publish.Kind.
func New(j publish.Job) publish.Publisher { return &job{Base: publish.Base{Service: "GitLab"}, Job: j} }

// Name implements publish.Publisher.
func (j *job) Name() string { return "gitlab" }

// Here implements publish.Publisher.
func (j *job) Here() bool { return j.Getenv("GITLAB_CI") == "true" }

// Usable implements publish.Publisher.
func (j *job) Usable() error {
	_, _, err := j.reach()
	return err
}

// Change implements publish.Publisher.
func (j *job) Change() publish.Change { return changeOf(j.Getenv) }

// Posted implements publish.Publisher.
func (j *job) Posted() publish.Posted { return j.posted }

// errNoMergeRequest reports that there is nowhere to write a note.
var errNoMergeRequest = errors.New("the pipeline is of no merge request")

// reach returns the event of the job, and a client for its merge request.
func (j *job) reach() (event, *client, error) {
	e, err := readEvent(j.Getenv)
	switch {
	case err != nil:
		return e, nil, err
	case e.number == 0:
		return e, nil, errNoMergeRequest
	case e.fork() && e.project != e.target:
		return e, nil, errors.New("the pipeline runs in the fork, which has no token of the parent project: run one there")
	}
	o := options{url: j.Getenv("CI_API_V4_URL"), token: cmp.Or(j.Getenv("PIPELINE_GITLAB_TOKEN"), j.Getenv("GITLAB_TOKEN")),
		transport: j.Transport, clock: j.clock}
	c, err := newClient(o, e)
	return e, c, err
}

// Run implements publish.Publisher. A simulated run and a pipeline of no merge request post nothing.
func (j *job) Run(o publish.RunOptions) publish.Run {
	r := &publish.AtEnd{Limit: noteBudget}
	if len(o.Settings) == 0 || !j.Here() {
		return r
	}
	e, c, err := j.reach()
	switch {
	case errors.Is(err, errNoMergeRequest):
	case o.Simulated:
		r.Notice = "nothing is posted to GitLab: the run is simulated; `pipeline comment --allow-simulated` posts it all the same"
	case err != nil:
		r.Notice = "nothing is posted to GitLab: " + err.Error()
	default:
		r.Post = func(ctx context.Context, doc *result.Document) publish.Posted {
			return j.post(ctx, e, c, doc, o.Settings)
		}
	}
	return r
}

// Post implements publish.Publisher.
func (j *job) Post(ctx context.Context, doc *result.Document, settings []publish.Settings) publish.Posted {
	e, c, err := j.reach()
	if err != nil {
		return publish.Posted{Warnings: []string{err.Error()}}
	}
	return j.post(ctx, e, c, doc, settings)
}

// post writes a note for each of the settings.
func (j *job) post(ctx context.Context, e event, c *client, doc *result.Document, settings []publish.Settings) publish.Posted {
	var all publish.Posted
	for _, s := range settings {
		// An interrupted run has seconds left and no verdict to comment on.
		if s.Comment == "" || s.Comment == publish.CommentNever || doc.Status == result.StatusInterrupted {
			continue
		}
		s.Leg = legOf(j.Getenv)
		url, err := j.note(remote.WithBudget(ctx, noteBudget), e, c, doc, s)
		all.CommentURL = cmp.Or(url, all.CommentURL)
		switch untidy, ok := errors.AsType[*note.UntidyError](err); {
		case err == nil:
		case errors.Is(err, note.ErrSuperseded):
			all.Notes = append(all.Notes, "no note: "+err.Error())
		case ok:
			all.Warnings = append(all.Warnings, j.mask("earlier notes are left as they are: "+advised(untidy.Err)))
		default:
			all.Warnings = append(all.Warnings, j.mask("the note was not written: "+advised(err)))
		}
	}
	j.posted = all
	return all
}

func (j *job) mask(text string) string {
	if j.Mask == nil {
		return text
	}
	return j.Mask(text)
}

// advised returns an error with what to do about it, if that is known.
func advised(err error) string {
	text := err.Error()
	switch {
	case remote.Refused(err, 401):
		text += "; PIPELINE_GITLAB_TOKEN is not valid (any more)"
	case remote.Refused(err, 403, 404):
		text += "; PIPELINE_GITLAB_TOKEN needs the scope api and the role Reporter in the merge request's project, and a protected variable " +
			"is only passed to protected branches"
	}
	return text
}

// projectBot matches the accounts of project and group access tokens.
var projectBot = lazyregexp.New(`^(project|group)_[0-9]+_bot`)

// note writes the note of a result and returns its address.
func (j *job) note(ctx context.Context, e event, c *client, doc *result.Document, s publish.Settings) (string, error) {
	head, _ := c.head(ctx)   // only the banner needs it
	files, _ := c.files(ctx) // only the banner needs them
	viewer, _ := c.viewer(ctx)
	body := note.Body{
		Change: "merge request", Full: "the job's artifacts", SHA: e.sha, Head: head, Base: cmp.Or(s.Base, e.base), Attempt: e.job,
		Judges: note.Judging(files, doc), Set: s,
		FileURL: e.fileURL, CommitURL: e.commitURL,
	}
	if e.jobURL != "" {
		body.Links = []string{"[Job](" + e.jobURL + ")", "[artifacts](" + e.jobURL + "/artifacts/browse)"}
	}
	p := &note.Poster{
		In: c, Clock: remote.ClockOr(j.clock), Mode: s.Comment, Budget: bodyBudget,
		Mark: note.Marker{Key: note.KeyOf(key(j.Getenv, doc, s)), Run: note.Run{ID: e.pipeline, Attempt: max(e.job, 1)}, SHA: e.sha,
			Single: s.Comment == publish.CommentNew},
		Ours: func(c note.Comment) bool {
			if viewer == "" {
				return projectBot.MatchString(c.Author)
			}
			return strings.EqualFold(c.Author, viewer)
		},
		File: j.mask(doc.File), Full: body.Full, Mine: body.Section(doc),
		Render: func(budget int) (note.Section, string, error) {
			own, banner, err := body.Render(doc, budget)
			return own.Masked(j.mask), j.mask(banner), err
		},
	}
	made, err := p.Post(ctx)
	return made.URL, err
}

// key identifies the report by its file, or by the job if the file is not trusted. It includes the configured key.
func key(getenv func(string) string, doc *result.Document, s publish.Settings) string {
	if s.Untrusted {
		return "job\x00" + legOf(getenv).Job + "\x00" + s.Key
	}
	return "file\x00" + doc.File + "\x00" + s.Key
}

// fileURL returns the page of lines of a file at the measured commit.
func (e event) fileURL(a note.Annotation) string {
	if e.sourceURL == "" {
		return ""
	}
	segments := strings.Split(a.Path, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	lines := fmt.Sprintf("L%d", a.StartLine)
	if a.EndLine > a.StartLine {
		lines += fmt.Sprintf("-%d", a.EndLine)
	}
	return fmt.Sprintf("%s/-/blob/%s/%s#%s", e.sourceURL, e.sha, strings.Join(segments, "/"), lines)
}

// commitURL returns the page of a commit, of the project of the head or of the base.
func (e event) commitURL(sha string, base bool) string {
	page := e.sourceURL
	if base {
		page = e.projectURL
	}
	if page == "" {
		return ""
	}
	return page + "/-/commit/" + sha
}
