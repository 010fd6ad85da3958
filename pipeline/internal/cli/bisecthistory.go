package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/series"
)

// fromSeries sets the ends of the search from a series of the history.
func (f *bisectFlags) fromSeries(ctx context.Context, a *app) error {
	if f.fromHistory == "" || f.run.resume {
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

// endsOfSeries returns the commits around the last regression of a series.
func endsOfSeries(doc *series.History, name string) (good, bad string, err error) {
	known := false
	for i := range doc.Trends {
		t := &doc.Trends[i]
		if name != t.Key && name != t.Label && name != t.Cell {
			continue
		}
		known = true
		if good, bad, ok := t.Ends(); ok {
			return good, bad, nil
		}
	}
	if known {
		return "", "", fmt.Errorf("the series %q has no change for the worse between sessions of known commits", name)
	}
	return "", "", fmt.Errorf("the history has no series %q: `pipeline history report --format json` lists their keys and cells", name)
}

// culpritFinder returns a function that searches for the commit of a series and describes it in markdown; nil if file
// is "".
func (a *app) culpritFinder(ctx context.Context, history trendFlags, f bisectFlags, file string) func(key string) (string, error) {
	if file == "" {
		return nil
	}
	f.run.history, f.run.plan.timeScale = history.history, 1
	if history.simulated {
		f.run.plan.simulate = plan.SimulateVirtual
	}
	return func(key string) (string, error) {
		f.fromHistory = key
		doc, err := a.bisect(ctx, f, []string{file})
		if err != nil {
			return "", err
		}
		var text strings.Builder
		err = bisection.Markdown(&text, doc, reports.Options{Budget: issueAnswer, Full: "bisect.html of the run"})
		return text.String(), err
	}
}

// issueAnswer limits an answer in an issue, in bytes.
const issueAnswer = 20_000
