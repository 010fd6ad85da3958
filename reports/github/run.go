package github

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
)

// Time limits of a run. An interrupted program is killed 10 s after the signal, and has servers to
// stop in that time.
const (
	startTime     = 30 * time.Second
	finishTime    = MaxFinish + 5*time.Second
	interruptTime = 3 * time.Second
	// A start that could not be posted is retried after firstRetry, then at growing intervals.
	firstRetry = time.Minute
	lastRetry  = 10 * time.Minute
)

// run posts a run on its pull request.
type run struct {
	list []*Publisher
	// notice is why nothing is posted, "" if that needs no message.
	notice string
	// pullRequest is set in a job of a pull request: its log gets annotations.
	pullRequest bool
	// begun is the file of what was started, see begunFile.
	begun string
	// configuration reports whether a run failed because of its configuration.
	configuration func(error) bool
	// posted receives the outcome of Finish.
	posted *Posted
	// stopInterruptWatch stops the watch for an interruption. It returns false if there was one; cancelled is
	// closed once GitHub has been told.
	stopInterruptWatch func() bool
	cancelled          chan struct{}
	// settle stops the retries of the start and returns their warnings.
	settle func() []string
}

// newRun posts nothing outside a GitHub job or for a simulated run.
func (j *job) newRun(o publish.RunOptions) *run {
	r := &run{begun: begunFile(j.Getenv), configuration: o.Configuration, posted: &j.posted}
	if len(o.Settings) == 0 || !j.Here() {
		return r
	}
	event, err := ReadEvent(j.Getenv)
	switch {
	case err != nil:
		r.notice = err.Error()
		return r
	case o.Simulated:
		r.notice = "the run is simulated; `pipeline comment --allow-simulated` posts it all the same"
		return r
	case event.Fork() && j.Change().Rights == publish.RightsOfChange:
		r.notice = "the pull request comes from a fork, whose jobs cannot write: post from a workflow_run job with `pipeline comment`"
	}
	r.pullRequest = event.PullRequest()
	if r.notice == "" {
		r.add(j, event, o.Settings)
	}
	return r
}

// add adds a publisher for each of the settings.
func (r *run) add(j *job, event Event, settings []Settings) {
	leg := j.leg()
	api, err := NewClient(j.options(event.Repo))
	if err != nil {
		r.notice = err.Error()
		return
	}
	for _, s := range settings {
		s.Leg = leg
		if !event.PullRequest() {
			s.Comment = publish.CommentNever // a push or a nightly run has no pull request
		}
		if !s.Nothing() {
			r.list = append(r.list, &Publisher{API: api, Event: event, Settings: s, Mask: j.Mask, ID: rand.Text()})
		}
	}
}

// Start implements publish.Run. It posts an interruption at once, because stopping the servers may
// take the remaining time.
func (r *run) Start(ctx context.Context) []string {
	var warnings []string
	if r.notice != "" {
		warnings = append(warnings, "nothing is posted to GitHub: "+r.notice)
	}
	for _, one := range r.list {
		noteBegun(r.begun, one.Settings, one.ID)
	}
	warnings = append(warnings, r.start(ctx)...)
	r.settle = r.keepStarting(ctx)
	r.cancelled = make(chan struct{})
	r.stopInterruptWatch = context.AfterFunc(ctx, func() {
		defer close(r.cancelled)
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptTime)
		defer cancel()
		for _, one := range r.list {
			publish.Guard(func() []string { return one.Cancel(ended) }) // no retry: there is no time
		}
	})
	return warnings
}

// start posts the parts of the start that are not posted yet.
func (r *run) start(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var warnings []string
	for _, one := range r.list {
		warnings = append(warnings, publish.Guard(func() []string { return one.Start(ctx) })...)
	}
	return warnings
}

// pending reports whether the start could not be posted and can be retried.
func (r *run) pending() bool {
	return slices.ContainsFunc(r.list, (*Publisher).Pending)
}

// keepStarting retries the start while the run measures, so that a failure of GitHub in the first
// second does not leave a run of hours without a check. The returned function stops the retries.
func (r *run) keepStarting(ctx context.Context) func() []string {
	if !r.pending() {
		return func() []string { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []string, 1)
	go func() {
		var warnings []string
		for wait := firstRetry; r.pending(); wait = min(2*wait, lastRetry) {
			select {
			case <-ctx.Done():
				done <- warnings
				return
			case <-time.After(wait):
				warnings = append(warnings, r.start(ctx)...)
			}
		}
		done <- warnings
	}()
	return func() []string {
		cancel()
		return <-done
	}
}

// settled stops the retries of the start.
func (r *run) settled() []string {
	if r.settle == nil {
		return nil
	}
	settle := r.settle
	r.settle = nil
	return settle()
}

// interrupted waits until GitHub has been told of an interruption, if there was one.
func (r *run) interrupted() bool {
	if r.stopInterruptWatch == nil || r.stopInterruptWatch() {
		return false
	}
	<-r.cancelled
	return true
}

// Finish implements publish.Run. It posts the verdict even if the program is interrupted now,
// within the time that remains.
func (r *run) Finish(ctx context.Context, doc *result.Document) []string {
	warnings := r.settled()
	if r.interrupted() {
		return nil
	}
	bounded, cancel := publish.Bounded(ctx, finishTime)
	defer cancel()
	for _, one := range r.list {
		warnings = append(warnings, publish.Guard(func() []string {
			posted := one.Finish(bounded, doc)
			*r.posted = posted
			return slices.Concat(posted.Notes, posted.Warnings)
		})...)
	}
	return warnings
}

// Abort implements publish.Run.
func (r *run) Abort(ctx context.Context, err error) []string {
	warnings := r.settled()
	if r.interrupted() {
		return nil
	}
	bounded, cancel := publish.Bounded(ctx, startTime)
	defer cancel()
	for _, one := range r.list {
		warnings = append(warnings, publish.Guard(func() []string { return one.Fail(bounded, fmt.Sprint(err), r.configuration(err)) })...)
	}
	return warnings
}
