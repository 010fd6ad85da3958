package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/publish"
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
		s := publish.Settings{Comment: publish.CommentUpdate, Key: name, Check: "pipeline/" + name, Report: session.ReportOptions(r)}
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
var commitName = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

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
	if a.published != nil {
		return a.published
	}
	j := publish.Job{
		Getenv: a.Getenv, Matrix: a.input("MATRIX"), Transport: a.transport, Mask: a.redact.String, Warn: a.warn,
		Note: func(text string) { fmt.Fprintln(a.Err, "note: "+text) },
	}
	for _, kind := range a.publishers {
		p := kind.open(j)
		if p.Here() {
			a.published = p
			break
		}
		if a.published == nil {
			a.published = p
		}
	}
	return a.published
}

// change returns the change according to the job's event, which it reads once.
func (a *app) change() publish.Change {
	if a.job == nil {
		c := a.publisher().Change()
		a.job = &c
	}
	return *a.job
}
