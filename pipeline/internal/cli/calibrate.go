package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/servegate/pipeline/pipeline/internal/calibrate"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

const (
	defaultPairs = 10
	maxPairs     = 200
	// minPasses is enough to separate the variation between launches from the variation within them.
	minPasses = 2
	maxPasses = 100
)

type calibrateFlags struct {
	run           runFlags
	pairs, passes int
	save          string
}

func (a *app) calibrateCommand() *cobra.Command {
	f := calibrateFlags{pairs: defaultPairs}
	cmd := &cobra.Command{
		Use: "calibrate [FILE|DIR]...", Short: "Measure the noise of a pipeline's base side against itself",
		Long: "Launches the base side of the paired gates in pairs, with the same prompts and arrivals on both sides, and reports the noise\n" +
			"of each metric and how much of it is between launches, between the passes of a launch, and of the finite number of requests;\n" +
			"the false alarms of the file's gates; and how many repeats and passes, which margin and how many requests would do.\n" +
			"The noise is added to the history, from where `plan` and `run` on such a machine take it. It decides comparisons of files\n" +
			"with a variance block alone, and never by itself: what today's pairs show has a part in each.",
		RunE: interruptible(func(ctx context.Context, args []string) error { return a.calibrate(ctx, f, args) }),
	}
	f.run.config.register(cmd)
	f.run.plan.register(cmd)
	f.run.history.register(cmd)
	cmd.Flags().Var(bounded{&f.pairs, 2, maxPairs}, "pairs", "`number` of pairs of launches")
	cmd.Flags().Var(bounded{&f.passes, 1, maxPasses}, "passes",
		"`number` of passes of every cell in each launch (the file's, and 2 at least, unless set)")
	outFlag(cmd.Flags(), &f.run.out, "run directory (a new one below .pipeline/runs unless set)")
	cmd.Flags().StringVar(&f.save, "save", "", "write what was found to this `file`, too, for a variance block")
	cmd.Flags().BoolVar(&f.run.json, "json", false, "print the findings as JSON")
	progressFlag(cmd, &f.run.progress)
	return cmd
}

func (a *app) calibrate(ctx context.Context, f calibrateFlags, paths []string) error {
	cfg, err := a.load(f.run.config, paths)
	if err != nil {
		return err
	}
	f.run.plan.ignoreNoise = true // the calibration measures it
	f.run.plan.allowIdentical = true
	p, err := a.plan(cfg, f.run.plan, paths)
	if err != nil {
		return err
	}
	aa, err := calibrate.Plan(p, f.pairs, func(own int) int { return cmp.Or(f.passes, max(own, minPasses)) })
	if err != nil {
		return exit(exitUsage, err)
	}
	doc, err := a.measure(ctx, f.run, cfg, aa, nil)
	if err != nil {
		return err
	}
	if doc.Status != result.StatusComplete {
		return exit(max(doc.ExitCode, exitInfrastructure), fmt.Errorf("nothing was calibrated: %s", doc.StatusReason))
	}
	found, err := calibrate.Analyse(p, doc)
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	if f.run.json {
		err = a.writeJSON(found)
	} else {
		err = writeCalibration(a.Out, p, found)
	}
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	return a.withHistory(ctx, f.run.history, func(s history.Store, sp *spawn.Spawner) error {
		r := history.Record{
			ID: doc.RunID, Kind: history.Calibration, Time: doc.Started, Tool: doc.Tool, File: doc.File,
			Source: a.provenance(ctx, sp).Source, Simulated: history.SimulatedAs(doc), Machine: doc.Machine, Noise: found.Noise,
			Cells: history.CellsOf(doc), Resident: p.Resident,
		}
		if f.save != "" {
			if err := history.Save(f.save, r); err != nil {
				return exit(exitInfrastructure, err)
			}
		}
		name, err := history.Add(ctx, s, r)
		if err == nil && f.run.json {
			return nil
		}
		return a.added(name, err)
	})
}

// measure executes a plan whose results the caller judges: it reports, posts and profiles nothing. front is passed to
// the session.
func (a *app) measure(ctx context.Context, f runFlags, cfg *lang.Config, p *plan.Plan, front front) (*result.Document, error) {
	self, err := ownPath()
	if err != nil {
		return nil, exit(exitInfrastructure, err)
	}
	view := f.progress(a)
	planned, silent := *p, *p.Config
	silent.Reports, silent.Settings.Profile = nil, nil
	planned.Config = &silent
	opt := a.sessionOptions(f, &planned, view)
	opt.Self, opt.Front = self, front
	res, err := session.Run(ctx, opt)
	if closed := view.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, a.runError(ctx, cfg, err)
	}
	return res.Document, nil
}

// writeCalibration prints a calibration as a table.
func writeCalibration(w io.Writer, p *plan.Plan, r calibrate.Report) error {
	tw := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "cell\tmetric\tpairs\tpair SD\tlaunch SD\tpass SD\tof it by requests, at most")
	for _, n := range r.Noise {
		if !slices.ContainsFunc(p.Gates, func(g plan.Gate) bool { return slices.Contains(g.Metrics, n.Metric) }) {
			continue
		}
		m, _ := p.Metric(n.Metric)
		request := "–"
		if n.Request > 0 {
			request = changeBy(m, n.Request)
		}
		pass := "–"
		if n.Split {
			pass = changeBy(m, n.Pass)
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", line(n.Label), n.Metric, n.Pairs, changeBy(m, n.PairSD),
			changeBy(m, n.Launch), pass, request)
	}
	fmt.Fprintln(tw)
	for _, g := range r.Gates {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", line(g.Gate), g.Metric, adviceText(p, g, r.PerFile))
	}
	var err error
	if r.Files > 0 {
		_, err = fmt.Fprintf(tw, "\nfalse alarms: %d in %d sessions of at most %d repeats, judged as the file says\n", r.Alarms,
			r.Files, r.PerFile)
	} else {
		_, err = fmt.Fprintf(tw, "\nfalse alarms: not known, since a session of the file takes %d pairs; --pairs %[1]d makes one\n", r.PerFile)
	}
	return errors.Join(err, tw.Flush())
}

// adviceText recommends changes to a gate or its repeats, or states that the repeats are enough.
func adviceText(p *plan.Plan, g calibrate.Gate, repeats int) string {
	m, _ := p.Metric(g.Metric)
	text := fmt.Sprintf("finds %s with %d repeats", changeBy(m, g.Detectable), repeats)
	switch {
	case g.Detectable > 0 && g.Detectable <= g.Margin:
		text += fmt.Sprintf(": enough for the margin of %s", changeBy(m, g.Margin))
		if g.Repeats > 0 && g.Repeats < repeats {
			text += fmt.Sprintf(", for which %d would do", g.Repeats)
		}
	case g.Repeats > 0:
		text += fmt.Sprintf(": for the margin of %s plan %d repeats, or set a margin of %s", changeBy(m, g.Margin), g.Repeats,
			changeBy(m, g.Detectable))
	default:
		text += fmt.Sprintf(": no number of repeats finds the margin of %s; set one of %s", changeBy(m, g.Margin), changeBy(m, g.Detectable))
	}
	if g.Between >= 0 {
		text += fmt.Sprintf("; %.0f %% of the variance is between launches", 100*g.Between)
	}
	if s := g.Cheapest; s != nil && s.Passes != g.Passes {
		text += fmt.Sprintf("; %d repeats with passes = %d take the least time, about %s", s.Repeats, s.Passes, plan.Duration(s.Seconds))
	}
	if g.FewRequests {
		text += "; the small number of requests of a run could explain the noise alone, so longer runs may help"
	}
	return text
}
