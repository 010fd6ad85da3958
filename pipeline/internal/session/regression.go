package session

import (
	"cmp"
	"context"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// notProfiled reports whether no regression would be profiled, because the file does not ask for it or the run
// is incomplete.
func (s *session) notProfiled() bool {
	return s.opt.Plan.Config.Settings.Profile == nil || s.outcome.Status != result.StatusComplete
}

// findRegression judges the measurement and finds the regression to profile.
func (s *session) findRegression(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil // no time for a profile
	}
	doc := engine.Document(s.opt.Plan, s.outcome, s.about())
	if err := judge.Judge(s.opt.Plan, doc, judge.OptionsOf(s.opt.Plan, s.opt.History)); err == nil {
		s.regression = clearest(doc)
	} // on an error, the later judgement fails as well
	return nil
}

// regression is a comparison that regressed.
type regression struct {
	doc       *result.Document // judged before the profile
	gate      string
	benchmark string
	decision  *result.Decision
}

// clearest returns the regression with the smallest p value, nil if there is none. It prefers regressions of
// single cells with both sides measured in the session.
func clearest(doc *result.Document) *regression {
	var all []regression
	for i := range doc.Gates {
		g := &doc.Gates[i]
		for k := range g.Decisions {
			if d := &g.Decisions[k]; d.Verdict == result.Regression && d.Kind == result.KindMetric && d.P != nil {
				all = append(all, regression{doc, g.Addr, g.Benchmark, d})
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	whole := func(r regression) int {
		if r.decision.BaseCell == "" || r.decision.SuiteCells > 0 {
			return 1
		}
		return 0
	}
	best := slices.MinFunc(all, func(a, b regression) int {
		return cmp.Or(cmp.Compare(whole(a), whole(b)), cmp.Compare(*a.decision.P, *b.decision.P))
	})
	return &best
}
