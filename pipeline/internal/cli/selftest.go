package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/calibrate"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat/distuv"
)

// planted lists the slow-downs that a self-test adds to the head.
var planted = []float64{0, 0.05, 0.10, 0.20}

const (
	defaultFiles = 20
	maxFiles     = 2000
	// mustFind is the minimum share of sessions that must find a change of twice the margin.
	mustFind = 0.8
	// falseAlarmAlpha is the probability below which a number of false alarms cannot be chance.
	falseAlarmAlpha = 0.01
)

// trial counts the outcomes of the sessions with one planted slow-down.
type trial struct {
	Planted  float64 `json:"planted"`
	Sessions int     `json:"sessions"`
	// Found counts sessions with a regression, Passed those in which everything passed.
	Found  int `json:"regressions"`
	Passed int `json:"passed"`
	// Repeats is the mean number of repeats.
	Repeats float64 `json:"mean_repeats"`
}

type selftest struct {
	Trials []trial `json:"trials"`
	// Margin is the largest margin of the file's gates.
	Margin float64 `json:"margin"`
	// LowPower is set if a change of twice the margin is found too rarely.
	LowPower bool `json:"low_power"`
	// FalseAlarms is set if there are more false alarms than alpha explains.
	FalseAlarms bool `json:"false_alarms"`
}

func (a *app) selftestCommand() *cobra.Command {
	var flags configFlags
	var f planFlags
	var asJSON bool
	real := realSelftest{}
	files := defaultFiles
	f.timeScale, f.simulate = 1, plan.SimulateProcess
	cmd := &cobra.Command{
		Use: "selftest [FILE|DIR]...", Short: "Plant slow-downs and see whether a pipeline's gates find them",
		Long: "Rehearses the file in virtual time with the model of the simulated servers: the head of every comparison is its base with\n" +
			"every step of its engine slower by 0, 5, 10 and 20 %; under load its metrics move by more. The exit status is 1 if the gates have " +
			"low power (a change of twice\n" +
			"the largest margin is found in fewer than 80 % of the sessions) or raise more false alarms than alpha allows. A real machine adds " +
			"noise of its own: `calibrate` measures it.\n\n" +
			"With --real the file's own servers are started, or asked where they have a url: the base side in pairs of launches, and the\n" +
			"head of each pair through a proxy that makes its answers slower by 0 and by twice the largest margin (or --planted). One\n" +
			"session of each is carried out, so an alarm at 0 % or a miss of the other is reported, with exit status 1.",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			cfg, err := a.load(flags, args)
			if err != nil {
				return err
			}
			f.allowIdentical = true // the only difference is planted
			if real.on {
				return a.selftestReal(ctx, real, cfg, f, args, asJSON)
			}
			if len(real.planted) > 0 {
				return exit(exitUsage, errors.New("--planted is for servers that are started: add --real"))
			}
			p, err := a.plan(cfg, f, args)
			if err != nil {
				return err
			}
			r, err := session.NewRehearsal(a.places, p, a.engines(), a.connectors)
			if err != nil {
				return exit(exitUsage, fmt.Errorf("this file cannot be rehearsed: %w", err))
			}
			found, err := rehearse(ctx, p, r, files)
			if err != nil {
				return err
			}
			return a.printSelftest(p, found, asJSON)
		}),
	}
	flags.register(cmd)
	cmd.Flags().StringArrayVar(&f.only, "only", nil, "keep only the cells that match this `pattern`")
	cmd.Flags().Var(bounded{&f.repeat, 1, config.MaxRepeats}, "repeat", "`number` of repeats, instead of the file's")
	cmd.Flags().Var(bounded{&files, 1, maxFiles}, "sessions", "`number` of rehearsed sessions for each planted change")
	real.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printSelftest prints the result, and fails if the gates are unreliable.
func (a *app) printSelftest(p *plan.Plan, found selftest, asJSON bool) error {
	var err error
	if asJSON {
		err = a.writeJSON(found)
	} else {
		err = writeSelftest(a.Out, p, found)
	}
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	if found.LowPower || found.FalseAlarms {
		return exit(exitRegression, nil)
	}
	return nil
}

// rehearse runs the trials and judges the gates by them.
func rehearse(ctx context.Context, p *plan.Plan, r *session.Rehearsal, files int) (selftest, error) {
	var out selftest
	var err error
	if out.Margin, err = largestMargin(p); err != nil {
		return out, err
	}
	for _, size := range planted {
		head := r.Plant(size)
		t := trial{Planted: size, Sessions: files}
		for seed := range files {
			if ctx.Err() != nil {
				return out, exit(interruptCode(context.Cause(ctx)), context.Cause(ctx))
			}
			doc, err := head.Run(seed)
			if err != nil {
				return out, exit(exitInfrastructure, err)
			}
			t.count(doc)
		}
		t.Repeats /= float64(files)
		out.judge(t, p.Alpha)
	}
	return out, nil
}

// largestMargin returns the largest margin of the gates for which a slow-down can be planted.
func largestMargin(p *plan.Plan) (float64, error) {
	margin := 0.0
	for _, g := range p.Gates {
		if g.BaselineKind == result.BaselinePaired && g.Expect == gates.NoRegression && !byTime(p, g) && !g.OfQuality() {
			margin = max(margin, float64(g.Margin))
		}
	}
	if margin == 0 {
		return 0, exit(exitUsage, fmt.Errorf("%s has no gate with a paired baseline, so nothing can be planted", p.File))
	}
	return margin, nil
}

// byTime reports whether a gate's margin is a time, for which no slow-down can be planted.
func byTime(p *plan.Plan, g plan.Gate) bool {
	m, ok := p.Metric(g.Metrics[0])
	return ok && m.ByTime()
}

func (t *trial) count(doc *result.Document) {
	t.Repeats += float64(doc.RepeatsDone)
	switch doc.Verdict {
	case result.Regression:
		t.Found++
	case result.Pass, result.Improvement:
		t.Passed++
	}
}

// judge adds a trial and updates the assessment of the gates.
func (s *selftest) judge(t trial, alpha float64) {
	s.Trials = append(s.Trials, t)
	if t.Planted == 0 {
		s.FalseAlarms = t.Sessions > 1 && t.Found > mostAlarms(t.Sessions, alpha) || t.Sessions == 1 && t.Found > 0
	}
	if t.Planted >= 2*s.Margin-1e-9 && float64(t.Found) < mustFind*float64(t.Sessions) {
		s.LowPower = true
	}
}

// mostAlarms returns the largest number of false alarms that can be chance.
func mostAlarms(sessions int, alpha float64) int {
	law := distuv.Binomial{N: float64(sessions), P: alpha}
	k := 0
	for 1-law.CDF(float64(k)) > falseAlarmAlpha {
		k++
	}
	return k
}

// mostPlanted returns the largest slow-down of all trials.
func (s *selftest) mostPlanted() float64 {
	most := 0.0
	for _, t := range s.Trials {
		most = max(most, t.Planted)
	}
	return most
}

func writeSelftest(w io.Writer, p *plan.Plan, s selftest) error {
	tw := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "planted\tsessions\tregression\tall passed\trepeats")
	for _, t := range s.Trials {
		fmt.Fprintf(tw, "%.0f %%\t%d\t%d\t%d\t%.1f\n", 100*t.Planted, t.Sessions, t.Found, t.Passed, t.Repeats)
	}
	fmt.Fprintln(tw)
	switch {
	case s.FalseAlarms:
		fmt.Fprintf(tw, "false alarms: %d alarms in %d sessions, where alpha = %.3g makes more than %d unlikely\n",
			s.Trials[0].Found, s.Trials[0].Sessions, p.Alpha, mostAlarms(s.Trials[0].Sessions, p.Alpha))
	case s.LowPower:
		fmt.Fprintf(tw, "low power: a change of twice the margin of %.3g %% is found in fewer than %.0f %% of the sessions; more repeats or "+
			"longer runs would help\n", 100*s.Margin, 100*mustFind)
	case 2*s.Margin > s.mostPlanted()+1e-9:
		fmt.Fprintf(tw, "no false alarms, and the power is not known: twice the margin of %.3g %% is more than was planted\n", 100*s.Margin)
	default:
		fmt.Fprintf(tw, "the gates find a change of twice their margin of %.3g %% and invent none\n", 100*s.Margin)
	}
	return tw.Flush()
}

// front returns the address to which the load is sent instead of the server's own.
type front = func(repeat int, baseURL string) (url string, stop func() error, err error)

// realSelftest configures a self-test with the file's own servers.
type realSelftest struct {
	on       bool
	planted  []float64
	out      string
	progress progress
}

func (r *realSelftest) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.on, "real", false, "start the file's own servers and plant slow-downs by a proxy in front of them")
	cmd.Flags().Float64SliceVar(&r.planted, "planted", nil,
		"with --real: `shares` to plant, such as 0,0.1 (0 and twice the largest margin unless set)")
	outFlag(cmd.Flags(), &r.out, "with --real: folder for a run directory of each session (new ones below .pipeline/runs unless set)")
	progressFlag(cmd, &r.progress)
}

// selftestReal runs one session for each planted slow-down.
func (a *app) selftestReal(ctx context.Context, r realSelftest, cfg *lang.Config, f planFlags, paths []string, asJSON bool) error {
	f.simulate, f.ignoreNoise = "", true
	p, err := a.plan(cfg, f, paths)
	if err != nil {
		return err
	}
	found := selftest{}
	if found.Margin, err = largestMargin(p); err != nil {
		return err
	}
	if len(r.planted) == 0 {
		r.planted = []float64{0, 2 * found.Margin}
	}
	pairs := p.Looks[len(p.Looks)-1]
	aa, err := calibrate.Plan(p, pairs, nil)
	if err != nil {
		return exit(exitUsage, err)
	}
	for _, share := range r.planted {
		t, err := a.plant(ctx, r, cfg, p, aa, share)
		if err != nil {
			return err
		}
		found.judge(t, p.Alpha)
	}
	if slices.ContainsFunc(aa.Targets, func(t plan.Target) bool { return aa.Attached(t.Addr) }) && !asJSON {
		fmt.Fprintln(a.Out, "a server given by its url is not launched anew: the noise between launches is not in this")
	}
	return a.printSelftest(p, found, asJSON)
}

// plant runs one session with a slow-down in the heads.
func (a *app) plant(ctx context.Context, r realSelftest, cfg *lang.Config, p, aa *plan.Plan, share float64) (trial, error) {
	run := runFlags{progress: r.progress}
	if r.out != "" {
		run.out = filepath.Join(r.out, fmt.Sprintf("planted-%.4g%%", 100*share))
	}
	session := *aa // a session may complete its plan
	doc, err := a.measure(ctx, run, cfg, &session, delayed(share))
	if err != nil {
		return trial{}, err
	}
	if doc.Status != result.StatusComplete {
		return trial{}, exit(max(doc.ExitCode, exitInfrastructure), fmt.Errorf("the session with %.4g %% planted is %s: %s", 100*share,
			doc.Status, doc.StatusReason))
	}
	found, err := calibrate.Planted(p, doc)
	if err != nil {
		return trial{}, exit(exitInfrastructure, err)
	}
	t := trial{Planted: share, Sessions: 1, Repeats: float64(found.Pairs)}
	passed := 0
	for _, d := range found.Judgement.Comparisons {
		switch d.Verdict {
		case gates.Regression:
			t.Found = 1
		case gates.Pass, gates.Improvement:
			passed++
		}
	}
	if passed == len(found.Judgement.Comparisons) {
		t.Passed = 1
	}
	return t, nil
}

// delayed puts a proxy before every server, so that both sides have its overhead. The proxy slows down only the
// heads.
func delayed(share float64) front {
	return func(repeat int, baseURL string) (string, func() error, error) {
		planted := 0.0
		if calibrate.IsHead(repeat) {
			planted = share
		}
		proxy, err := calibrate.NewDelay(baseURL, planted)
		if err != nil {
			return "", nil, err
		}
		return proxy.URL(), proxy.Close, nil
	}
}
