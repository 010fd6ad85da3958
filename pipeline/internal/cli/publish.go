package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// The time that GitHub gets of a run. An interrupted program is killed 10 s after the
// signal, and has servers to stop in them.
const (
	startTime     = 30 * time.Second
	finishTime    = 5 * time.Minute
	interruptTime = 3 * time.Second
)

// postFlags say what is posted, instead of what the file's report blocks say.
type postFlags struct {
	comment string
	key     string
	check   string
	status  string
}

func (f *postFlags) register(cmd *cobra.Command) {
	var modes []string
	for _, m := range github.Modes() {
		modes = append(modes, string(m))
	}
	fl := cmd.Flags()
	fl.Var(choice{&f.comment, modes}, "comment", "comment on the pull request in this `way`: "+strings.Join(modes, ", "))
	fl.StringVar(&f.key, "comment-key", "", "`name` that tells several reports on one pull request apart")
	fl.StringVar(&f.check, "check", "", "write a check run of this `name`; none writes no check run")
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
		s := github.Settings{Comment: github.Update, Key: name, Check: "pipeline/" + name, Report: session.ReportOptions(r)}
		for option, into := range map[string]*string{"key": &s.Key, "check": &s.Check, "status": &s.Status} {
			if v, ok := r.Options[option]; ok {
				*into = v
			}
		}
		if v, ok := r.Options["comment"]; ok {
			s.Comment = github.Mode(v)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		out = append(out, github.Settings{})
	}
	for i := range out {
		f.override(&out[i])
	}
	return slices.DeleteFunc(out, github.Settings.Nothing)
}

func (f postFlags) override(s *github.Settings) {
	if f.comment != "" {
		s.Comment = github.Mode(f.comment)
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

// publishers tell the pull request of a run. They are a session.Publisher.
type publishers struct {
	list []*github.Publisher
	// notice is why nothing is posted, "" if there is no need to say so.
	notice string
	// checks is where the names of begun check runs are kept, see checksFile.
	checks string
	// posted is the last that Finish wrote.
	posted github.Posted
	// calm ends the watch for an interruption; it is false if there was one, of which
	// GitHub knows once told is closed.
	calm func() bool
	told chan struct{}
}

// publishers of a run: none outside of a GitHub job, and none for a simulated run.
func (a *app) publishers(settings []github.Settings, changed []github.GateChange, simulated bool, mask func(string) string) *publishers {
	p := &publishers{checks: a.checksFile()}
	if len(settings) == 0 || a.Getenv("GITHUB_ACTIONS") != "true" {
		return p
	}
	event, err := github.ReadEvent(a.Getenv)
	switch {
	case err != nil:
		p.notice = err.Error()
	case simulated:
		p.notice = "the run is simulated; `pipeline comment --allow-simulated` posts it all the same"
	case event.Fork() && event.Name == "pull_request":
		p.notice = "the pull request comes from a fork, whose jobs cannot write: post from a workflow_run job with `pipeline comment`"
	}
	if p.notice != "" {
		return p
	}
	for i := range settings {
		settings[i].Changed = changed
	}
	p.add(a, event, settings, mask)
	return p
}

func (p *publishers) add(a *app, event github.Event, settings []github.Settings, mask func(string) string) {
	api, err := github.NewClient(github.OptionsFromEnv(a.Getenv, event.Repo))
	if err != nil {
		p.notice = err.Error()
		return
	}
	for _, s := range settings {
		if !event.PullRequest() {
			s.Comment = github.Never // a push or a nightly run has nobody to tell
		}
		if !s.Nothing() {
			p.list = append(p.list, &github.Publisher{API: api, Event: event, Settings: s, Mask: mask})
		}
	}
}

// Start is of session.Publisher. An interruption is told of at once: stopping the servers
// may take all the time there is.
func (p *publishers) Start(ctx context.Context) []string {
	var warnings []string
	if p.notice != "" {
		warnings = append(warnings, "nothing is posted to GitHub: "+p.notice)
	}
	started, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for _, one := range p.list {
		noteCheck(p.checks, one.Settings.Check)
		warnings = append(warnings, one.Start(started)...)
	}
	p.told = make(chan struct{})
	p.calm = context.AfterFunc(ctx, func() {
		defer close(p.told)
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptTime)
		defer cancel()
		for _, one := range p.list {
			one.Cancel(ended) // what fails is tried no more: there is no time
		}
	})
	return warnings
}

// interrupted waits until GitHub knows of an interruption, if there was one.
func (p *publishers) interrupted() bool {
	if p.calm == nil || p.calm() {
		return false
	}
	<-p.told
	return true
}

// Finish is of session.Publisher. A verdict that is there is told even if the program is
// interrupted now, for as long as that allows.
func (p *publishers) Finish(ctx context.Context, doc *result.Document) []string {
	if p.interrupted() {
		return nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(interruptTime, cancel) })()
	var warnings []string
	for _, one := range p.list {
		p.posted = one.Finish(bounded, doc)
		warnings = slices.Concat(warnings, p.posted.Notes, p.posted.Warnings)
	}
	return warnings
}

// Abort is of session.Publisher.
func (p *publishers) Abort(ctx context.Context, err error) []string {
	if p.interrupted() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	var warnings []string
	for _, one := range p.list {
		warnings = append(warnings, one.Fail(ctx, fmt.Sprint(err))...)
	}
	return warnings
}
