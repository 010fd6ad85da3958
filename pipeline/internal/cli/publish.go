package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/mode"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// The time that GitHub gets of a run. An interrupted program is killed 10 s after the
// signal, and has servers to stop in them.
const (
	startTime     = 30 * time.Second
	finishTime    = github.MaxFinish + 5*time.Second
	interruptTime = 3 * time.Second
	// Where the start could not be posted, it is posted later: after this time first, and then
	// less and less often.
	firstRetry = time.Minute
	lastRetry  = 10 * time.Minute
)

// postFlags say what is posted, instead of what the file's report blocks say.
type postFlags struct {
	comment mode.Comment
	key     string
	check   string
	status  string
	// base is the commit that the head is measured against.
	base string
	// command repeats the run, "" if it is not known; no flag.
	command string
}

func (f *postFlags) register(cmd *cobra.Command) {
	enumFlag(cmd, &f.comment, "comment", "", words(mode.All()...), "comment on the pull request in this `way`")
	fl := cmd.Flags()
	fl.StringVar(&f.key, "comment-key", "", "`name` that distinguishes several reports on one pull request")
	fl.StringVar(&f.check, "check", "", "write a check run of this `name`; none writes no check run")
	fl.StringVar(&f.base, "base-commit", "", "`commit` that the head is measured against, such as the merge base, for the comment (the tip of the base branch unless set)")
	fl.StringVar(&f.status, "status", "", "write a commit status of this `context`; none writes no status")
}

// settings are what is posted: what each github block of the file says, less what the
// flags say otherwise, or what the flags say alone.
func (f postFlags) settings(blocks []*lang.Report) []github.Settings {
	var out []github.Settings
	for _, r := range blocks {
		if r.Kind != "github" {
			continue
		}
		name := strings.TrimPrefix(r.Addr, "report.github.")
		s := github.Settings{Comment: mode.Update, Key: name, Check: "pipeline/" + name, Report: session.ReportOptions(r)}
		for option, into := range map[string]*string{"key": &s.Key, "check": &s.Check, "status": &s.Status} {
			if v, ok := r.Options[option]; ok {
				*into = v
			}
		}
		if v, ok := r.Options["comment"]; ok {
			s.Comment = mode.Comment(v)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		out = append(out, github.Settings{})
	}
	for i := range out {
		f.override(&out[i])
		out[i].Command = f.command
		if commitName.MatchString(f.base) {
			out[i].Base = f.base
		}
	}
	return slices.DeleteFunc(out, github.Settings.Nothing)
}

// commitName is what a commit may look like; anything else is not shown as one.
var commitName = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

func (f postFlags) override(s *github.Settings) {
	if f.comment != "" {
		s.Comment = f.comment
	}
	if f.key != "" {
		s.Key = strings.TrimPrefix(s.Key+"/"+f.key, "/")
	}
	for given, into := range map[*string]*string{&f.check: &s.Check, &f.status: &s.Status} {
		switch *given {
		case "":
		case "none":
			*into = ""
		default:
			*into = *given
		}
	}
}

// publishers post a run on its pull request. They are a session.Publisher.
type publishers struct {
	list []*github.Publisher
	// notice is why nothing is posted, "" if there is no need to say so.
	notice string
	// event of the job whose log gets annotations, nil for none.
	event *github.Event
	// begun is where is kept what was begun, see begunFile.
	begun string
	// posted is the last that Finish wrote.
	posted github.Posted
	// calm ends the watch for an interruption; it is false if there was one, of which
	// GitHub knows once cancelled is closed.
	calm      func() bool
	cancelled chan struct{}
	// settle ends the tries to post the start, and returns their warnings.
	settle func() []string
}

// publishers of a run: none outside of a GitHub job, and none for a simulated run.
func (a *app) publishers(settings []github.Settings, changed []github.GateChange, simulated bool, mask func(string) string) *publishers {
	p := &publishers{begun: a.begunFile()}
	if len(settings) == 0 || a.Getenv("GITHUB_ACTIONS") != "true" {
		return p
	}
	event, err := github.ReadEvent(a.Getenv)
	switch {
	case err != nil:
		p.notice = err.Error()
		return p
	case simulated:
		p.notice = "the run is simulated; `pipeline comment --allow-simulated` posts it all the same"
		return p
	case event.Fork() && a.change().rights == rightsOfChange:
		p.notice = "the pull request comes from a fork, whose jobs cannot write: post from a workflow_run job with `pipeline comment`"
	}
	if event.PullRequest() {
		p.event = &event
	}
	if p.notice != "" {
		return p
	}
	leg := a.leg()
	for i := range settings {
		settings[i].Changed, settings[i].Leg = changed, leg
	}
	p.add(a, event, settings, mask)
	return p
}

// leg is the leg of a matrix that this job is. A program only knows the name of
// the job; action.yml hands the matrix on.
func (a *app) leg() github.Leg {
	leg, err := github.NewLeg(a.Getenv("GITHUB_JOB"), a.input("MATRIX"))
	if err != nil {
		a.warn("the comment does not distinguish the legs of the matrix: " + err.Error())
	}
	return leg
}

// annotate prints the gates that did not pass as annotations into the log of a job that has
// written no check run: GitHub shows them on the lines of the pull request all the same.
func (p *publishers) annotate(a *app, doc *result.Document) {
	written := slices.ContainsFunc(p.list, func(one *github.Publisher) bool { return !one.CannotWrite() })
	if p.event == nil || written {
		return
	}
	for _, line := range github.LogAnnotations(doc, reports.Options{}) {
		fmt.Fprintln(a.Log, line)
	}
}

// githubOptions returns how GitHub is reached about a repository.
func (a *app) githubOptions(repo string) github.Options {
	o := github.OptionsFromEnv(a.Getenv, repo)
	o.Transport = a.transport
	return o
}

func (p *publishers) add(a *app, event github.Event, settings []github.Settings, mask func(string) string) {
	api, err := github.NewClient(a.githubOptions(event.Repo))
	if err != nil {
		p.notice = err.Error()
		return
	}
	for _, s := range settings {
		if !event.PullRequest() {
			s.Comment = mode.Never // a push or a nightly run has no pull request
		}
		if !s.Nothing() {
			p.list = append(p.list, &github.Publisher{API: api, Event: event, Settings: s, Mask: mask, ID: rand.Text()})
		}
	}
}

// Start is of session.Publisher. An interruption is posted at once: stopping the servers
// may take all the time there is.
func (p *publishers) Start(ctx context.Context) []string {
	var warnings []string
	if p.notice != "" {
		warnings = append(warnings, "nothing is posted to GitHub: "+p.notice)
	}
	for _, one := range p.list {
		noteBegun(p.begun, one.Settings, one.ID)
	}
	warnings = append(warnings, p.start(ctx)...)
	p.settle = p.keepStarting(ctx)
	p.cancelled = make(chan struct{})
	p.calm = context.AfterFunc(ctx, func() {
		defer close(p.cancelled)
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptTime)
		defer cancel()
		for _, one := range p.list {
			session.Guard(func() []string { return one.Cancel(ended) }) // what fails is tried no more: there is no time
		}
	})
	return warnings
}

// start posts what is not posted yet of the start.
func (p *publishers) start(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var warnings []string
	for _, one := range p.list {
		warnings = append(warnings, session.Guard(func() []string { return one.Start(ctx) })...)
	}
	return warnings
}

// pending reports whether the start could not be posted, and may be later.
func (p *publishers) pending() bool {
	return slices.ContainsFunc(p.list, (*github.Publisher).Pending)
}

// keepStarting goes on trying to post the start while the run measures: a fault of GitHub
// in its first second does not leave a run of hours without a check. What it returns ends
// the tries.
func (p *publishers) keepStarting(ctx context.Context) func() []string {
	if !p.pending() {
		return func() []string { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []string, 1)
	go func() {
		var warnings []string
		for wait := firstRetry; p.pending(); wait = min(2*wait, lastRetry) {
			select {
			case <-ctx.Done():
				done <- warnings
				return
			case <-time.After(wait):
				warnings = append(warnings, p.start(ctx)...)
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
func (p *publishers) settled() []string {
	if p.settle == nil {
		return nil
	}
	settle := p.settle
	p.settle = nil
	return settle()
}

// interrupted waits until GitHub knows of an interruption, if there was one.
func (p *publishers) interrupted() bool {
	if p.calm == nil || p.calm() {
		return false
	}
	<-p.cancelled
	return true
}

// Finish is of session.Publisher. A verdict that is there is posted even if the program is
// interrupted now, for as long as that allows.
func (p *publishers) Finish(ctx context.Context, doc *result.Document) []string {
	warnings := p.settled()
	if p.interrupted() {
		return nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(interruptTime, cancel) })()
	for _, one := range p.list {
		warnings = append(warnings, session.Guard(func() []string {
			p.posted = one.Finish(bounded, doc)
			return slices.Concat(p.posted.Notes, p.posted.Warnings)
		})...)
	}
	return warnings
}

// Abort is of session.Publisher.
func (p *publishers) Abort(ctx context.Context, err error) []string {
	warnings := p.settled()
	if p.interrupted() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	for _, one := range p.list {
		configuration := misused(err) || len(configErrors(err)) > 0
		warnings = append(warnings, session.Guard(func() []string { return one.Fail(ctx, fmt.Sprint(err), configuration) })...)
	}
	return warnings
}
