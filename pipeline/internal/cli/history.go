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
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// defaultSeries lists the metrics that the history shows by default.
var defaultSeries = []string{"ttft.p50", "ttft.p99", "tpot.p50", "itl.p99", "e2el.p50", "output_throughput.mean"}

func (a *app) historyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "history", Short: "Report how metrics developed, and where they changed"}
	cmd.AddCommand(a.historyReport(), a.historyIssues())
	return cmd
}

// metricID returns the ID of a metric by any of its names. It does not check names of declared measures, because only
// the sessions know them.
func metricID(name string) (string, error) {
	if id := strings.TrimPrefix(name, "metric."); strings.HasPrefix(id, metric.DeclaredGroup+".") {
		return id, nil
	}
	m, ok := metric.Lookup(name)
	if like := metric.Suggest(name); !ok && like != "" {
		return "", fmt.Errorf("unknown metric %q; did you mean %s?", name, like)
	}
	if !ok {
		return "", fmt.Errorf("unknown metric %q; pipeline schema metric lists them", name)
	}
	return m.ID, nil
}

// metricIDs returns the IDs of metrics; defaultSeries for no names.
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

// valueText formats a value with its unit; times are in milliseconds.
func valueText(m metric.Metric, v float64) string {
	if m.Unit == "s" {
		return fmt.Sprintf("%.4g ms", 1000*v)
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, m.Unit))
}

// changeBy formats a change: a percentage on the log scale, else a value with its unit.
func changeBy(m metric.Metric, d float64) string {
	if m.Scale == metric.Log {
		return fmt.Sprintf("%.1f %%", 100*d)
	}
	return valueText(m, d)
}

// historyEnv names the environment variable with the location of the history, used without --history.
const historyEnv = "PIPELINE_HISTORY"

// defaultHistory is relative to the working directory.
var defaultHistory = filepath.Join(".pipeline", "history")

// historyFlag holds the location of earlier sessions.
type historyFlag struct {
	location string
	// implied is set if neither a flag nor a variable names the location.
	implied bool
}

func (f *historyFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.location, "history", "", "`location` of earlier sessions: a directory, or git:REMOTE#BRANCH ($"+historyEnv+
		", or "+defaultHistory+")")
}

// historyLocation returns the location of the history, and whether a flag or the environment names it.
func (a *app) historyLocation(f historyFlag) (location string, stated bool) {
	if location := cmp.Or(f.location, a.Getenv(historyEnv)); location != "" {
		return location, !f.implied
	}
	return defaultHistory, false
}

// withHistory opens the history while do runs.
func (a *app) withHistory(ctx context.Context, f historyFlag, do func(history.Store, *spawn.Spawner) error) error {
	// A push may need credential helpers and agents.
	also := []string{"GIT_*", "SSH_AUTH_SOCK", "SSH_ASKPASS"}
	for i := range 10 { // names of settings, which look like secrets; git fails without the first that it is told of
		also = append(also, fmt.Sprintf("GIT_CONFIG_KEY_%d", i))
	}
	sp := spawn.New(spawn.Options{Environ: a.Environ(), Policy: spawn.Policy{Also: also}})
	defer sp.Close()
	location, _ := a.historyLocation(f)
	s, err := history.Open(ctx, location, history.Options{Spawner: sp})
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	err = do(s, sp)
	return errors.Join(err, s.Close())
}

// loadHistory reads the history and warns of quarantined records.
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

// readHistory opens and reads the whole history.
func (a *app) readHistory(ctx context.Context, f historyFlag) (h *history.History, err error) {
	err = a.withHistory(ctx, f, func(s history.Store, _ *spawn.Spawner) error {
		h, err = a.loadHistory(ctx, s)
		return err
	})
	return h, err
}

// openHistory reads the history that a file is planned and judged with. It reads a named history always, and the
// default one only if it exists or a gate has a stored baseline. Otherwise it returns nil.
func (a *app) openHistory(ctx context.Context, f historyFlag, cfg *lang.Config) (*history.History, error) {
	location, stated := a.historyLocation(f)
	needed := slices.ContainsFunc(cfg.Baselines, func(b *config.Baseline) bool { return b.Kind == result.BaselineStored })
	if _, err := os.Stat(location); !stated && !needed && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return a.readHistory(ctx, f)
}

// noise returns a function that looks up the noise of a plan's cells in this machine's calibrations.
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

// launchTime returns a function that looks up, in this machine's sessions and calibrations, how long the launches for
// a plan's cells took.
func (a *app) launchTime(ctx context.Context, h *history.History, f planFlags) func(cells []string) float64 {
	real := func(r history.Record) bool { return len(r.Cells) > 0 && r.Simulated == "" }
	if h == nil || f.simulate != "" || !slices.ContainsFunc(h.Records, real) {
		return nil
	}
	sp := spawn.New(spawn.Options{Environ: a.Environ()})
	defer sp.Close()
	q := history.Query{Machine: machine.Facts(ctx, sp)}
	return func(cells []string) float64 { return h.LaunchTime(q, cells) }
}

// provenance describes the measured code according to the runner or git, and the repository's default branch.
type provenance struct {
	history.Source
	defaultBranch string
	// unmerged is the event of an unmerged change, "" otherwise.
	unmerged string
}

func (a *app) provenance(ctx context.Context, sp *spawn.Spawner) provenance {
	c := a.change()
	p := provenance{Source: history.Source{Commit: c.Commit, Branch: c.Branch, Repository: c.Repo}, defaultBranch: c.DefaultBranch}
	if c.Unmerged {
		p.unmerged = c.Event
	}
	if p.Commit == "" {
		p.Source = history.Checkout(ctx, sp, ".")
	}
	return p
}

// checkout returns the code in a folder according to git, else to the workflow; nil if neither knows.
func (a *app) checkout(ctx context.Context, dir string) *result.Source {
	sp := spawn.New(spawn.Options{Environ: a.Environ()})
	defer sp.Close()
	at := history.Checkout(ctx, sp, dir)
	c := a.change()
	at.Commit, at.Branch = cmp.Or(at.Commit, c.Commit), cmp.Or(at.Branch, c.Branch) // a job checks out a commit
	if at.Commit == "" {
		return nil
	}
	return &result.Source{Commit: at.Commit, Branch: at.Branch, Repository: c.Repo, Dirty: at.Dirty}
}

// measured returns the code that a session measured, according to its results. The current checkout may be different
// code, so it only supplies a missing branch.
func (p provenance) measured(doc *result.Document) history.Source {
	m := doc.Source
	if m == nil {
		return history.Source{Branch: p.Branch}
	}
	return history.Source{Commit: m.Commit, Branch: cmp.Or(m.Branch, p.Branch), Repository: m.Repository, Dirty: m.Dirty}
}

// keepSession adds a session from the default branch to the history of --history. It prints why a session was not
// added; this does not change how the run ends.
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
		if _, err := history.Add(ctx, s, r); !errors.Is(err, history.ErrExists) { // a run resumed after its end already exists
			return err
		}
		return nil
	})
	if err != nil {
		fmt.Fprintf(a.Err, "note: the session was not added to the history: %s\n", escape.Line(err.Error(), 400))
	}
}

// checkBranch rejects baselines from any branch other than the default one. Otherwise a pull request could change
// what judges it.
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
