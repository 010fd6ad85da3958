package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/github"
	"github.com/spf13/cobra"
)

func (a *app) historyIssues() *cobra.Command {
	var f trendFlags
	var labels []string
	var dry bool
	cmd := &cobra.Command{
		Use: "issues", Short: "Keep a GitHub issue on the series that regressed", Args: cobra.NoArgs,
		Long: "Opens one issue for all series that have newly regressed as `history report` says, comments on it when there is news and not\n" +
			"every night, closes it when all of them recover or their level is accepted with `accept`, and opens it again when one\n" +
			"regresses again.\n" +
			"It runs in a workflow of the default branch with `permissions: issues: write`. Exit status 0 if everything was done, 4 if\n" +
			"GitHub took not all of it.",
		RunE: interruptible(func(ctx context.Context, _ []string) error { return a.issues(ctx, f, labels, dry) }),
	}
	f.register(cmd)
	cmd.Flags().StringArrayVar(&labels, "label", nil, "`label` of new issues (repeatable)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be done, and write nothing")
	return cmd
}

func (a *app) issues(ctx context.Context, f trendFlags, labels []string, dry bool) error {
	k := &github.Tracker{Labels: labels, DryRun: dry, Mask: a.redact.String}
	if err := a.connect(ctx, k); err != nil {
		return exit(exitUsage, err)
	}
	doc, err := a.trends(ctx, f)
	if err != nil {
		return err
	}
	did := k.Sync(ctx, doc)
	for _, d := range did.Done {
		what := d.Action
		if dry {
			what = "would be " + what
		}
		where := cmp.Or(d.URL, "a new issue")
		if d.URL == "" && d.Number > 0 {
			where = fmt.Sprintf("issue %d", d.Number)
		}
		fmt.Fprintf(a.Out, "%s: %s (%s)\n", what, line(d.Title), where)
	}
	if len(did.Done) == 0 && len(did.Warnings) == 0 {
		fmt.Fprintln(a.Out, "no news: all issues are as they should be")
	}
	for _, text := range did.Notes {
		fmt.Fprintf(a.Out, "note: %s\n", line(text))
	}
	for _, text := range did.Warnings {
		a.warn(text)
	}
	if len(did.Warnings) > 0 {
		return exit(exitInfrastructure, nil)
	}
	return nil
}

// connect gives a tracker its GitHub. A dry run does without where there is no token.
func (a *app) connect(ctx context.Context, k *github.Tracker) error {
	repo := a.Getenv("GITHUB_REPOSITORY")
	options := github.OptionsFromEnv(a.Getenv, repo)
	if k.DryRun && (repo == "" || options.Token == "") {
		fmt.Fprintln(a.Err, "note: without GITHUB_REPOSITORY and GITHUB_TOKEN the issues that exist are not known")
		return nil
	}
	if repo == "" {
		return errors.New("GITHUB_REPOSITORY is not set: run it in a workflow, or set it to owner/name with a GITHUB_TOKEN that may write issues")
	}
	if e, err := github.ReadEvent(a.Getenv); err == nil {
		k.Server, k.RunURL = e.ServerURL, e.RunURL()
	}
	if !k.DryRun {
		if err := a.onDefaultBranch(ctx); err != nil {
			return err
		}
	}
	api, err := github.NewClient(options)
	k.API = api
	return err
}

// onDefaultBranch refuses workflows of other branches and of pull requests, which could
// otherwise open and close issues by what they measured.
func (a *app) onDefaultBranch(ctx context.Context) error {
	if a.Getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	sp := spawn.New(spawn.Options{Environ: a.Environ()})
	defer sp.Close()
	p := a.provenance(ctx, sp)
	if p.unmerged == "" && p.Branch == p.defaultBranch {
		return nil
	}
	return fmt.Errorf("issues are written from the default branch (%s) only: this is %s", p.defaultBranch, cmp.Or(p.unmerged, "branch "+p.Branch))
}
