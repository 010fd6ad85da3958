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

// The time that GitHub gets of a run. An interrupted program is killed 10 s after the
// signal, and has servers to stop in them.
const (
	startTime     = 30 * time.Second
	finishTime    = MaxFinish + 5*time.Second
	interruptTime = 3 * time.Second
	// Where the start could not be posted, it is posted later: after this time first, and then
	// less and less often.
	firstRetry = time.Minute
	lastRetry  = 10 * time.Minute
)

// run posts a run on its pull request.
type run struct {
	list []*Publisher
	// notice is why nothing is posted, "" if there is no need to say so.
	notice string
	// pullRequest is set in a job of one: its log gets annotations.
	pullRequest bool
	// begun is the file of what was begun, see begunFile.
	begun string
	// configuration reports whether a run failed by its configuration.
	configuration func(error) bool
	// posted takes what Finish wrote.
	posted *Posted
	// calm ends the watch for an interruption; it is false if there was one, of which
	// GitHub knows once cancelled is closed.
	calm      func() bool
	cancelled chan struct{}
	// settle ends the tries to post the start, and returns their warnings.
	settle func() []string
}

// newRun posts nothing outside of a GitHub job, and nothing of a simulated run.
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

// add posts by each of the settings.
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

// Start implements publish.Run. An interruption is posted at once: stopping the servers
// may take all the time there is.
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
	r.calm = context.AfterFunc(ctx, func() {
		defer close(r.cancelled)
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptTime)
		defer cancel()
		for _, one := range r.list {
			publish.Guard(func() []string { return one.Cancel(ended) }) // what fails is tried no more: there is no time
		}
	})
	return warnings
}

// start posts what is not posted yet of the start.
func (r *run) start(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var warnings []string
	for _, one := range r.list {
		warnings = append(warnings, publish.Guard(func() []string { return one.Start(ctx) })...)
	}
	return warnings
}

// pending reports whether the start could not be posted, and may be later.
func (r *run) pending() bool {
	return slices.ContainsFunc(r.list, (*Publisher).Pending)
}

// keepStarting goes on trying to post the start while the run measures: a fault of GitHub
// in its first second does not leave a run of hours without a check. What it returns ends
// the tries.
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

// settled ends the tries to post the start.
func (r *run) settled() []string {
	if r.settle == nil {
		return nil
	}
	settle := r.settle
	r.settle = nil
	return settle()
}

// interrupted waits until GitHub knows of an interruption, if there was one.
func (r *run) interrupted() bool {
	if r.calm == nil || r.calm() {
		return false
	}
	<-r.cancelled
	return true
}

// Finish implements publish.Run. A verdict that is there is posted even if the program is
// interrupted now, for as long as that allows.
func (r *run) Finish(ctx context.Context, doc *result.Document) []string {
	warnings := r.settled()
	if r.interrupted() {
		return nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(interruptTime, cancel) })()
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	for _, one := range r.list {
		warnings = append(warnings, publish.Guard(func() []string { return one.Fail(ctx, fmt.Sprint(err), r.configuration(err)) })...)
	}
	return warnings
}
