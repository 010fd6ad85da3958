package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/result"
)

// FitOptions of Fit.
type FitOptions struct {
	// Options define a launch and the names in the document. By is not used.
	Options
	// Names are the parameters that hold an axis, by the name of the axis, if the two differ.
	Names map[string]string
	// BlockOrder declares that the sides were measured one after the other and not in turn.
	BlockOrder bool
	// Loose lets results stand for every value of an axis that none of them reports. An old file
	// that does not name its side is then a baseline of every side.
	Loose bool
}

// benchmarkParam is the parameter that names the benchmark of a result, if a file has several that
// fit.
const benchmarkParam = "benchmark"

// Fit fills the cells of a plan, given as benchmarks without runs, with imported runs. A result
// belongs to the cell whose axis values equal the result's parameters of the same names. Results
// that fit no cell are omitted with a warning. A cell without a result stays empty, and the gates
// report it as missing. As in Document, several results of one launch are passes.
func Fit(runs []Run, benchmarks []result.Benchmark, opt FitOptions) (*result.Document, error) {
	d, err := newDocument(runs, opt.Options)
	if err != nil {
		return nil, err
	}
	d.describe()
	d.doc.Benchmarks = benchmarks
	f := fitting{document: d, opt: opt, unreported: map[string]bool{}}
	if err := f.place(); err != nil {
		return nil, err
	}
	for _, c := range f.slots {
		if err := f.fillSlot(c); err != nil {
			return nil, err
		}
	}
	f.levelPasses()
	d.finish()
	return d.doc, nil
}

// levelPasses numbers the passes of every launch from 1 if some launch has several, because gates
// pair the passes of both sides by number.
func (f *fitting) levelPasses() {
	fewest, most, numbered := map[int]int{}, 0, false
	for _, s := range f.slots {
		passes := map[int]int{}
		for _, r := range s.cell.Runs {
			if numbered = numbered || r.Pass > 0; r.Status == result.RunVoid {
				continue
			}
			passes[r.Repeat]++
			most = max(most, passes[r.Repeat])
		}
		for repeat, n := range passes {
			if least, ok := fewest[repeat]; !ok || n < least {
				fewest[repeat] = n
			}
		}
	}
	if !numbered {
		return
	}
	for _, s := range f.slots {
		for i := range s.cell.Runs {
			s.cell.Runs[i].Pass = max(1, s.cell.Runs[i].Pass)
		}
	}
	for _, repeat := range slices.Sorted(maps.Keys(fewest)) {
		if fewest[repeat] < most {
			f.notef(serious, "some cells have %d results of launch %d and others up to %d: of a comparison, only the passes that both sides have "+
				"are judged, the first with the first", fewest[repeat], repeat, most)
			break
		}
	}
}

// fitting is a document whose given cells are filled.
type fitting struct {
	*document
	opt        FitOptions
	slots      []*slot
	unreported map[string]bool // axes that no result reports, by benchmark and name; true if results stand for every value
	left       int
}

// slot is a given cell with its results.
type slot struct {
	benchmark *result.Benchmark
	cell      *result.Cell
	values    []string // canonical, of the cell's axes
	runs      []*Run
}

// place assigns the results to the cells.
func (f *fitting) place() error {
	for i := range f.doc.Benchmarks {
		b := &f.doc.Benchmarks[i]
		for j := range b.Cells {
			s := &slot{benchmark: b, cell: &b.Cells[j]}
			for _, v := range s.cell.Values {
				s.values = append(s.values, canonicalValue(v.Value))
			}
			f.slots = append(f.slots, s)
		}
		if err := f.findUnreported(b); err != nil {
			return err
		}
	}
	for _, r := range f.runs {
		if err := f.placeRun(r); err != nil {
			return err
		}
	}
	if f.left == len(f.runs) {
		return f.nothingFits()
	}
	return nil
}

// findUnreported finds the axes of a benchmark that no result reports. An axis with one value, or
// in a loose fit any axis, need not be reported.
func (f *fitting) findUnreported(b *result.Benchmark) error {
	values := valuesOfAxes(b)
	for _, axis := range slices.Sorted(maps.Keys(values)) {
		if slices.ContainsFunc(f.runs, func(r *Run) bool { _, ok := r.Param(f.param(axis)); return ok }) {
			continue
		}
		f.unreported[b.Addr+" "+axis] = f.opt.Loose || len(values[axis]) == 1
		switch {
		case len(values[axis]) == 1:
		case f.opt.Loose:
			f.notef(serious, "the results do not report %s, so they stand for every value of it", clip(axis))
		case len(f.doc.Benchmarks) == 1:
			return missing(f.runs[0], f.param(axis))
		}
	}
	return nil
}

// valuesOfAxes returns the values in the cells of a benchmark, by the name of the axis.
func valuesOfAxes(b *result.Benchmark) map[string]map[string]bool {
	values := map[string]map[string]bool{}
	for _, c := range b.Cells {
		for _, v := range c.Values {
			if values[v.Name] == nil {
				values[v.Name] = map[string]bool{}
			}
			values[v.Name][v.Value] = true
		}
	}
	return values
}

// param returns the parameter that holds an axis.
func (f *fitting) param(axis string) string { return cmp.Or(f.opt.Names[axis], axis) }

// placeRun assigns a result to its cell, or in a loose fit to one cell for each value that is not
// reported.
func (f *fitting) placeRun(r *Run) error {
	var found []*slot
	param := paramsOf(r)
	for _, s := range f.slots {
		if f.belongs(param, s) {
			found = append(found, s)
		}
	}
	for _, s := range found[min(1, len(found)):] {
		if s.benchmark != found[0].benchmark {
			return &Error{r.Source, r.Line, fmt.Errorf("the result fits %s and %s: say which by a label, such as %s=%s",
				found[0].benchmark.Addr, s.benchmark.Addr, benchmarkParam, shortBenchmark(s.benchmark))}
		}
	}
	if len(found) == 0 {
		f.left++
		f.notef(serious, "%s fits no cell and is left out", r.At())
	}
	for _, s := range found {
		s.runs = append(s.runs, r)
	}
	return nil
}

func shortBenchmark(b *result.Benchmark) string { return strings.TrimPrefix(b.Addr, "benchmark.") }

// paramsOf returns Run.Param for one result, which looks up each parameter once for all cells.
func paramsOf(r *Run) func(key string) (string, bool) {
	type param struct {
		value string
		ok    bool
	}
	known := map[string]param{}
	return func(key string) (string, bool) {
		p, seen := known[key]
		if !seen {
			p.value, p.ok = r.Param(key)
			known[key] = p
		}
		return p.value, p.ok
	}
}

func (f *fitting) belongs(param func(string) (string, bool), s *slot) bool {
	if name, ok := param(benchmarkParam); ok && name != shortBenchmark(s.benchmark) && name != s.benchmark.Addr {
		return false
	}
	for i, v := range s.cell.Values {
		if every, unreported := f.unreported[s.benchmark.Addr+" "+v.Name]; unreported {
			if every {
				continue
			}
			return false
		}
		if got, ok := param(f.param(v.Name)); !ok || got != s.values[i] {
			return false
		}
	}
	return true
}

// nothingFits returns an error with the values of the first result and those of the cells.
func (f *fitting) nothingFits() error {
	r := f.runs[0]
	var have, want []string
	if len(f.slots) > 0 {
		for _, v := range f.slots[0].cell.Values {
			got, ok := r.Param(f.param(v.Name))
			if !ok {
				got = "nothing"
			}
			have = append(have, f.param(v.Name)+"="+clip(got))
			want = append(want, v.Name+"="+v.Value)
		}
	}
	return &Error{r.Source, r.Line, fmt.Errorf("no result fits a cell: this one has %s, and the first cell of %d is %s",
		strings.Join(have, ", "), len(f.slots), strings.Join(want, ", "))}
}

// fillSlot makes the runs of a given cell from its results.
func (f *fitting) fillSlot(s *slot) error {
	s.cell.Runs, s.cell.Target = []result.Run{}, targetAddr
	if len(s.runs) == 0 {
		return nil
	}
	c := &cell{values: s.cell.Values, hash: s.cell.Hash, runs: s.runs}
	switch {
	case !slices.ContainsFunc(s.runs, func(r *Run) bool { return r.Counts != (Counts{}) }):
		f.notef(serious, "results of the cell %s report no numbers of requests, which the comparison of success rates needs: those of "+
			"completed and of failed requests, in a table as the columns completed and failed", name(c.values))
	case slices.ContainsFunc(s.runs, func(r *Run) bool { return !r.Counts.FailedKnown }):
		f.notef(serious, "results of the cell %s do not report how many requests failed: only their successes are counted", name(c.values))
	}
	if differs := differentWork(s.runs); differs != "" {
		f.notef(serious, "results of the cell %s did different work (%s)", name(c.values), differs)
	}
	given := []string{f.opt.LaunchBy, benchmarkParam}
	for _, v := range s.cell.Values {
		given = append(given, f.param(v.Name))
	}
	c.given = given
	if keys := undeclared(s.runs, given); len(keys) > 0 { // they define neither an axis nor the launches
		f.notef(serious, "results of the cell %s differ in %s, which is not an axis of %s", name(c.values),
			differences(s.runs, keys), s.benchmark.Addr)
	}
	if err := f.fill(s.cell, c, f.known()); err != nil { // without launches every cell is one unit
		return err
	}
	if s.cell.Workload == "" {
		s.cell.Workload = workloadText(s.runs[0])
	}
	return nil
}
