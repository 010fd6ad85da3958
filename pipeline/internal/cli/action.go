package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// actionCommand implements action.yml. Its inputs are environment variables, so that no text from a pull request
// becomes part of a script.
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

// input returns an input of the action.
func (a *app) input(name string) string { return a.Getenv("PIPELINE_ACTION_" + name) }

// inputFlags returns flags for the inputs that are set.
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
	before, _ := store.ReadDocument(out) // usually absent
	code := a.runAs(ctx, append(args, "--", file))
	a.outputs(out, code, before)
	return exit(code, nil)
}

// freeResults returns an unused results folder for a step that names none. A job that uses the action twice thus gets
// two.
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

// actionCleanup cleans up after a killed run. It only warns about failures and never fails a job.
func (a *app) actionCleanup(ctx context.Context) error {
	for _, text := range a.publisher().Clean(ctx) {
		a.warn(text)
	}
	if code := a.runAs(ctx, []string{"cleanup"}); code != exitOK {
		a.warn(fmt.Sprintf("cleaning up ended with exit status %d", code))
	}
	return nil
}

// trusted returns an error if the job must not run untrusted code: with the rights and secrets of the default branch,
// or on a persistent machine.
func (a *app) trusted() error {
	if a.input("ALLOW_UNTRUSTED") == "true" {
		return nil
	}
	return a.change().Refused
}

// runAs runs another command of this program under the same context.
func (a *app) runAs(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	return a.exitCode(root.ExecuteContext(ctx))
}

// outputs writes the action's outputs. It ignores a result from before the run, because a refused run has no verdict.
// A failure to write only warns: the verdict alone sets the exit code.
func (a *app) outputs(dir string, code int, before *result.Document) {
	var doc *result.Document
	if dir != "" {
		if d, err := store.ReadDocument(dir); err == nil && (before == nil || !d.Ended.Equal(before.Ended)) {
			doc = d
		}
	}
	if err := writeOutputs(a.Getenv("GITHUB_OUTPUT"), outputsOf(dir, code, doc, a.publisher().Posted()), a.redact.String); err != nil {
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

// output is an output of the action.
type output struct{ name, value string }

// outputsOf lists the outputs. Without a result, its outputs are empty.
func outputsOf(dir string, code int, doc *result.Document, posted publish.Posted) []output {
	report, verdict, regressions, gates := "", "", "", ""
	if doc != nil {
		report, verdict = filepath.Join(dir, store.ReportFile), string(doc.Verdict)
		regressions, gates = strconv.Itoa(len(red(doc))), summaryJSON(doc)
	}
	return []output{
		{"exit-code", strconv.Itoa(code)}, {"results", dir}, {"report-path", report}, {"verdict", verdict}, {"regressions", regressions},
		{"summary-json", gates}, {"comment-url", posted.CommentURL}, {"check-url", posted.CheckURL},
	}
}

// maxSummary limits the gates in the output summary-json; results.json has all.
const maxSummary = 500

// summaryJSON returns the gates as one line of JSON.
func summaryJSON(doc *result.Document) string {
	type gate struct {
		Gate    string         `json:"gate"`
		Verdict result.Verdict `json:"verdict"`
		Fails   bool           `json:"fails"`
	}
	gates := []gate{}
	for i := range doc.Gates[:min(len(doc.Gates), maxSummary)] {
		g := &doc.Gates[i]
		gates = append(gates, gate{g.Addr, g.Verdict, g.On(g.Verdict) == result.Fail})
	}
	text, err := json.Marshal(gates)
	if err != nil {
		return "" // unreachable: texts always encode
	}
	return string(text)
}

// writeOutputs appends the outputs to the file that the runner names, if any. It masks secrets, because later steps
// print the outputs.
func writeOutputs(path string, values []output, mask func(string) string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, v := range values {
		// A random delimiter allows any text.
		mark := "EOF_" + rand.Text()
		if _, err := fmt.Fprintf(f, "%s<<%s\n%s\n%s\n", v.name, mark, mask(v.value), mark); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// actionRespond executes the command in the comment of the event. An unauthorized or ineffective command does not
// fail the job, because anyone can write comments.
func (a *app) actionRespond(ctx context.Context) error {
	if err := a.publisher().Usable(); err != nil {
		return exit(exitUsage, err)
	}
	did, err := a.publisher().Respond(ctx, a.input("WORKFLOW"))
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	if did.Refused != "" {
		a.warn("not carried out: " + did.Refused)
		return nil
	}
	_, err = fmt.Fprintln(a.Out, escape.Text(did.Done, 1000))
	return err
}
