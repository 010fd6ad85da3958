package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/reports/series"
)

// fromSeries takes the ends from a series of the history.
func (f *bisectFlags) fromSeries(ctx context.Context, a *app) error {
	if f.fromHistory == "" {
		return nil
	}
	if f.good != "" || f.bad != "" {
		return exit(exitUsage, errors.New("--from-history names both ends: leave --good and --bad out"))
	}
	doc, err := a.trends(ctx, trendFlags{history: f.run.history, simulated: f.run.plan.simulate != ""})
	if err != nil {
		return err
	}
	if f.good, f.bad, err = endsOfSeries(doc, f.fromHistory); err != nil {
		return exit(exitUsage, err)
	}
	fmt.Fprintf(a.Err, "from the history: --good %s --bad %s\n", short(f.good), short(f.bad))
	return nil
}

// endsOfSeries are the commits around the last change for the worse of a series.
func endsOfSeries(doc *series.History, name string) (good, bad string, err error) {
	known := false
	for i := range doc.Trends {
		t := &doc.Trends[i]
		if name != t.Key && name != t.Label && name != t.Cell {
			continue
		}
		known = true
		if good, bad, ok := changeOf(t); ok {
			return good, bad, nil
		}
	}
	if known {
		return "", "", fmt.Errorf("the series %q has no change for the worse between sessions of known commits", name)
	}
	return "", "", fmt.Errorf("the history has no series %q: `pipeline history report --format json` lists their keys and cells", name)
}

// changeOf are the commits of the sessions around the last change for the worse of a series: that
// which regressed, where one did.
func changeOf(t *series.Trend) (good, bad string, ok bool) {
	for i := range t.Parts {
		p := &t.Parts[i]
		at := -1
		for _, c := range p.Changes {
			if c.Worse && !c.Accepted {
				at = c.Index
			}
		}
		if p.Condition == trend.Regressed && p.Since > 0 && at < 0 {
			at = p.Since
		}
		if p.Retired || at < 1 {
			continue
		}
		good, bad := p.Points[at-1].Commit, p.Points[at].Commit
		if good != "" && bad != "" && good != bad {
			return good, bad, true
		}
	}
	return "", "", false
}
