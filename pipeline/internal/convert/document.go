package convert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/record"
)

// Options of Document.
type Options struct {
	// By lists the parameters that distinguish cells ("qps", "input_len"), see Run.Param. Results
	// that agree in all of them are repeats of one cell. If it is empty, the usual parameters that
	// differ between the results are used, and another difference within a cell is an error unless
	// repetitions may have it. With By it is a warning.
	By []string
	// Chosen reports that By, which may be empty, comes from CellKeys and not from a person.
	Chosen bool
	// LaunchBy is the parameter that distinguishes starts of the server; OneLaunchPerFile makes
	// each file one launch. Only launches are independent: without either option all results of a
	// cell are one unit, from which nothing can be decided.
	LaunchBy         string
	OneLaunchPerFile bool
	// Tool and Title are copied to the document. File replaces the names of the sources.
	Tool, Title, File string
}

// Document makes a result document of imported runs: cells by parameters, and in each cell one run
// for each result. Several results of a cell in one launch are passes of one repeat, and their mean
// is compared (the geometric mean on the log scale). Table rows that repeat a block, and copies of
// a measurement, count once. The document has no gates.
func Document(runs []Run, opt Options) (*result.Document, error) {
	d, err := newDocument(runs, opt)
	if err != nil {
		return nil, err
	}
	if err := d.group(); err != nil {
		return nil, err
	}
	d.describe()
	bench := &d.doc.Benchmarks[0]
	for _, c := range d.cells {
		out := result.Cell{Hash: c.hash, Values: c.values, Target: targetAddr, Workload: workloadText(c.runs[0]), Runs: []result.Run{}}
		if err := d.fill(&out, c, true); err != nil {
			return nil, err
		}
		bench.Cells = append(bench.Cells, out)
	}
	d.finish()
	return d.doc, nil
}

const (
	benchmarkAddr = "benchmark.imported"
	targetAddr    = "imported"
)

// newDocument starts a document of runs, without copies.
func newDocument(runs []Run, opt Options) (*document, error) {
	if opt.LaunchBy != "" && opt.OneLaunchPerFile {
		return nil, errors.New("a launch is identified by a parameter or by its file, not by both: leave one out")
	}
	d := &document{opt: opt, launches: map[string]int{}, doc: &result.Document{
		Schema: result.Schema, Tool: opt.Tool, Title: opt.Title, Status: result.StatusComplete,
		Launches: []result.Launch{}, Gates: []result.Gate{},
		Targets:    []result.Target{{Addr: targetAddr}},
		Benchmarks: []result.Benchmark{{Addr: benchmarkAddr, Axes: []string{}, Cells: []result.Cell{}}},
	}}
	if d.distinct(runs); len(d.runs) == 0 {
		return nil, ErrNoResult
	}
	if opt.LaunchBy != "" && slices.ContainsFunc(d.runs, func(r *Run) bool { key, ok := r.Param(opt.LaunchBy); return ok && key == "0" }) {
		d.zeroBased = 1
	}
	return d, nil
}

// document is a result document in progress.
type document struct {
	opt      Options
	doc      *result.Document
	runs     []*Run
	by       []string
	cells    []*cell
	launches map[string]int // index in doc.Launches by key
	// zeroBased is 1 if launches are numbered from 0; repeats begin at 1.
	zeroBased int64
	notes     []note
}

// cell is a combination of parameters with its results.
type cell struct {
	values []result.AxisValue
	hash   string
	runs   []*Run
	given  []string // parameters that identify the cell or the launches
}

// distinct removes copies, and keeps the warnings of the runs.
func (d *document) distinct(runs []Run) {
	for i := range runs {
		r := &runs[i]
		if r.SameAs != 0 {
			continue
		}
		if r.Params["run_number"] == "-1" {
			d.warnf("%s is the warm-up of a sweep of vLLM and left out", r.At())
			continue
		}
		if stage := summarised(r, runs); stage != nil {
			d.warnf("%s sums up several stages, of which %s is one, and is left out", r.At(), stage.At())
			continue
		}
		if at := slices.IndexFunc(d.runs, func(o *Run) bool { return isCopy(o, r) }); at >= 0 {
			d.warnf("%s is a copy of %s and left out", r.At(), d.runs[at].At())
			continue
		}
		// A printed block and the file of the same run: the file has all digits.
		if at := slices.IndexFunc(d.runs, func(o *Run) bool { return prints(o, r) || prints(r, o) }); at >= 0 {
			block, file := r, d.runs[at]
			if prints(file, block) {
				block, file = file, block
				d.runs[at] = file
			}
			d.warnf("%s is what the run of %s printed and left out", block.At(), file.At())
			continue
		}
		d.runs = append(d.runs, r)
	}
	d.passOn()
	d.passOnDefinitions()
}

// describe sets the names of the sources and what all results share.
func (d *document) describe() {
	var sources []string
	shared := maps.Clone(d.runs[0].Params)
	tools := map[string]bool{}
	for _, r := range d.runs {
		if !slices.Contains(sources, r.Source) {
			sources = append(sources, r.Source)
		}
		maps.DeleteFunc(shared, func(k, v string) bool { return r.Params[k] != v })
		tools[r.Tool] = true
	}
	d.doc.File = cmp.Or(d.opt.File, strings.Join(sources, ", "))
	target := &d.doc.Targets[0]
	target.Model = shared["model"]
	if len(tools) == 1 {
		target.Engine = d.runs[0].Tool
	}
	if len(shared) > 0 {
		target.Describe = shared
	}
	first := d.runs[0]
	d.doc.Benchmarks[0].Range = result.Range{File: first.Source, Line: first.Line, Col: 1}
	d.doc.Benchmarks[0].Axes = append([]string{}, d.by...)
}

// fill makes a run of each result of a cell. With warn it adds a note if several results are one
// unit.
func (d *document) fill(out *result.Cell, c *cell, warn bool) error {
	units, err := d.units(c)
	if err != nil {
		return err
	}
	for _, u := range units {
		runs, err := u.passes()
		if err != nil {
			return err
		}
		if len(u.runs) > 1 && warn {
			d.notef(moderate, "%d results of the cell %s are one unit: %s", len(u.runs), name(c.values), d.why(u.runs))
		}
		out.Runs = append(out.Runs, runs...)
	}
	out.Summary = summary(out.Runs)
	return nil
}

// why returns why several results are one unit.
func (d *document) why(runs []*Run) string {
	if !d.known() {
		return fmt.Sprintf("nothing says which of them had a start of the server of their own, so their spread is not that between launches, "+
			"and neither a regression nor a pass can be reported; say --launch-by %s, or --one-launch-per-file",
			cmp.Or(launchKeyOf(runs), "KEY"))
	}
	return "they are passes of one launch"
}

// unit is an independent measurement of a cell: the passes of one launch.
type unit struct {
	repeat int
	launch string
	runs   []*Run
	points int      // limit for a series
	given  []string // parameters with a meaning of their own
}

// seriesPoints returns the most points of a series, so that a document of thousands of results
// remains readable.
func seriesPoints(results int) int { return min(300, max(10, 50_000/max(1, results))) }

// units groups the results of a cell by launch.
func (d *document) units(c *cell) ([]*unit, error) {
	var units []*unit
	byKey := map[string]*unit{}
	for _, r := range c.runs {
		key, err := d.opt.launchKey(r)
		if err != nil {
			return nil, err
		}
		u := byKey[key]
		if u == nil {
			u = &unit{repeat: len(units) + 1, points: seriesPoints(len(d.runs)), given: c.given}
			if d.opt.LaunchBy != "" {
				if n, err := parseCount(key); err == nil && n+d.zeroBased > 0 && n < 1<<31 {
					u.repeat = int(n + d.zeroBased) // both sides of a comparison count alike
				}
			}
			if d.known() {
				u.launch = d.launch(key, u.repeat)
			}
			byKey[key] = u
			units = append(units, u)
		}
		u.runs = append(u.runs, r)
	}
	slices.SortStableFunc(units, func(a, b *unit) int { return a.repeat - b.repeat })
	return units, nil
}

func (d *document) known() bool { return d.opt.LaunchBy != "" || d.opt.OneLaunchPerFile }

// launchKey returns the identity of a result's launch, "" for none.
func (o Options) launchKey(r *Run) (string, error) {
	switch {
	case o.OneLaunchPerFile:
		return r.Source, nil
	case o.LaunchBy == "":
		return "", nil
	}
	key, ok := r.Param(o.LaunchBy)
	if !ok {
		return "", missing(r, o.LaunchBy)
	}
	return key, nil
}

// launch returns the id of a launch in the document, and adds a new launch.
func (d *document) launch(key string, repeat int) string {
	at, ok := d.launches[key]
	if !ok {
		at = len(d.doc.Launches)
		d.launches[key] = at
		d.doc.Launches = append(d.doc.Launches, result.Launch{
			ID: fmt.Sprintf("launch-%d", at+1), Name: key, Repeat: repeat, Target: targetAddr,
		})
	}
	return d.doc.Launches[at].ID
}

// finish sorts the notes, and counts the repeats if they are known.
func (d *document) finish() {
	d.doc.Warnings = d.warnings()
	if !d.known() {
		return
	}
	for _, b := range d.doc.Benchmarks {
		for _, c := range b.Cells {
			d.doc.RepeatsDone = max(d.doc.RepeatsDone, Repeats(c.Runs))
		}
	}
	d.doc.RepeatsPlanned = d.doc.RepeatsDone
}

// Repeats counts the launches of some runs.
func Repeats(runs []result.Run) int {
	repeats := map[int]bool{}
	for _, r := range runs {
		repeats[r.Repeat] = true
	}
	return len(repeats)
}

// passes returns the results of the unit as separate runs of the document, so that none is lost,
// and numbers several. A comparison takes their mean.
func (u *unit) passes() ([]result.Run, error) {
	// An abandoned run is no pass. It follows the passes, whose numbers pair both sides.
	whole := func(r *Run) bool { return r.Cut == "" }
	cut := slices.DeleteFunc(slices.Clone(u.runs), whole)
	u.runs = append(slices.DeleteFunc(u.runs, func(r *Run) bool { return !whole(r) }), cut...)
	out := make([]result.Run, len(u.runs))
	for i, r := range u.runs {
		run, err := u.run(r)
		if err != nil {
			return nil, err
		}
		if len(u.runs) > 1 {
			run.Pass = i + 1
		}
		out[i] = run
	}
	return out, nil
}

// run converts one result of the unit.
func (u *unit) run(r *Run) (result.Run, error) {
	out := result.Run{
		Repeat: u.repeat, Launch: u.launch, Status: result.RunOK, Audit: map[string]any{},
		Duration: r.Duration, Sent: max(r.Counts.Sent, r.Counts.Succeeded), Failed: r.Counts.Failed,
		Series: engineSeries(r.Engine, u.points), Metrics: maps.Clone(r.Metrics),
		Work: comparability.Read(r.Param), Started: r.Measured(), Steps: r.stepsOf(),
	}
	maps.Copy(out.Audit, r.Audit)
	comparability.Facts(out.Work).ParametersOf(r.unknown(u.given))
	for name, v := range r.meanTokens {
		put(&out.Work, name+"_tokens", strconv.FormatFloat(v, 'g', 6, 64))
	}
	if !r.Counts.FailedKnown {
		out.Audit[auditFailures] = "not reported by the tool"
	}
	if out.Sent == 0 {
		out.Audit[auditRequests] = "not reported by the tool"
	}
	if out.Failed > 0 {
		out.Failures = map[string]int{string(failImported): out.Failed} // tools do not report the reason
	}
	switch {
	case r.Cut != "":
		out.Status, out.Reason, out.VoidCause = result.RunVoid, r.Cut, result.VoidIncomplete
	case len(out.Metrics) == 0 && r.Counts.Succeeded == 0:
		out.Status, out.Reason = result.RunFailed, "no request succeeded"
	case out.Sent > 0 && r.Counts.FailedKnown:
		// Both sides of a comparison have this share, whatever the tool.
		if _, ok := out.Metrics[successRate]; !ok {
			put(&out.Metrics, successRate, float64(r.Counts.Sent-r.Counts.Failed)/float64(r.Counts.Sent))
		}
	}
	out.Audit["source"] = r.At()
	if r.Tool != "" {
		out.Audit["tool"] = r.Tool
	}
	for name, n := range map[string]int64{"input_tokens": r.Counts.InputTokens, "output_tokens": r.Counts.OutputTokens} {
		if n > 0 {
			out.Audit[name] = float64(n)
		}
	}
	if r.Records == nil {
		return out, nil
	}
	var err error
	if out.Histograms, err = record.Histograms(*r.Records); err != nil {
		return out, fmt.Errorf("%s: %w", r.At(), err)
	}
	return out, nil
}

// stepsOf returns the printed steps of the remaining metrics. A step near the precision of float64
// is omitted.
func (r *Run) stepsOf() map[string]float64 {
	var out map[string]float64
	for id, step := range r.steps {
		if v, ok := r.Metrics[id]; ok && step > 1e-13*v {
			put(&out, id, step)
		}
	}
	return out
}

// successRate is the share of successful requests. Tools print its counts, but not the share.
const successRate = "success.rate"

// summary returns the mean of each metric over the launches of a cell. The value of a launch is the
// mean over its passes.
func summary(runs []result.Run) map[string]float64 {
	passes := map[string]map[int][]float64{}
	for _, r := range runs {
		if r.Status != result.RunOK {
			continue
		}
		for id, v := range r.Metrics {
			if passes[id] == nil {
				passes[id] = map[int][]float64{}
			}
			passes[id][r.Repeat] = append(passes[id][r.Repeat], v)
		}
	}
	values := map[string][]float64{}
	for id, byRepeat := range passes {
		for _, repeat := range slices.Sorted(maps.Keys(byRepeat)) {
			values[id] = append(values[id], mean(id, byRepeat[repeat]))
		}
	}
	out := make(map[string]float64, len(values))
	for id, v := range values {
		out[id] = mean(id, v)
	}
	return out
}

// mean returns the geometric mean of a metric on the log scale if no value is 0, otherwise the
// arithmetic mean. Ids of other tools are times and rates, so they are on the log scale.
func mean(id string, values []float64) float64 {
	if len(values) == 1 {
		return values[0] // exact, without logarithms
	}
	m, known := metric.Lookup(id)
	if slices.Min(values) > 0 && (!known || m.Scale == metric.Log) {
		return metric.Metric{Scale: metric.Log}.Mean(values)
	}
	return record.Mean(values)
}
