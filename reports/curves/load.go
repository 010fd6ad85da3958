package curves

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports/result"
)

// Load is the quantity that rises along a line.
type Load struct {
	Name  string // in tables: "request_rate", "concurrency" or "requests"
	Title string // of an axis
	Unit  string // after a number
}

// The kinds of load.
var (
	requestRate = Load{"request_rate", "request rate, req/s", "req/s"}
	concurrency = Load{"concurrency", "requests at once", "at once"}
	batch       = Load{"requests", "requests sent at once", "sent at once"}
)

// kinds maps the loads of searches.
var kinds = map[result.LoadKind]Load{result.LoadRate: requestRate, result.LoadConcurrency: concurrency}

// sample is a point that is not yet in a line.
type sample struct {
	load  Load
	shape string // of the requests: facts that other loads of the same work share
	point Point
	cell  *result.Cell
	// searched points are probes of a search.
	searched bool
}

// shapeOf lists the facts that describe a request. Points that differ in one of them belong to
// different charts.
var shapeOf = []string{
	"model", "dataset_name", "dataset_path", "dataset_sum", "dataset_options", "input_len", "output_len", "seq_length", "prefix_len",
	"range_ratio", "burstiness", "think_time", "load_options", "endpoint", "ignore_eos", "lora_modules",
}

// placed returns the points of a benchmark with their loads. unplaced counts cells whose load is
// unlimited.
func placed(doc *result.Document, b *result.Benchmark) (out []sample, unplaced int) {
	targets := map[string]int{}
	for _, t := range doc.Targets {
		if t.Answering == 0 { // otherwise other servers serve too
			targets[t.Addr] = t.GPUs
		}
	}
	var works []map[string]string
	for i := range b.Cells {
		works = append(works, workOf(&b.Cells[i]))
	}
	bounded := sameRate(works)
	for i := range b.Cells {
		cell, work := &b.Cells[i], works[i]
		gpus := targets[cell.Target]
		if n, err := strconv.Atoi(work["gpus"]); err == nil && n > 0 {
			gpus = n
		}
		facts := make([]string, len(shapeOf))
		for k, name := range shapeOf {
			facts[k] = work[name]
		}
		shape := strings.Join(facts, "\x00")
		if tried := probesOf(cell, gpus); len(tried) > 0 {
			for _, s := range tried {
				s.shape = shape
				out = append(out, s)
			}
			continue
		}
		load, at, ok := loadOf(work, bounded)
		if !ok {
			unplaced++
			continue
		}
		if launches := launchesOf(cell); len(launches) > 0 {
			out = append(out, sample{load: load, shape: shape, cell: cell, point: Point{Load: at, GPUs: gpus, Launches: launches, cell: cell}})
		}
	}
	return out, unplaced
}

// workOf returns the facts of a cell's work: its own, and those that its runs share.
func workOf(cell *result.Cell) map[string]string {
	out := map[string]string{}
	for i, r := range cell.Current() {
		for name, v := range r.Work {
			if i == 0 {
				out[name] = v
			} else if out[name] != v {
				out[name] = ""
			}
		}
	}
	maps.Copy(out, cell.Work)
	return out
}

// sameRate reports whether all cells have one request rate and differ in the limit of concurrent
// requests, which is then their load.
func sameRate(works []map[string]string) bool {
	rates, bounds := map[string]bool{}, map[string]bool{}
	for _, w := range works {
		rates[w["request_rate"]] = true
		bounds[w["max_concurrency"]] = true
	}
	return len(rates) == 1 && len(bounds) > 1 && !bounds[""]
}

// loadOf returns the load of a cell: its rate, the concurrency of a closed loop, or the number of
// requests that are all sent at once.
func loadOf(work map[string]string, bounded bool) (Load, float64, bool) {
	if rate, ok := positive(work["request_rate"]); ok && !bounded {
		return requestRate, rate, true
	}
	if n, ok := positive(work["max_concurrency"]); ok {
		return concurrency, n, true
	}
	if n, ok := positive(work["num_prompts"]); ok && work["request_rate"] == "inf" {
		return batch, n, true
	}
	return Load{}, 0, false
}

func positive(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && v > 0 && !math.IsInf(v, 0)
}

// launchesOf returns the launches of a cell with valid runs.
func launchesOf(cell *result.Cell) []Launch {
	var p Point
	for _, r := range cell.Current() {
		if r.Status == result.RunOK && len(r.Metrics) > 0 {
			p.launch(r.Pair()).add(r.Sent, r.Failed, r.Overloaded, r.Metrics)
		}
	}
	return p.Launches
}

// launch returns the launch of a repeat, and adds it if it is new.
func (p *Point) launch(repeat int) *Launch {
	for i := range p.Launches {
		if p.Launches[i].Repeat == repeat {
			return &p.Launches[i]
		}
	}
	p.Launches = append(p.Launches, Launch{Repeat: repeat})
	return &p.Launches[len(p.Launches)-1]
}

// add adds a pass.
func (l *Launch) add(sent, failed int, overloaded bool, metrics map[string]float64) {
	l.Sent, l.Failed, l.Overloaded = l.Sent+sent, l.Failed+failed, l.Overloaded || overloaded
	l.passes = append(l.passes, metrics)
}

// probesOf returns the loads that the searches of a cell tried, one point for each load.
func probesOf(cell *result.Cell, gpus int) []sample {
	var out []sample
	at := map[float64]int{}
	for _, r := range cell.Current() {
		if r.Search == nil || r.Status != result.RunOK {
			continue
		}
		for _, p := range r.Search.Probes {
			if p.Void != "" || p.Kind != r.Search.Over || !(p.Load > 0) || math.IsInf(p.Load, 0) {
				continue
			}
			i, ok := at[p.Load]
			if !ok {
				i = len(out)
				at[p.Load] = i
				out = append(out, sample{load: kinds[p.Kind], cell: cell, searched: true, point: Point{Load: p.Load, GPUs: gpus, cell: cell}})
			}
			point := &out[i].point
			point.launch(r.Pair()).add(p.Sent, p.Failed, p.Overloaded, p.Metrics)
			point.objectives = append(point.objectives, p.Objectives...)
		}
	}
	return out
}
