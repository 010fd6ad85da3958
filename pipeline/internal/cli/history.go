package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// defaultSeries are the metrics that the history shows where none is named.
var defaultSeries = []string{"ttft.p50", "ttft.p99", "tpot.p50", "itl.p99", "e2el.p50", "output_throughput.mean"}

func (a *app) historyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "history", Short: "Report how metrics developed, and where they changed"}
	cmd.AddCommand(a.historyReport(), a.historyIssues())
	return cmd
}

// metricID returns the ID of a metric by any of its names. Which measures there are only the sessions know.
func metricID(name string) (string, error) {
	if id := strings.TrimPrefix(name, "metric."); strings.HasPrefix(id, metric.DeclaredGroup+".") {
		return id, nil
	}
	m, ok := metric.Lookup(name)
	if !ok {
		return "", fmt.Errorf("there is no metric %q; did you mean %s?", name, metric.Suggest(name))
	}
	return m.ID, nil
}

// metricIDs returns the IDs of metrics, those of defaultSeries for none.
func metricIDs(names []string) ([]string, error) {
	if len(names) == 0 {
		return defaultSeries, nil
	}
	ids := make([]string, len(names))
	for i, name := range names {
		var err error
		if ids[i], err = metricID(name); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// valueText is a value with its unit; times in milliseconds.
func valueText(m metric.Metric, v float64) string {
	if m.Unit == "s" {
		return fmt.Sprintf("%.4g ms", 1000*v)
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, m.Unit))
}

// changeBy is a change in the unit in which the metric's changes are given.
func changeBy(m metric.Metric, d float64) string {
	if m.Scale == metric.Log {
		return fmt.Sprintf("%.1f %%", 100*d)
	}
	return valueText(m, d)
}

// historyEnv names the history where no flag does.
const historyEnv = "PIPELINE_HISTORY"

// defaultHistory is below the working directory.
var defaultHistory = filepath.Join(".pipeline", "history")

// historyFlag says where earlier sessions are kept.
type historyFlag struct {
	location string
	// implied is set where no flag and no variable names the location.
	implied bool
}

func (f *historyFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.location, "history", "", "`location` of earlier sessions: a directory, or git:REMOTE#BRANCH ($"+historyEnv+
		", or "+defaultHistory+")")
}

// historyLocation returns where the history is, and whether a flag or the environment names it.
func (a *app) historyLocation(f historyFlag) (location string, stated bool) {
	if location := cmp.Or(f.location, a.Getenv(historyEnv)); location != "" {
		return location, !f.implied
	}
	return defaultHistory, false
}

// withHistory opens the history for as long as do runs.
func (a *app) withHistory(ctx context.Context, f historyFlag, do func(history.Store, *spawn.Spawner) error) error {
	// Credential helpers and agents are what a push may need.
	sp := spawn.New(spawn.Options{Environ: a.Environ(), Policy: spawn.Policy{Also: []string{"GIT_*", "SSH_AUTH_SOCK", "SSH_ASKPASS"}}})
	defer sp.Close()
	location, _ := a.historyLocation(f)
	s, err := history.Open(ctx, location, history.Options{Spawner: sp})
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	err = do(s, sp)
	return errors.Join(err, s.Close())
}

// loadHistory reads the history and warns of records that are quarantined.
func (a *app) loadHistory(ctx context.Context, s history.Store) (*history.History, error) {
	h, err := history.Load(ctx, s)
	if err != nil {
		return nil, exit(exitInfrastructure, err)
	}
	for _, q := range h.Quarantined {
		fmt.Fprintf(a.Err, "warning: the record %s is left out: %s\n", escape.Line(q.Name, 200), escape.Line(q.Reason, 400))
	}
	return h, nil
}

// readHistory reads the history as a whole.
func (a *app) readHistory(ctx context.Context, f historyFlag) (h *history.History, err error) {
	err = a.withHistory(ctx, f, func(s history.Store, _ *spawn.Spawner) error {
		h, err = a.loadHistory(ctx, s)
		return err
	})
	return h, err
}

// openHistory reads the history that a file's gates and plans are judged with: one that is
// named, or the one below the working directory if it exists or a gate has a stored baseline.
// nil otherwise.
func (a *app) openHistory(ctx context.Context, f historyFlag, cfg *lang.Config) (*history.History, error) {
	location, stated := a.historyLocation(f)
	needed := slices.ContainsFunc(cfg.Baselines, func(b *lang.Baseline) bool { return b.Kind == result.BaselineStored })
	if _, err := os.Stat(location); !stated && !needed && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return a.readHistory(ctx, f)
}

// noise is what the calibrations of this machine say of a plan's cells.
func (a *app) noise(ctx context.Context, h *history.History, f planFlags) func(cell, metric string) (plan.Noise, bool) {
	if h == nil || !slices.ContainsFunc(h.Records, func(r history.Record) bool { return r.Kind == history.Calibration }) {
		return nil
	}
	sp := spawn.New(spawn.Options{Environ: a.Environ()})
	defer sp.Close()
	var here map[string]string // none in virtual time
	if f.simulate != plan.SimulateVirtual {
		here = machine.Facts(ctx, sp)
	}
	return func(cell, metric string) (plan.Noise, bool) {
		n, at, ok := h.NoiseOf(history.Query{Cell: cell, Metric: metric, Machine: here, Simulated: history.Simulated(f.simulate, f.timeScale)})
		return plan.Noise{SD: n.PairSDAt, Basis: fmt.Sprintf("calibrated %s with %d pairs", at.Format("2006-01-02"), n.Pairs)}, ok
	}
}

// launchTime is how long the sessions and calibrations of this machine took to launch what
// measured a plan's cells.
func (a *app) launchTime(ctx context.Context, h *history.History, f planFlags) func(cells []string) float64 {
	if h == nil || f.simulate != "" || !slices.ContainsFunc(h.Records, func(r history.Record) bool {
		return len(r.Cells) > 0 &&
			r.Simulated == ""
	}) {
		return nil
	}
	sp := spawn.New(spawn.Options{Environ: a.Environ()})
	defer sp.Close()
	q := history.Query{Machine: machine.Facts(ctx, sp)}
	return func(cells []string) float64 {
		seconds, _ := h.LaunchTime(q, cells)
		return seconds
	}
}

// provenance is the code that was measured, as the runner or git says, and the default
// branch of its repository.
type provenance struct {
	history.Source
	defaultBranch string
	// unmerged is the event of a change that is not merged yet, "" for any other.
	unmerged string
}

func (a *app) provenance(ctx context.Context, sp *spawn.Spawner) provenance {
	c := a.change()
	p := provenance{Source: history.Source{Commit: a.Getenv("GITHUB_SHA"), Repository: c.Repo}, defaultBranch: c.DefaultBranch}
	if a.Getenv("GITHUB_REF_TYPE") == "branch" {
		p.Branch = a.Getenv("GITHUB_REF_NAME")
	}
	if c.Unmerged {
		p.unmerged = c.Event
	}
	if p.Commit == "" {
		p.Source = history.Checkout(ctx, sp, ".")
	}
	return p
}

// checkout returns the code in a folder, as git says, or else the workflow; nil where neither knows.
func (a *app) checkout(ctx context.Context, dir string) *result.Source {
	sp := spawn.New(spawn.Options{Environ: a.Environ()})
	defer sp.Close()
	at := history.Checkout(ctx, sp, dir)
	at.Commit = cmp.Or(at.Commit, a.Getenv("GITHUB_SHA"))
	if at.Branch == "" && a.Getenv("GITHUB_REF_TYPE") == "branch" { // a job checks out a commit
		at.Branch = a.Getenv("GITHUB_REF_NAME")
	}
	if at.Commit == "" {
		return nil
	}
	return &result.Source{Commit: at.Commit, Branch: at.Branch, Repository: a.change().Repo, Dirty: at.Dirty}
}

// measured returns the code that a session measured, as its results say. What is checked out now may be other code: it
// says the branch alone, where the results say none.
func (p provenance) measured(doc *result.Document) history.Source {
	m := doc.Source
	if m == nil {
		return history.Source{Branch: p.Branch}
	}
	return history.Source{Commit: m.Commit, Branch: cmp.Or(m.Branch, p.Branch), Repository: m.Repository, Dirty: m.Dirty}
}

// keepSession adds a session to the history that --history names, from the default branch. What keeps it from being
// added is told, and does not change how the run ends.
func (a *app) keepSession(ctx context.Context, f historyFlag, doc *result.Document) {
	if f.location == "" {
		return
	}
	err := a.withHistory(ctx, f, func(s history.Store, sp *spawn.Spawner) error {
		from := a.provenance(ctx, sp)
		if doc.Source != nil {
			from.Branch = doc.Source.Branch
		}
		if err := from.checkBranch(); err != nil {
			return err
		}
		r, err := history.FromDocument(doc, from.measured(doc))
		if err != nil {
			return err
		}
		if _, err := history.Add(ctx, s, r); !errors.Is(err, history.ErrExists) { // of a run that was resumed after its end
			return err
		}
		return nil
	})
	if err != nil {
		fmt.Fprintf(a.Err, "note: the session was not added to the history: %s\n", escape.Line(err.Error(), 400))
	}
}

// checkBranch refuses baselines of anything but the default branch: a pull request could
// otherwise move what it is judged by.
func (p provenance) checkBranch() error {
	switch {
	case p.unmerged != "":
		return fmt.Errorf("this is the event %s: baselines are written from the default branch only", p.unmerged)
	case p.Branch == "":
		return errors.New(
			"the branch is not known: baselines are written from a checkout of the default branch, or with --branch outside of a workflow")
	case p.Branch != p.defaultBranch:
		return fmt.Errorf("this is branch %s: baselines are written from the default branch (%s) only", p.Branch, p.defaultBranch)
	}
	return nil
}
