package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/steps"
	"github.com/spf13/cobra"
)

// postFlags overrides what the file's report blocks post.
type postFlags struct {
	comment publish.CommentMode
	key     string
	check   string
	status  string
	// base is the commit that the head is measured against.
	base string
	// command repeats the run, "" if unknown; it has no flag.
	command string
}

func (f *postFlags) register(cmd *cobra.Command) {
	enumFlag(cmd, &f.comment, "comment", "", words(publish.CommentModes()...), "comment on the pull request in this `way`")
	fl := cmd.Flags()
	fl.StringVar(&f.key, "comment-key", "", "`name` that distinguishes several reports on one pull request")
	fl.StringVar(&f.check, "check", "", "write a check run of this `name`; none writes no check run")
	fl.StringVar(&f.base, "base-commit", "",
		"`commit` that the head is measured against, such as the merge base, for the comment (the tip of the base branch unless set)")
	fl.StringVar(&f.status, "status", "", "write a commit status of this `context`; none writes no status")
}

// settings returns the settings of each post: one per block of the kind with overrides from the flags, or one from
// the flags alone.
func (f postFlags) settings(blocks []*config.Report, kind string) []publish.Settings {
	var out []publish.Settings
	for _, r := range blocks {
		if r.Kind != kind {
			continue
		}
		name := strings.TrimPrefix(r.Addr, "report."+kind+".")
		s := publish.Settings{Comment: publish.CommentUpdate, Key: name, Check: "pipeline/" + name, Report: session.ReportOptions(r),
			Options: r.Options}
		for option, into := range map[string]*string{"key": &s.Key, "check": &s.Check, "status": &s.Status} {
			if v, ok := r.Options[option]; ok {
				*into = v
			}
		}
		if v, ok := r.Options["comment"]; ok {
			s.Comment = publish.CommentMode(v)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		out = append(out, publish.Settings{})
	}
	for i := range out {
		f.override(&out[i])
		out[i].Command = f.command
		if commitName.MatchString(f.base) {
			out[i].Base = f.base
		}
	}
	return slices.DeleteFunc(out, publish.Settings.Nothing)
}

// commitName matches a commit hash; other text is not shown as a commit.
var commitName = lazyregexp.New(`^[0-9a-f]{7,64}$`)

func (f postFlags) override(s *publish.Settings) {
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

// publisher returns the publisher of the job in which this program runs, else the first of the table, which reports
// why it cannot be used.
func (a *app) publisher() publish.Publisher {
	if a.here != nil {
		return a.here
	}
	for _, kind := range a.publishers {
		p := kind.open(a.publishing())
		if p.Here() && !kind.beside {
			a.here = p
			break
		}
		if a.here == nil {
			a.here = p
		}
	}
	return a.here
}

// publishing describes the job to a publisher.
func (a *app) publishing() publish.Job {
	run := a.exec
	if a.runProgram != nil {
		run = a.runProgram
	}
	return publish.Job{
		Getenv: a.Getenv, Matrix: a.input("MATRIX"), Transport: a.transport, Exec: run, Mask: a.redact.String, Warn: a.warn,
		Note: func(text string) { fmt.Fprintln(a.Err, "note: "+text) },
	}
}

// exec runs a program of the job's service to its end.
func (a *app) exec(ctx context.Context, p publish.Program) (string, error) {
	sp := spawn.New(spawn.Options{Environ: a.Environ(), Policy: spawn.Policy{Also: p.Inherit}})
	defer sp.Close()
	stdout, stderr, err := steps.Output(ctx, sp, steps.Command{Argv: p.Argv, Stdin: strings.NewReader(p.Stdin)})
	if err != nil {
		return stdout, fmt.Errorf("%s: %w: %s", p.Argv[0], err, escape.Line(cmp.Or(stderr, "no message"), 300))
	}
	return stdout, nil
}

// published returns the publisher of a run: the service of the job, and the others that the file names. about completes
// the settings of each.
func (a *app) published(f runFlags, blocks []*config.Report, about func(*publish.Settings)) publish.Run {
	run := func(p publish.Publisher, settings []publish.Settings) publish.Run {
		for i := range settings {
			about(&settings[i])
		}
		return p.Run(publish.RunOptions{Settings: settings, Simulated: f.plan.simulate != "", Configuration: byConfiguration})
	}
	out := publish.Runs{run(a.publisher(), f.post.settings(blocks, a.publisher().Name()))}
	for _, kind := range a.publishers {
		if settings := (postFlags{command: f.post.command}).settings(blocks, kind.report.Name); kind.beside && len(settings) > 0 {
			out = append(out, run(kind.open(a.publishing()), settings))
		}
	}
	return out
}

// change returns the change according to the job's event, which it reads once.
func (a *app) change() publish.Change {
	if a.job == nil {
		c := a.publisher().Change()
		a.job = &c
	}
	return *a.job
}
