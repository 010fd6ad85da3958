package judge

import (
	"errors"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// CheckBaseline returns why a gate could not be judged against its baseline file when the
// measurements are done: better now than after hours of them.
func CheckBaseline(p *plan.Plan, g plan.Gate) error {
	if g.BaselineKind != result.BaselineFile {
		return nil
	}
	_, err := baselines(p)(g.BaselinePath)
	return err
}

// baselines reads the files of baselines for the cells of a plan: our own results, or
// those of another tool.
func baselines(p *plan.Plan) func(path string) (*result.Document, error) {
	return func(path string) (*result.Document, error) {
		if store.IsRunDir(path) {
			return store.ReadDocument(path)
		}
		judged := judgedBy(p, path)
		runs, err := convert.ReadArgument(path, convert.ReadOptions{Tool: toolOf(judged)}, nil)
		if errors.Is(err, convert.ErrOurs) {
			return store.ReadDocument(path)
		}
		if err != nil {
			return nil, err
		}
		doc, err := convert.Fit(runs, blank(judged), convert.FitOptions{Loose: true})
		if err != nil {
			return nil, err
		}
		return doc, nil
	}
}

// judgedBy is the plan with only the benchmarks that are set beside a baseline file.
func judgedBy(p *plan.Plan, path string) *plan.Plan {
	out := *p
	out.Benchmarks = slices.DeleteFunc(slices.Clone(p.Benchmarks), func(b plan.Benchmark) bool {
		return !slices.ContainsFunc(p.Gates, func(g plan.Gate) bool { return g.BaselinePath == path && g.Benchmark == b.Addr })
	})
	return &out
}

// toolOf is the tool whose definitions hold where results do not say it: that of the
// benchmarks' drivers, "" if none says one.
func toolOf(p *plan.Plan) string {
	for _, b := range p.Benchmarks {
		for _, c := range b.Cells {
			if d := c.Workload.Driver; d != nil && d.Tool != "" {
				return d.Tool
			}
		}
	}
	return ""
}
