package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/calibrate"
	"github.com/servegate/pipeline/pipeline/internal/delay"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// front gives the address that load is sent to in place of a server's own.
type front = func(repeat int, baseURL string) (url string, stop func() error, err error)

// realSelftest is a self-test with the file's own servers.
type realSelftest struct {
	on       bool
	planted  []float64
	out      string
	progress progress
}

func (r *realSelftest) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.on, "real", false, "start the file's own servers and plant slow-downs by a proxy in front of them")
	cmd.Flags().Float64SliceVar(&r.planted, "planted", nil, "with --real: `shares` to plant, such as 0,0.1 (0 and twice the largest margin unless set)")
	outFlag(cmd.Flags(), &r.out, "with --real: folder for a run directory of each session (new ones below .pipeline/runs unless set)")
	progressFlag(cmd, &r.progress)
}

// selftestReal carries out one session for each planted slow-down.
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

// plant carries out one session with a slow-down in the heads.
func (a *app) plant(ctx context.Context, r realSelftest, cfg *lang.Config, p, aa *plan.Plan, share float64) (trial, error) {
	run := runFlags{progress: r.progress}
	if r.out != "" {
		run.out = filepath.Join(r.out, fmt.Sprintf("planted-%.4g%%", 100*share))
	}
	session := *aa // which a session may complete
	doc, err := a.measure(ctx, run, cfg, &session, delayed(share))
	if err != nil {
		return trial{}, err
	}
	if doc.Status != result.StatusComplete {
		return trial{}, exit(max(doc.ExitCode, exitInfrastructure), fmt.Errorf("the session with %.4g %% planted is %s: %s", 100*share, doc.Status, doc.StatusReason))
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

// delayed puts a proxy before every server, so that both sides pay for it, and lets it
// slow down the heads.
func delayed(share float64) front {
	return func(repeat int, baseURL string) (string, func() error, error) {
		planted := 0.0
		if calibrate.IsHead(repeat) {
			planted = share
		}
		proxy, err := delay.New(baseURL, planted)
		if err != nil {
			return "", nil, err
		}
		return proxy.URL(), proxy.Close, nil
	}
}
