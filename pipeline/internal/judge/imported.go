package judge

import (
	"cmp"
	"fmt"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Imported judges results of other tools by the gates of a configuration. It assigns the results to the cells of the
// benchmarks by their parameters. past provides stored baselines, nil for none.
func Imported(cfg *config.Config, runs []convert.Run, opt convert.FitOptions, past *history.History,
	now time.Time) (*result.Document, error) {
	planned, diags := plan.Build(cfg, plan.Options{IgnoreNoise: true})
	if diags.HasErrors() {
		return nil, diags
	}
	opt.Title = cfg.Settings.Description
	doc, err := convert.Fit(runs, blank(planned), opt)
	if err != nil {
		return nil, err
	}
	doc.Started, doc.Ended, doc.Alpha = now, now, planned.Alpha
	if opt.LaunchBy != "" || opt.OneLaunchPerFile {
		pairLaunches(planned, doc, opt.LaunchBy != "")
	}
	// The plan has as many repeats as the results: nothing more can be measured here.
	repeats := mostRuns(doc)
	p, diags := plan.Build(cfg, plan.Options{IgnoreNoise: true, Repeat: repeats})
	if diags.HasErrors() {
		return nil, diags
	}
	p.Looks, p.Targets, p.Repeats = nil, nil, nil
	for i := range p.Benchmarks {
		p.Benchmarks[i].RepeatMax = 0 // cells may have fewer, which is not a loss
	}
	options := OptionsOf(p, past)
	options.Descriptive = cmp.Or(undecidable(opt.Options, repeats), oneLaunch(runs, opt.Options), blockOrder(doc, opt.BlockOrder))
	return doc, Judge(p, doc, options)
}

// blank returns the benchmarks of a plan with their cells, without results.
func blank(p *plan.Plan) []result.Benchmark {
	var out []result.Benchmark
	for _, b := range p.Benchmarks {
		blank := result.Benchmark{Addr: b.Addr, Description: b.Description, Axes: []string{}, Range: b.Range}
		for _, a := range b.Axes {
			blank.Axes = append(blank.Axes, a.Name)
		}
		for _, c := range b.Cells {
			blank.Cells = append(blank.Cells, result.Cell{Hash: c.Hash, Values: c.Values})
		}
		out = append(out, blank)
	}
	return out
}

// mostRuns returns the largest number of launches with runs of one cell, at least 1.
func mostRuns(doc *result.Document) int {
	most := 1
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			most = max(most, convert.Repeats(c.Runs))
		}
	}
	return most
}

// undecidable returns why imported results allow no decision whatever their values, and how to change that; "" if they
// allow one.
func undecidable(opt convert.Options, repeats int) string {
	switch {
	case opt.LaunchBy == "" && !opt.OneLaunchPerFile:
		return "n = 1, since nothing distinguishes launches: say --launch-by KEY or --one-launch-per-file"
	case repeats < 2:
		return "n = 1 allows no test: measure each side in 5 launches of the server, or 2 at least"
	}
	return ""
}

// oneLaunch returns which results that are declared as several launches come from one, "" for none.
func oneLaunch(runs []convert.Run, opt convert.Options) string {
	if why := convert.SharedLaunch(runs, opt); why != "" {
		return "what is declared to be several launches is one: " + why
	}
	return ""
}

// blockOrder returns why sides that were measured one after the other allow no decision. It returns "" if they
// alternated, if the order is unknown, or if that order is declared.
func blockOrder(doc *result.Document, declared bool) string {
	for _, p := range doc.Pairings {
		if p.Order == result.OrderNotAlternated && !declared {
			return fmt.Sprintf(
				"%s and %s were not measured in turn, so that the machine's drift is in the difference: alternate them, or say --block-order", p.Base,
				p.Head)
		}
	}
	return ""
}
