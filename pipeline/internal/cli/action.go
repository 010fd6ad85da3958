package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/verdict"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// actionCommand is what action.yml starts. Its inputs come as environment variables, so
// that nothing a pull request can write is ever part of a script.
func (a *app) actionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "action", Short: "Run as a GitHub Action: inputs from PIPELINE_ACTION_*", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch command := a.input("COMMAND"); command {
			case "", "run":
				return a.actionRun(cmd.Context())
			case "comment":
				return a.actionComment(cmd.Context())
			case "respond":
				return a.actionRespond(cmd.Context())
			case "cleanup":
				return a.actionCleanup(cmd.Context())
			default:
				return exit(exitUsage, fmt.Errorf("the input command is %q; it is run or comment, or respond in a workflow on issue_comment", command))
			}
		},
	}
}

// input of the action.
func (a *app) input(name string) string { return a.Getenv("PIPELINE_ACTION_" + name) }

// flags turns inputs that are set into flags.
func (a *app) inputFlags(names ...string) []string {
	var out []string
	for _, name := range names {
		if v := a.input(strings.ToUpper(strings.ReplaceAll(name, "-", "_"))); v != "" {
			out = append(out, "--"+name+"="+v)
		}
	}
	return out
}

var postInputs = []string{"comment", "comment-key", "check", "status", "base-commit"}

func (a *app) actionRun(ctx context.Context) error {
	file := a.input("FILE")
	if file == "" {
		return exit(exitUsage, errors.New("the input file is empty"))
	}
	if err := a.trusted(); err != nil {
		return exit(exitUsage, err)
	}
	args := append([]string{"run", "--progress", "plain"}, a.inputFlags(append(postInputs, "fail-on", "base-file", "gate-source")...)...)
	out := cmp.Or(a.input("RESULTS"), freeResults())
	args = append(args, "--out", out)
	for _, v := range lines(a.input("VARS")) {
		args = append(args, "--var", v)
	}
	args = append(args, lines(a.input("ARGS"))...)
	before, _ := verdict.ReadDocument(out) // mostly there is none
	code := a.runAs(ctx, append(args, "--", file))
	a.outputs(out, code, before)
	return exit(code, nil)
}

// freeResults is the folder for the results of a step that names none: a job that uses the
// action twice has two.
func freeResults() string {
	const name = "pipeline-results"
	for n := 1; ; n++ {
		dir := name
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", name, n)
		}
		if entries, err := os.ReadDir(dir); len(entries) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist)) || n == maxAttempts {
			return dir
		}
	}
}

func (a *app) actionComment(ctx context.Context) error {
	args := append([]string{"comment"}, a.inputFlags(append(postInputs, "results")...)...)
	code := a.runAs(ctx, append(args, lines(a.input("ARGS"))...))
	a.outputs("", code, nil)
	return exit(code, nil)
}

// actionCleanup does what a run that was killed could not do any more. It is tidying: it
// never fails a job.
func (a *app) actionCleanup(ctx context.Context) error {
	a.abandon(ctx)
	if code := a.runAs(ctx, []string{"cleanup"}); code != exitOK {
		a.warn(fmt.Sprintf("cleaning up ended with exit status %d", code))
	}
	return nil
}

// trusted refuses to run untrusted code where it could take something with it: with
// the rights and secrets of the default branch, or on a machine that lives on.
func (a *app) trusted() error {
	if a.input("ALLOW_UNTRUSTED") == "true" {
		return nil
	}
	return a.change().refusal(a.Getenv("RUNNER_ENVIRONMENT"))
}

// runAs runs another command of this program under the same context.
func (a *app) runAs(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	return a.exitCode(root.ExecuteContext(ctx))
}

// outputs writes the action's outputs. A result that was there before is not this run's:
// a run that was refused has no verdict. Outputs are best effort: the verdict alone sets
// the exit code.
func (a *app) outputs(dir string, code int, before *result.Document) {
	var doc *result.Document
	if dir != "" {
		if d, err := verdict.ReadDocument(dir); err == nil && (before == nil || !d.Ended.Equal(before.Ended)) {
			doc = d
		}
	}
	if err := writeOutputs(a.Getenv("GITHUB_OUTPUT"), outputsOf(dir, code, doc, a.posted), a.redact.String); err != nil {
		a.warn("outputs were not written: " + err.Error())
	}
}

func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
