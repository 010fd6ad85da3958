package session

import (
	"cmp"
	"context"
	"slices"

	"github.com/servegate/pipeline/reports/result"
)

// notProfiled reports whether no regression would be profiled, because the file does not ask for it or the run
// is incomplete.
func (s *session) notProfiled() bool {
	return s.opt.Plan.Config.Settings.Profile == nil || s.outcome.Status != result.StatusComplete
}

// findRegression finds the regression to profile.
func (s *session) findRegression(ctx context.Context) error {
	if ctx.Err() == nil { // else there is no time for a profile
		s.regression = clearest(s.doc)
	}
	return nil
}

// regression is a comparison that regressed.
type regression struct {
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
				all = append(all, regression{g.Addr, g.Benchmark, d})
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
