package github

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/result"
)

// Types of what is posted and of the outcome.
type (
	Settings  = publish.Settings
	Leg       = publish.Leg
	Posted    = publish.Posted
	Response  = publish.Response
	Tracked   = publish.Tracked
	IssueDone = publish.IssueDone
)

// New returns the publisher of a job: it is a publish.Kind.
func New(j publish.Job) publish.Publisher { return &job{Job: j} }

// job is the publisher of a process, in a GitHub job or outside.
type job struct {
	publish.Job
	// run that is published, nil for none.
	run *run
	// posted is the outcome of the last post of a verdict.
	posted Posted
}

// Name implements publish.Publisher.
func (j *job) Name() string { return "github" }

// Here implements publish.Publisher.
func (j *job) Here() bool { return j.Getenv("GITHUB_ACTIONS") == "true" }

// Usable implements publish.Publisher.
func (j *job) Usable() error {
	_, _, err := j.reach()
	return err
}

// reach returns the event of the job, and a client for its repository.
func (j *job) reach() (Event, *Client, error) {
	event, err := ReadEvent(j.Getenv)
	if err != nil {
		return event, nil, err
	}
	api, err := NewClient(j.options(event.Repo))
	return event, api, err
}

// options returns the options of a client for a repository.
func (j *job) options(repo string) Options {
	o := OptionsFromEnv(j.Getenv, repo)
	o.Transport = j.Transport
	return o
}

// Change implements publish.Publisher.
func (j *job) Change() publish.Change { return changeOf(j.Getenv) }

// Run implements publish.Publisher.
func (j *job) Run(o publish.RunOptions) publish.Run {
	j.run = j.newRun(o)
	return j.run
}

// leg returns the leg of a matrix that this job is. The environment only has the name of the job;
// action.yml passes the matrix.
func (j *job) leg() Leg {
	leg, err := note.NewLeg(j.Getenv("GITHUB_JOB"), j.Matrix)
	if err != nil {
		j.Warn("the comment does not distinguish the legs of the matrix: " + err.Error())
	}
	return leg
}

// Post implements publish.Publisher.
func (j *job) Post(ctx context.Context, doc *result.Document, settings []Settings) Posted {
	event, api, err := j.reach()
	if err != nil {
		return Posted{Warnings: []string{err.Error()}}
	}
	for _, s := range settings {
		s.Leg = j.leg()
		p := &Publisher{API: api, Event: event, Settings: s, Mask: j.Mask}
		j.posted = p.Finish(ctx, doc)
	}
	return j.posted
}

// Posted implements publish.Publisher.
func (j *job) Posted() Posted { return j.posted }

// Annotations implements publish.Publisher. GitHub shows them on the lines of the pull request even
// if no check run could be written.
func (j *job) Annotations(doc *result.Document) []string {
	if j.run == nil || !j.run.pullRequest || slices.ContainsFunc(j.run.list, func(p *Publisher) bool { return !p.CannotWrite() }) {
		return nil
	}
	return LogAnnotations(doc, reports.Options{})
}

// Respond implements publish.Publisher.
func (j *job) Respond(ctx context.Context, workflow string) (Response, error) {
	event, api, err := j.reach()
	if err != nil {
		return Response{}, err
	}
	r := &Responder{API: api, Event: event, Workflow: cmp.Or(workflow, "performance-pull-request.yml"), Mask: j.Mask}
	return r.Respond(ctx)
}

// Tracker implements publish.Publisher. A dry run without a token does not access GitHub.
func (j *job) Tracker(o publish.TrackerOptions) (publish.Tracker, error) {
	k := &Tracker{Labels: o.Labels, DryRun: o.DryRun, Mask: j.Mask}
	repo := j.Getenv("GITHUB_REPOSITORY")
	options := j.options(repo)
	if k.DryRun && (repo == "" || options.Token == "") {
		j.Note("without GITHUB_REPOSITORY and GITHUB_TOKEN the issues that exist are not known")
		return k, nil
	}
	if repo == "" {
		return nil, errors.New(
			"GITHUB_REPOSITORY is not set: run it in a workflow, or set it to owner/name with a GITHUB_TOKEN that may write issues")
	}
	if e, err := ReadEvent(j.Getenv); err == nil {
		k.Server, k.RunURL = e.ServerURL, e.RunURL()
	}
	if !k.DryRun {
		if err := o.Allowed(); err != nil {
			return nil, err
		}
	}
	api, err := NewClient(options)
	k.API = api
	return k, err
}
