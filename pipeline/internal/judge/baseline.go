package judge

import (
	"errors"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// CheckBaseline returns why a gate cannot be judged against its baseline file, nil if it can. It finds errors before
// hours of measuring.
func CheckBaseline(p *plan.Plan, g plan.Gate) error {
	if g.BaselineKind != result.BaselineFile {
		return nil
	}
	_, err := baselines(p)(g.BaselinePath)
	return err
}

// baselines returns a function that reads a baseline file for the cells of a plan. The file holds our results or those
// of another tool.
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

// judgedBy returns the plan with only the benchmarks that are compared with a baseline file.
func judgedBy(p *plan.Plan, path string) *plan.Plan {
	out := *p
	out.Benchmarks = slices.DeleteFunc(slices.Clone(p.Benchmarks), func(b plan.Benchmark) bool {
		return !slices.ContainsFunc(p.Gates, func(g plan.Gate) bool { return g.BaselinePath == path && g.Benchmark == b.Addr })
	})
	return &out
}

// toolOf returns the tool whose metric definitions apply if results name no tool. It is the tool of the benchmarks'
// drivers, "" if none names one.
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
