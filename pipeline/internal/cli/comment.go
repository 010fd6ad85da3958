package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// untrustedLimits limits a result from a pull request. It allows a fraction of what this program writes at most, and
// much more than a gate needs: 4,000 runs of some seconds.
var untrustedLimits = result.Limits{Bytes: 24 << 20, Depth: 16, String: 256 << 10, Array: 100_000, Objects: 300_000, Values: 3_000_000}

type commentFlags struct {
	post      postFlags
	results   string
	simulated bool
	dry       bool
}

// commentCommand posts a stored result. A privileged job runs it after a job without rights has measured a fork's
// pull request.
func (a *app) commentCommand() *cobra.Command {
	var f commentFlags
	cmd := &cobra.Command{
		Use:   "comment",
		Short: "Post a stored result on the pull request that it is about",
		Long: "Reads results.json under strict limits, judges its runs again, renders it itself and posts it. A result whose verdicts\n" +
			"and figures do not follow from its runs is refused. Nothing else of the folder is read, and the pull request is found\n" +
			"by the event of the job and the commit that was measured, never by the result. Where the job has more rights than\n" +
			"the one that measured, a check is neutral at most, and a status pending: the figures are those of the pull request.\n" +
			"Exit status 0 if everything was posted, 3 for an invalid result, 4 if GitHub did not accept all of it.\n" +
			"It does not report the verdict: the job that measured has done so.\n" +
			"With --dry-run it prints the comment, the check run and the status, without a job and without GitHub.",
		Args: cobra.NoArgs,
		RunE: interruptible(func(ctx context.Context, _ []string) error { return a.comment(ctx, f) }),
	}
	f.post.register(cmd)
	cmd.Flags().StringVar(&f.results, "results", "pipeline-results", "run `directory` or results.json")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "print what would be posted, and post nothing")
	cmd.Flags().BoolVar(&f.simulated, "allow-simulated", false, "post the result of a simulated run, too")
	return cmd
}

func (a *app) comment(ctx context.Context, f commentFlags) error {
	doc, err := readUntrusted(f.results)
	if err != nil {
		return exit(exitUsage, err)
	}
	if doc.Simulated != "" && !f.simulated && !f.dry {
		return exit(exitUsage,
			fmt.Errorf("%s comes from a simulated run, which shows nothing about a real server; --allow-simulated posts it anyway", f.results))
	}
	if err := a.verify(ctx, doc); err != nil {
		return exit(exitUsage,
			fmt.Errorf("%s does not follow from its own runs: it was changed after it was judged, or judged by another version than %s: %w",
				f.results, doc.Tool, err))
	}
	if f.post.comment == "" {
		f.post.comment = publish.CommentUpdate
	}
	a.redact.Value(doc)
	if f.dry {
		return a.previewComment(doc, f.post)
	}
	if err := a.publisher().Usable(); err != nil {
		return exit(exitUsage, err)
	}
	// If the job has other rights than the job that measured, whoever controls that job also controls the figures.
	has := a.change().Rights
	settings := f.post.settings(nil, a.publisher().Name())
	for i := range settings {
		settings[i].Untrusted = has != publish.RightsOfMembers && has != publish.RightsOfChange
	}
	posted := a.publisher().Post(ctx, doc, settings)
	if posted.CommentURL != "" {
		fmt.Fprintln(a.Out, posted.CommentURL)
	}
	for _, text := range slices.Concat(posted.Notes, posted.Warnings) {
		a.warn(text)
	}
	if len(posted.Warnings) > 0 {
		return exit(exitInfrastructure, nil)
	}
	return nil
}

// verifyTime limits the time for judging a result again. The largest result of this program needs much less.
const verifyTime = 2 * time.Minute

// verify judges a result again within verifyTime, because a crafted result could take days.
func (a *app) verify(ctx context.Context, doc *result.Document) error {
	ctx, cancel := context.WithTimeoutCause(ctx, verifyTime, errors.New("it takes too long to judge it again"))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- judge.Verify(doc, a.tests) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// warn prints a warning on standard error. In a GitHub job it becomes an annotation above the log.
func (a *app) warn(text string) {
	text = escape.Text(text, 1000)
	if a.Getenv("GITHUB_ACTIONS") == "true" {
		fmt.Fprintf(a.Log, "::warning::%s\n", strings.ReplaceAll(text, "%", "%25"))
		return
	}
	fmt.Fprintf(a.Err, "pipeline: warning: %s\n", text)
}

// readUntrusted reads a result that anyone may have produced. It accepts only a regular file inside the folder, so
// that symbolic links cannot lead outside.
func readUntrusted(path string) (*result.Document, error) {
	dir, name := path, store.ResultsFile
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		dir, name = filepath.Split(path)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "."))
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	info, err := root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading results: %s is not a regular file", filepath.Join(dir, name))
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	doc, err := result.Decode(io.Reader(f), untrustedLimits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return doc, nil
}
