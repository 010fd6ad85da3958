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
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

func (a *app) baselineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "baseline", Short: "Keep sessions that later ones are judged by",
		Long: "Keeps sessions in an append-only history, one file each, for gates with a stored baseline and for `history`.\nThe history is a " +
			"directory, or a branch of a git repository that shares nothing with the code.",
	}
	cmd.AddCommand(a.baselineSave(), a.baselineList(), a.baselineShow(),
		a.annotationCommand(annotation{
			use: "drop ID", short: "Say that a session of the history does not count", kind: history.Drop,
			long: "Adds a record that says so, with reason and author. The session itself stays, because nothing in the history is changed.",
		}),
		a.annotationCommand(annotation{
			use: "pin ID", short: "Keep stored baselines at a session: later ones do not count", kind: history.Pin, expires: "the pin is off",
			long: "Adds a record that says so, with reason and author, for example before a release: what slows down little by little is then\n" +
				"judged against one fixed point. The newest pin holds, until it expires or `unpin`. Sessions go on being kept and shown.",
		}),
		a.annotationCommand(annotation{use: "unpin ID", short: "Let the sessions after a pinned one count again", kind: history.Unpin}))
	return cmd
}

func (a *app) baselineSave() *cobra.Command {
	var f historyFlag
	var branch, defaultBranch string
	cmd := &cobra.Command{
		Use: "save RUN", Short: "Add a run to the history, from the default branch only", Args: cobra.ExactArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error {
			if err := noPipelineFiles("baseline save", args); err != nil {
				return err
			}
			doc, err := store.ReadDocument(args[0])
			if err != nil {
				return exit(exitUsage, err)
			}
			return a.withHistory(ctx, f, func(s history.Store, sp *spawn.Spawner) error {
				from := a.provenance(ctx, sp)
				from.defaultBranch = cmp.Or(defaultBranch, from.defaultBranch)
				if !a.publisher().Here() {
					from.Branch = cmp.Or(branch, from.Branch)
				}
				r, err := from.record(doc)
				if err != nil {
					return exit(exitUsage, err)
				}
				a.noteSource(r)
				return a.added(history.Add(ctx, s, r))
			})
		}),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&branch, "branch", "", "`branch` that was measured, where neither a workflow nor git says")
	cmd.Flags().StringVar(&defaultBranch, "default-branch", "", "the repository's default `branch` (main, or what the workflow says)")
	return cmd
}

// record returns the record of a session, which must be measured and saved on the default branch.
func (p provenance) record(doc *result.Document) (history.Record, error) {
	if err := p.checkBranch(); err != nil {
		return history.Record{}, err
	}
	p.Source = p.measured(doc)
	if err := p.checkBranch(); err != nil {
		return history.Record{}, fmt.Errorf("the session was measured elsewhere: %w", err)
	}
	return history.FromDocument(doc, p.Source)
}

// noteSource tells which later sessions a record cannot help, and why.
func (a *app) noteSource(r history.Record) {
	switch {
	case r.Source.Commit == "":
		fmt.Fprintln(a.Err, "note: the results hold no commit, so the history does not say which code they are of")
	case r.Source.Dirty:
		fmt.Fprintln(a.Err, "note: the checkout had changes when it was measured, so the session is of no commit")
	}
	if r.Simulated != "" {
		fmt.Fprintln(a.Err, "note: the session is simulated; only simulated sessions are ever set beside it")
	}
}

// added prints the name of the added record, or converts the error to an exit status.
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
				return a.writeJSON(append([]history.Record{}, h.Records...)) // a list, also if it is empty
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

// line escapes foreign text for a table on a terminal.
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

// annotation is a command that annotates a session in a separate record.
type annotation struct {
	use, short, long string
	kind             history.Kind
	// expires describes the effect of --expires, "" for a command without the flag.
	expires string
	// find returns the session for the argument; nil finds it by ID.
	find func(*history.History, string) (history.Record, error)
	// flags, if not nil, adds flags and returns a function that copies their values into the annotation.
	flags func(*cobra.Command) func(history.Record, *history.Annotation) error
}

// annotationFlags holds the flags of every command that annotates.
type annotationFlags struct {
	history                 historyFlag
	reason, author, expires string
	// complete copies the flags of one command; nil if it has none.
	complete func(history.Record, *history.Annotation) error
}

func (a *app) annotationCommand(n annotation) *cobra.Command {
	var f annotationFlags
	cmd := &cobra.Command{
		Use: n.use, Short: n.short, Long: n.long, Args: cobra.ExactArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error {
			return a.withHistory(ctx, f.history, func(s history.Store, sp *spawn.Spawner) error { return a.annotate(ctx, s, sp, n, f, args[0]) })
		}),
	}
	f.history.register(cmd)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, in one `sentence`")
	cmd.Flags().StringVar(&f.author, "author", "", "`name` of who says so (who started the job, or $USER, unless set)")
	if n.expires != "" {
		cmd.Flags().StringVar(&f.expires, "expires", "", "`date` (2026-12-31) or time from now (720h) after which "+n.expires)
	}
	if n.flags != nil {
		f.complete = n.flags(cmd)
	}
	return cmd
}

// annotate adds a record that annotates a session of the history.
func (a *app) annotate(ctx context.Context, s history.Store, sp *spawn.Spawner, n annotation, f annotationFlags, id string) error {
	// People annotate from their own machines, on any branch.
	if p := a.provenance(ctx, sp); p.unmerged != "" {
		return exit(exitUsage, p.checkBranch())
	}
	h, err := a.loadHistory(ctx, s)
	if err != nil {
		return err
	}
	find := n.find
	if find == nil {
		find = (*history.History).Find
	}
	r, err := find(h, id)
	if err != nil {
		return exit(exitUsage, err)
	}
	now := time.Now()
	w, err := f.annotation(r, cmp.Or(a.change().Actor, a.Getenv("USER")), now)
	if err != nil {
		return exit(exitUsage, err)
	}
	now = now.UTC().Truncate(time.Second)
	if id, err = store.RunID(now, rand.Reader); err != nil {
		return exit(exitInfrastructure, err)
	}
	return a.added(history.Add(ctx, s, history.Record{ID: id, Kind: n.kind, Time: now, Tool: "pipeline " + Version(), Annotation: &w}))
}

// annotation returns what the flags say of a session. user is the author unless a flag names one.
func (f annotationFlags) annotation(r history.Record, user string, now time.Time) (history.Annotation, error) {
	w := history.Annotation{Run: r.ID, Reason: f.reason, Author: cmp.Or(f.author, user), Measured: r.Time}
	switch {
	case strings.TrimSpace(w.Reason) == "":
		return w, errors.New("say why with --reason: it is what others read later")
	case w.Author == "":
		return w, errors.New("say who you are with --author")
	}
	var err error
	if w.Expires, err = expiry(f.expires, now); err == nil && f.complete != nil {
		err = f.complete(r, &w)
	}
	return w, err
}

func (a *app) acceptCommand() *cobra.Command {
	return a.annotationCommand(annotation{
		use: "accept RUN|ID", short: "Accept a change: the stored baseline begins anew with a run", kind: history.Acceptance,
		long: "Adds a record to the history: the change that this run shows is accepted, why, and by whom.\n" +
			"Sessions from before the run no longer count for stored baselines, and `history` marks the change as accepted.",
		expires: "the old baseline counts again", find: measuredRun,
		flags: func(cmd *cobra.Command) func(history.Record, *history.Annotation) error {
			cell := cmd.Flags().String("cell", "", "`label` or hash of the one cell that is meant (all unless set)")
			name := cmd.Flags().String("metric", "", "the one `metric` that is meant, such as ttft.p99 (all unless set)")
			return func(r history.Record, w *history.Annotation) (err error) {
				if w.Metric = *name; w.Metric != "" {
					if _, err := metricID(w.Metric); err != nil {
						return err
					}
				}
				w.Cell, err = cellNamed(r, *cell)
				return err
			}
		},
	})
}

// measuredRun returns a session of the history, or of a run directory if arg is one.
func measuredRun(h *history.History, arg string) (history.Record, error) {
	if _, err := os.Stat(arg); err == nil {
		doc, err := store.ReadDocument(arg)
		if err != nil {
			return history.Record{}, err
		}
		return history.FromDocument(doc, history.Source{})
	}
	return h.Find(arg)
}

// cellNamed returns the hash of the run's cell with the given label or hash; "" for an empty name.
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

// expiry parses a date or a duration from now.
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
