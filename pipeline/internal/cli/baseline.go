package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/verdict"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/spf13/cobra"
)

func (a *app) baselineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "baseline", Short: "Keep sessions that later ones are judged by",
		Long: "Keeps sessions in an append-only history, one file each, for gates with a stored baseline and for `history`.\nThe history is a directory, or a branch of a git repository that shares nothing with the code.",
	}
	cmd.AddCommand(a.baselineSave(), a.baselineList(), a.baselineShow(), a.baselineDrop(), a.baselinePin(), a.baselineUnpin())
	return cmd
}

func (a *app) baselineSave() *cobra.Command {
	var f historyFlag
	var branch, defaultBranch string
	cmd := &cobra.Command{
		Use: "save RUN", Short: "Add a run to the history, from the default branch only", Args: cobra.ExactArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error {
			doc, err := verdict.ReadDocument(args[0])
			if err != nil {
				return exit(exitUsage, err)
			}
			return a.withHistory(ctx, f, func(s history.Store, sp *spawn.Spawner) error {
				from := a.provenance(ctx, sp)
				from.defaultBranch = cmp.Or(defaultBranch, from.defaultBranch)
				if a.Getenv("GITHUB_ACTIONS") == "" {
					from.Branch = cmp.Or(branch, from.Branch)
				}
				if err := from.checkBranch(); err != nil {
					return exit(exitUsage, err)
				}
				r, err := history.FromDocument(doc, from.Source)
				if err != nil {
					return exit(exitUsage, err)
				}
				if r.Simulated != "" {
					fmt.Fprintln(a.Err, "note: the session is simulated; only simulated sessions are ever set beside it")
				}
				return a.added(history.Add(ctx, s, r))
			})
		}),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&branch, "branch", "", "`branch` that was measured, where neither a workflow nor git says")
	cmd.Flags().StringVar(&defaultBranch, "default-branch", "", "the repository's default `branch` (main, or what the workflow says)")
	return cmd
}

// added says which record was written.
func (a *app) added(name string, err error) error {
	switch {
	case errors.Is(err, history.ErrExists):
		return exit(exitUsage, err)
	case err != nil:
		return exit(exitInfrastructure, err)
	}
	_, err = fmt.Fprintf(a.Out, "added %s\n", name)
	return err
}

func (a *app) baselineList() *cobra.Command {
	var f historyFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the sessions of the history and what was said of them", Args: cobra.NoArgs,
		RunE: interruptible(func(ctx context.Context, _ []string) error {
			h, err := a.readHistory(ctx, f)
			if err != nil {
				return err
			}
			if asJSON {
				return a.writeJSON(h.Records)
			}
			return writeRecordList(a.Out, h)
		}),
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the records as JSON")
	return cmd
}

func writeRecordList(w io.Writer, h *history.History) error {
	tw := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "id\ttime\tkind\tbranch\tcommit\tcells\tof")
	for _, r := range h.Records {
		of := r.Simulated
		if r.Annotation != nil {
			of = r.Annotation.Run + ": " + r.Annotation.Reason + " (" + r.Annotation.Author + ")"
		} else if of != "" {
			of = "simulated, " + of
		}
		cells := len(r.Cells)
		if r.Kind == history.Calibration {
			cells = len(r.Noise)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", line(r.ID), r.Time.UTC().Format("2006-01-02 15:04"), r.Kind,
			line(r.Source.Branch), line(short(r.Source.Commit)), cells, line(of))
	}
	return tw.Flush()
}

// line is a foreign text in a table of a terminal.
func line(text string) string { return escape.Text(text, 200) }

func short(commit string) string { return commit[:min(12, len(commit))] }

func (a *app) baselineShow() *cobra.Command {
	var f historyFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show one session of the history", Args: cobra.ExactArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error {
			h, err := a.readHistory(ctx, f)
			if err != nil {
				return err
			}
			r, err := h.Find(args[0])
			if err != nil {
				return exit(exitUsage, err)
			}
			if asJSON {
				return a.writeJSON(r)
			}
			return writeRecord(a.Out, r)
		}),
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the record as JSON")
	return cmd
}

func writeRecord(w io.Writer, r history.Record) error {
	tw := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"session", r.ID}, {"time", r.Time.UTC().Format(time.RFC3339)}, {"file", r.File}, {"branch", r.Source.Branch},
		{"commit", r.Source.Commit}, {"simulated", r.Simulated}, {"by", r.Tool},
	} {
		if row[1] != "" {
			fmt.Fprintf(tw, "%s\t%s\n", row[0], line(row[1]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Machine)) {
		fmt.Fprintf(tw, "machine %s\t%s\n", line(key), line(r.Machine[key]))
	}
	for _, c := range r.Cells {
		fmt.Fprintf(tw, "\n%s\t%d runs, %d of %d requests failed\n", line(strings.TrimSpace(c.Benchmark+" "+c.Label)), c.Runs, c.Failed, c.Sent)
		for _, id := range slices.Sorted(maps.Keys(c.Metrics)) {
			fmt.Fprintf(tw, "  %s\t%.6g\n", line(id), c.Metrics[id])
		}
	}
	return tw.Flush()
}

func (a *app) baselineDrop() *cobra.Command {
	var f historyFlag
	var by annotationFlags
	cmd := &cobra.Command{
		Use: "drop ID", Short: "Say that a session of the history does not count", Args: cobra.ExactArgs(1),
		Long: "Adds a record that says so, with reason and author. The session itself stays, because nothing in the history is changed.",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			return a.annotateSession(ctx, f, by, history.Drop, named(args[0]), nil)
		}),
	}
	f.register(cmd)
	by.register(cmd)
	return cmd
}

// checkMerged refuses annotations from workflows of pull requests. People write them on
// their own machines, whatever branch they are on.
func (p provenance) checkMerged() error {
	if p.unmerged != "" {
		return p.checkBranch()
	}
	return nil
}

// annotate adds an annotation of a session.
func (a *app) annotate(ctx context.Context, s history.Store, kind history.Kind, w history.Annotation) error {
	now := time.Now().UTC().Truncate(time.Second)
	id, err := store.RunID(now, rand.Reader)
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	return a.added(history.Add(ctx, s, history.Record{ID: id, Kind: kind, Time: now, Tool: "pipeline " + Version(), Annotation: &w}))
}

// annotationFlags are what every annotation of a session needs.
type annotationFlags struct{ reason, author string }

func (f *annotationFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, in one `sentence`")
	cmd.Flags().StringVar(&f.author, "author", "", "`name` of who says so ($GITHUB_ACTOR or $USER unless set)")
}

func (f *annotationFlags) annotation(a *app, run string) (history.Annotation, error) {
	w := history.Annotation{Run: run, Reason: f.reason, Author: cmp.Or(f.author, a.Getenv("GITHUB_ACTOR"), a.Getenv("USER"))}
	switch {
	case strings.TrimSpace(w.Reason) == "":
		return w, errors.New("say why with --reason: it is what others read later")
	case w.Author == "":
		return w, errors.New("say who you are with --author")
	}
	return w, nil
}

func (a *app) baselinePin() *cobra.Command {
	var f historyFlag
	var by annotationFlags
	var expires string
	cmd := &cobra.Command{
		Use: "pin ID", Short: "Keep stored baselines at a session: later ones do not count", Args: cobra.ExactArgs(1),
		Long: "Adds a record that says so, with reason and author, for example before a release: what slows down little by little is then\n" +
			"judged against one fixed point. The newest pin holds, until it expires or `unpin`. Sessions go on being kept and shown.",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			until, err := expiry(expires, time.Now())
			if err != nil {
				return exit(exitUsage, err)
			}
			return a.annotateSession(ctx, f, by, history.Pin, named(args[0]), func(_ history.Record, w *history.Annotation) error {
				w.Expires = until
				return nil
			})
		}),
	}
	f.register(cmd)
	by.register(cmd)
	cmd.Flags().StringVar(&expires, "expires", "", "`date` (2026-12-31) or time from now (720h) after which the pin is off")
	return cmd
}

func (a *app) baselineUnpin() *cobra.Command {
	var f historyFlag
	var by annotationFlags
	cmd := &cobra.Command{
		Use: "unpin ID", Short: "Let the sessions after a pinned one count again", Args: cobra.ExactArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error {
			return a.annotateSession(ctx, f, by, history.Unpin, named(args[0]), nil)
		}),
	}
	f.register(cmd)
	by.register(cmd)
	return cmd
}

// named is the session of the history with an ID.
func named(id string) func(*history.History) (history.Record, error) {
	return func(h *history.History) (history.Record, error) { return h.Find(id) }
}

// annotateSession annotates a session of the history, which find picks. complete, if not nil,
// adds to the annotation.
func (a *app) annotateSession(ctx context.Context, f historyFlag, by annotationFlags, kind history.Kind,
	find func(*history.History) (history.Record, error), complete func(history.Record, *history.Annotation) error,
) error {
	return a.withHistory(ctx, f, func(s history.Store, sp *spawn.Spawner) error {
		if err := a.provenance(ctx, sp).checkMerged(); err != nil {
			return exit(exitUsage, err)
		}
		h, err := a.loadHistory(ctx, s)
		if err != nil {
			return err
		}
		r, err := find(h)
		if err != nil {
			return exit(exitUsage, err)
		}
		w, err := by.annotation(a, r.ID)
		if err != nil {
			return exit(exitUsage, err)
		}
		w.Measured = r.Time
		if complete != nil {
			if err := complete(r, &w); err != nil {
				return exit(exitUsage, err)
			}
		}
		return a.annotate(ctx, s, kind, w)
	})
}

func (a *app) acceptCommand() *cobra.Command {
	var f historyFlag
	var by annotationFlags
	var cell, metricName, expires string
	cmd := &cobra.Command{
		Use: "accept RUN|ID", Short: "Accept a change, so that the stored baseline begins anew with a run", Args: cobra.ExactArgs(1),
		Long: "Adds a record to the history: the change that this run shows is accepted, why, and by whom.\n" +
			"Sessions from before the run no longer count for stored baselines, and `history` marks the change as accepted.",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			if metricName != "" {
				if _, err := metricID(metricName); err != nil {
					return exit(exitUsage, err)
				}
			}
			measured := func(h *history.History) (history.Record, error) { return measuredRun(h, args[0]) }
			return a.annotateSession(ctx, f, by, history.Acceptance, measured, func(r history.Record, w *history.Annotation) (err error) {
				w.Metric = metricName
				if w.Cell, err = cellNamed(r, cell); err != nil {
					return err
				}
				w.Expires, err = expiry(expires, time.Now())
				return err
			})
		}),
	}
	f.register(cmd)
	by.register(cmd)
	cmd.Flags().StringVar(&cell, "cell", "", "`label` or hash of the one cell that is meant (all unless set)")
	cmd.Flags().StringVar(&metricName, "metric", "", "the one `metric` that is meant, such as ttft.p99 (all unless set)")
	cmd.Flags().StringVar(&expires, "expires", "", "`date` (2026-12-31) or time from now (720h) after which the old baseline counts again")
	return cmd
}

// measuredRun is a session of the history, or a run directory.
func measuredRun(h *history.History, arg string) (history.Record, error) {
	if _, err := os.Stat(arg); err == nil {
		doc, err := verdict.ReadDocument(arg)
		if err != nil {
			return history.Record{}, err
		}
		return history.FromDocument(doc, history.Source{})
	}
	return h.Find(arg)
}

// cellNamed is the hash of a run's cell by its label or hash; "" for no name.
func cellNamed(r history.Record, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	hash := ""
	for _, c := range r.Cells {
		if c.Hash != name && c.Label != name && c.Benchmark+" "+c.Label != name {
			continue
		}
		if hash != "" {
			return "", fmt.Errorf("several benchmarks of the run have a cell %q; write the benchmark before it", name)
		}
		hash = c.Hash
	}
	if hash == "" {
		return "", fmt.Errorf("the run has no cell %q; `pipeline baseline show` lists them", name)
	}
	return hash, nil
}

// expiry reads a date or a time from now.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		d, bad := time.ParseDuration(text)
		if bad != nil {
			return at, fmt.Errorf("--expires %q is neither a date such as 2026-12-31 nor a time such as 720h", text)
		}
		at = now.Add(d).UTC().Truncate(time.Second)
	}
	if !at.After(now) {
		return at, errors.New("--expires is in the past")
	}
	return at, nil
}
