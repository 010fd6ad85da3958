package engine

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/answers"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
)

// Document returns the measurements as a document. The caller adds the tool, the run and its source; package judge adds
// gates, verdict and exit code.
func (o *Outcome) Document() *result.Document {
	p := o.Plan
	doc := &result.Document{
		Schema: result.Schema, File: p.File, Title: p.Title,
		Started: o.Started, Ended: o.Ended, Status: o.Status, StatusReason: o.Reason, StoppedBy: o.StoppedBy,
		Simulated: p.Simulated, TimeScale: p.TimeScale, Alpha: p.Alpha, FamilySize: p.FamilySize,
		RepeatsPlanned: len(p.Repeats), RepeatsDone: o.RepeatsDone,
		Measures: p.Described(), Sides: p.Sides, NotSelected: p.NotSelected,
		Price: p.Price, Machine: o.Machine, Images: o.Images, Steps: o.Steps, Gates: []result.Gate{}, Launches: []result.Launch{},
	}
	if m := p.Machines; m != nil {
		doc.Machines = &result.Machines{Count: m.Count, Between: m.Between}
	}
	for _, w := range slices.Concat(p.Warnings, o.Warnings) {
		if !slices.Contains(doc.Warnings, w) {
			doc.Warnings = append(doc.Warnings, w)
		}
	}
	if len(p.Benchmarks) > 0 {
		doc.Seed = p.Benchmarks[0].Seed
	}
	for _, t := range p.Targets {
		doc.Targets = append(doc.Targets, result.Target{
			Addr: t.Addr, Engine: t.Engine, Model: t.Model, GPUs: t.GPUs, Answering: t.Answering, Machines: t.Machines, Connector: t.Connector,
			Work: t.Work,
			Argv: t.Argv, Range: t.Range, Describe: o.Describe[t.Addr], Applied: o.Applied[t.Addr],
		})
	}
	warnOfEqual(doc)
	runs := map[string][]result.Run{}
	for _, l := range o.Launched {
		doc.Launches = append(doc.Launches, l.Attempts...)
		for _, cr := range l.Runs {
			runs[cr.Cell] = append(runs[cr.Cell], cr.Run)
		}
	}
	var arrivals load.Arrivals
	if p.Config != nil {
		arrivals = p.Config.Arrivals
	}
	for _, b := range p.Benchmarks {
		doc.Benchmarks = append(doc.Benchmarks, benchmark(b, arrivals, runs))
	}
	doc.Answers, doc.Requests = compareDigests(p, doc)
	return doc
}

// compareDigests compares the answers and the measured requests of the cells that gates compare. It then removes their
// digests from the document; the journal keeps them.
func compareDigests(p *plan.Plan, doc *result.Document) (list []result.Answers, requests []result.ComparedRequests) {
	cells := map[string]*result.Cell{}
	for i := range doc.Benchmarks {
		for k := range doc.Benchmarks[i].Cells {
			cells[doc.Benchmarks[i].Cells[k].Hash] = &doc.Benchmarks[i].Cells[k]
		}
	}
	seen := map[[2]string]bool{}
	for _, g := range p.Gates {
		for _, c := range g.Comparisons {
			_, head, ok := p.Cell(c.Head)
			pair := [2]string{c.Base, c.Head}
			if !ok || cells[c.Base] == nil || seen[pair] {
				continue
			}
			seen[pair] = true
			if head.Workload.Answers != nil {
				list = append(list, answers.Compare(g.Benchmark, cells[c.Base], cells[c.Head]))
			} else if compared, any := comparability.CompareRequests(g.Benchmark, cells[c.Base], cells[c.Head]); any {
				requests = append(requests, compared)
			}
		}
	}
	for _, cell := range cells {
		for i := range cell.Runs {
			if a := cell.Runs[i].Answers; a != nil {
				kept := *a
				kept.Digest = ""
				cell.Runs[i].Answers = &kept
			}
			if q := cell.Runs[i].Requests; q != nil {
				kept := *q
				kept.Digest = ""
				cell.Runs[i].Requests = &kept
			}
		}
	}
	return list, requests
}

func benchmark(b plan.Benchmark, arrivals load.Arrivals, runs map[string][]result.Run) result.Benchmark {
	out := result.Benchmark{Addr: b.Addr, Description: b.Description, Axes: []string{}, Range: b.Range, Cells: []result.Cell{}}
	for _, a := range b.Axes {
		out.Axes = append(out.Axes, a.Name)
	}
	for _, c := range b.Cells {
		cell := result.Cell{
			Hash: c.Hash, Values: c.Values, Target: c.Target, Workload: workloadText(c.Workload, arrivals),
			Work: comparability.OfWorkload(c.Workload), Runs: append([]result.Run{}, runs[c.Hash]...),
		}
		slices.SortStableFunc(cell.Runs, func(x, y result.Run) int { return cmp.Compare(x.Repeat, y.Repeat) })
		cell.Summary = judge.GeoMeans(&cell)
		out.Cells = append(out.Cells, cell)
	}
	return out
}

// workloadText describes a workload in one line: "poisson 4/s, 200 requests, random 256→16".
func workloadText(w steps.Workload, arrivals load.Arrivals) string {
	if w.Answers != nil {
		return fmt.Sprintf("answers to %d prompts of %s, %s tokens each, %d at once", w.Load.Requests, w.Dataset.Kind,
			span(w.Dataset.OutputMin, w.Dataset.OutputMax), w.Load.MaxConcurrency)
	}
	if w.Driver != nil {
		return driverText(w.Driver)
	}
	parts := []string{arrivals.Text(w.Load)}
	if w.Load.Requests > 0 {
		parts = append(parts, fmt.Sprintf("%d requests", w.Load.Requests))
	}
	if w.Load.Duration > 0 {
		parts = append(parts, w.Load.Duration.String())
	}
	if w.Load.MaxConcurrency > 0 {
		parts = append(parts, fmt.Sprintf("at most %d at once", w.Load.MaxConcurrency))
	}
	data := w.Dataset.Kind
	if w.Dataset.InputMax > 0 {
		data += " " + span(w.Dataset.InputMin, w.Dataset.InputMax) + "→" + span(w.Dataset.OutputMin, w.Dataset.OutputMax)
	}
	if w.Dataset.Path != "" {
		data += " " + path.Base(w.Dataset.Path)
	}
	if w.Dataset.Synthetic {
		data += " (not there: made up)"
	}
	return strings.Join(append(parts, data), ", ")
}

func span(low, high int) string {
	if low == high {
		return fmt.Sprint(high)
	}
	return fmt.Sprintf("%d–%d", low, high)
}
