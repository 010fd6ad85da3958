package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/trends"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/series"
	"github.com/spf13/cobra"
)

// defaultMargin is the default margin of gates.
const defaultMargin = 0.05

// trendFlags selects the part of the history to judge.
type trendFlags struct {
	history   historyFlag
	branch    string
	cell      string
	metrics   []string
	margins   []string
	simulated bool
}

func (f *trendFlags) register(cmd *cobra.Command) {
	f.history.register(cmd)
	cmd.Flags().StringVar(&f.branch, "branch", "", "only sessions of this `branch`")
	cmd.Flags().StringVar(&f.cell, "cell", "", "only the cell with this `label` or hash")
	cmd.Flags().StringArrayVar(&f.metrics, "metric", nil, "a `metric`, such as ttft.p99 (repeatable; a few common ones unless set)")
	cmd.Flags().StringArrayVar(&f.margins, "margin", nil, "smallest loss that counts: `5%`, or ttft.p99=10% for one metric (repeatable)")
	cmd.Flags().BoolVar(&f.simulated, "simulated", false, "the series of the simulator instead of the real ones")
}

// query converts the flags to a query with defaults.
func (f trendFlags) query() (trends.Query, error) {
	q := trends.Query{Branch: f.branch, Cell: f.cell, Simulated: f.simulated, Now: time.Now()}
	var err error
	if q.Metrics, err = metricIDs(f.metrics); err != nil {
		return q, err
	}
	margins := map[string]float64{"": defaultMargin}
	for _, text := range f.margins {
		id, share := "", text
		if name, rest, ok := strings.Cut(text, "="); ok {
			if id, err = metricID(name); err != nil {
				return q, fmt.Errorf("--margin %s: %w", text, err)
			}
			share = rest
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(share, "%")), 64)
		if err != nil || !strings.HasSuffix(share, "%") || !(v > 0 && v <= 1000) {
			return q, fmt.Errorf("--margin %q must be a percentage above 0, such as 5%% or ttft.p99=10%%", text)
		}
		margins[id] = v / 100
	}
	q.Margin = func(id string) float64 { return cmp.Or(margins[id], margins[""]) }
	return q, nil
}

// trends reads the history and judges its series.
func (a *app) trends(ctx context.Context, f trendFlags) (*series.History, error) {
	q, err := f.query()
	if err != nil {
		return nil, exit(exitUsage, err)
	}
	h, err := a.readHistory(ctx, f.history)
	if err != nil {
		return nil, err
	}
	if location, _ := a.historyLocation(f.history); len(h.Records) == 0 {
		fmt.Fprintf(a.Err, "note: no record at %s; pipeline baseline save RUN adds a run\n", escape.Line(location, 200))
	}
	doc, err := trends.Of(h, q)
	if err != nil {
		return nil, exit(exitInfrastructure, err)
	}
	simulated := func(r history.Record) bool { return r.Kind == history.Session && r.Simulated != "" }
	if len(doc.Trends) == 0 && !q.Simulated && slices.ContainsFunc(h.Records, simulated) {
		fmt.Fprintln(a.Err, "note: there are only simulated sessions; --simulated shows them")
	}
	return doc, nil
}

func (a *app) historyReport() *cobra.Command {
	var f trendFlags
	var out string
	var format reports.Format
	cmd := &cobra.Command{
		Use: "report", Short: "Report what regressed, since when, and where every series stands", Args: cobra.NoArgs,
		Long: "Judges each metric of each cell over the sessions of the history: regressed after a confirmed change for the worse, when each\n" +
			"of the last two sessions is outside what the others predict, by the margin or by twice the noise where that is more, or by a\n" +
			"creep of the margin: the last five sessions against the first ten of the level that was accepted. What is found has to be\n" +
			"significant after correction for all series and sessions.\n" +
			"With --out it writes history.html with trend charts, history.md, history.txt and history.json. It says nothing by its exit\n" +
			"status: what fails a night is its gates.",
		RunE: interruptible(func(ctx context.Context, _ []string) error {
			doc, err := a.trends(ctx, f)
			if err != nil {
				return err
			}
			if out == "" {
				return format.History(a.Out, doc, reports.Options{Color: a.outColor(), Width: a.OutWidth()})
			}
			return a.writeTrends(doc, out)
		}),
	}
	f.register(cmd)
	outFlag(cmd.Flags(), &out, "write all formats into this `directory`")
	formatFlag(cmd, &format, a.formats.OfHistories())
	cmd.Flags().Lookup("format").Usage += " (what is printed without --out)"
	return cmd
}

// writeTrends writes the reports into dir, each file atomically.
func (a *app) writeTrends(doc *series.History, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit(exitInfrastructure, fmt.Errorf("writing the report: %w", err))
	}
	for _, f := range a.formats.OfHistories() {
		name := "history" + f.Extension
		write := func(w io.Writer) error { return f.History(w, doc, reports.Options{}) }
		if err := store.WriteFile(filepath.Join(dir, name), a.redact, write); err != nil {
			return exit(exitInfrastructure, fmt.Errorf("writing %s: %w", name, err))
		}
	}
	_, err := fmt.Fprintf(a.Out, "wrote %s\n", dir)
	return err
}

func (a *app) historyIssues() *cobra.Command {
	var f trendFlags
	var labels []string
	var dry bool
	search := bisectFlags{confidence: defaultConfidence, launches: defaultLaunches}
	var file string
	cmd := &cobra.Command{
		Use: "issues", Short: "Keep a GitHub issue on the series that regressed", Args: cobra.NoArgs,
		Long: "Opens one issue for all series that have newly regressed as `history report` says, comments on it when there is news and not\n" +
			"every night, closes it when all of them recover or their level is accepted with `accept`, and opens it again when one\n" +
			"regresses again.\n" +
			"It runs in a workflow of the default branch with `permissions: issues: write`. Exit status 0 if everything was done, 4 if\n" +
			"GitHub took not all of it.",
		RunE: interruptible(func(ctx context.Context, _ []string) error {
			return a.issues(ctx, f, labels, dry, a.culpritFinder(ctx, f, search, file))
		}),
	}
	f.register(cmd)
	cmd.Flags().StringArrayVar(&labels, "label", nil, "`label` of new issues (repeatable)")
	cmd.Flags().StringVar(&file, "bisect", "",
		"also search for the commit of the worst regression that has no answer yet, by this pipeline `file`, and write it into the issue")
	cmd.Flags().Var(bounded{&search.launches, 4, 10_000}, "launches", "with --bisect: most `launches` to spend")
	cmd.Flags().DurationVar(&search.time, "time", 0, "with --bisect: begin no more pairs after this `time`, such as 6h")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be done, and write nothing")
	return cmd
}

func (a *app) issues(ctx context.Context, f trendFlags, labels []string, dry bool, find func(key string) (string, error)) error {
	k, err := a.publisher().Tracker(publish.TrackerOptions{Labels: labels, DryRun: dry,
		Allowed: func() error { return a.onDefaultBranch(ctx) }})
	if err != nil {
		return exit(exitUsage, err)
	}
	doc, err := a.trends(ctx, f)
	if err != nil {
		return err
	}
	did := k.Sync(ctx, doc)
	if find != nil && len(did.Warnings) == 0 {
		answer := k.Answer(ctx, doc, find)
		did.Done, did.Warnings = append(did.Done, answer.Done...), answer.Warnings
	}
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

// onDefaultBranch rejects workflows of other branches and of pull requests. Otherwise their measurements could open
// and close issues.
func (a *app) onDefaultBranch(ctx context.Context) error {
	if !a.publisher().Here() {
		return nil
	}
	sp := spawn.New(spawn.Options{Environ: a.Environ()})
	defer sp.Close()
	p := a.provenance(ctx, sp)
	if p.unmerged == "" && p.Branch == p.defaultBranch {
		return nil
	}
	return fmt.Errorf("issues are written from the default branch (%s) only: this is %s", p.defaultBranch,
		cmp.Or(p.unmerged, "branch "+p.Branch))
}
