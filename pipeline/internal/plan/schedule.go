package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// schedule lays out the repeats. A repeat launches every target once. Each launch runs all cells of its target,
// of all benchmarks, as often as they have passes. The second pass begins when every cell has had its first.
// The order of the targets is drawn for each repeat (see order), so that no disturbance that follows a clock
// favours a side. The cells of a pass run in an order drawn anew for each repeat and pass, the same on every
// side.
//
// Repeats take the lanes of a cluster, or the machines of the file, in turn, with all their sides on one of
// them.
func schedule(p *Plan) []Repeat {
	repeats := 0
	for _, b := range p.Benchmarks {
		if len(b.Cells) > 0 && !b.Cells[0].handedOver() {
			repeats = max(repeats, b.RepeatMax)
		}
	}
	drawn := orderOf(p)
	out := make([]Repeat, 0, repeats)
	for r := 1; r <= repeats; r++ {
		out = append(out, repeat(p.Benchmarks, r, p.places(), drawn))
	}
	return out
}

// item is a cell of a benchmark.
type item struct {
	benchmark *Benchmark
	cell      Cell
}

func repeat(benchmarks []Benchmark, r, lanes int, drawn order) Repeat {
	var targets []string
	byTarget := map[string][]item{}
	for i := range benchmarks {
		b := &benchmarks[i]
		if r > b.RepeatMax {
			continue
		}
		for _, c := range b.Cells {
			if c.handedOver() {
				continue
			}
			if _, seen := byTarget[c.Target]; !seen {
				targets = append(targets, c.Target)
			}
			byTarget[c.Target] = append(byTarget[c.Target], item{b, c})
		}
	}
	drawn.sort(targets, r)
	rep := Repeat{Index: r, Lane: (r - 1) % lanes}
	for _, target := range targets {
		launch := Launch{ID: fmt.Sprintf("r%d-%s", r, target), Target: target}
		for _, left := range [][]item{itemsOf(byTarget[target], false), itemsOf(byTarget[target], true)} {
			for pass := 1; len(left) > 0; pass++ {
				launch.Runs = append(launch.Runs, passOf(left, r, pass)...)
				left = slices.DeleteFunc(left, func(it item) bool { return pass >= it.benchmark.Passes })
			}
		}
		rep.Launches = append(rep.Launches, launch)
	}
	return rep
}

// itemsOf returns the cells that are evaluations, or the others. Evaluations run last, so that what they leave
// in a server's caches affects no measurement.
func itemsOf(items []item, evaluations bool) []item {
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool { return (it.cell.evaluation() != nil) != evaluations })
}

// evaluation returns the evaluation of a cell, nil if it is none.
func (c *Cell) evaluation() *steps.Evaluation {
	if c.Workload.Driver == nil {
		return nil
	}
	return c.Workload.Driver.Evaluation
}

// passOf returns the runs of one pass over the cells of a launch.
func passOf(items []item, repeat, pass int) []Run {
	keys := make([]string, len(items))
	seeds := make([]uint64, len(items))
	for i, it := range items {
		keys[i], seeds[i] = passKey(it.cell.WorkKey, pass), it.benchmark.Seed
	}
	runs := make([]Run, 0, len(items))
	for _, i := range shuffled(keys, seeds, repeat) {
		it := items[i]
		run := Run{
			Benchmark: it.benchmark.Addr,
			Cell:      it.cell.Hash,
			Seed:      runSeed(it.benchmark.Seed, content(it.cell, repeat), keys[i]),
			ShapeSeed: runSeed(it.benchmark.Seed, 0, it.cell.WorkKey),
		}
		if it.benchmark.Passes > 1 {
			run.Pass = pass
		}
		runs = append(runs, run)
	}
	return runs
}

// content returns the repeat whose prompts a cell is sent. If the answers of launches are compared, it returns
// 0, which all repeats share.
func content(c Cell, repeat int) int {
	if c.Workload.Answers != nil {
		return 0
	}
	return repeat
}

// handedOver reports whether the results of a cell come from elsewhere. Nothing is launched or run for it, and
// it has as many repeats as there are results.
func (c *Cell) handedOver() bool { return handedOver(c.Workload) }

func handedOver(w steps.Workload) bool {
	return w.Driver != nil && w.Driver.Kind == steps.DriverResults
}

// looks returns the numbers of repeats after which all gates are judged. The file has one sequence, because it
// has one error rate. No benchmark ends before its least number of repeats.
func looks(benchmarks []Benchmark) []int {
	least, most := 0, 0
	for _, b := range benchmarks {
		if len(b.Cells) > 0 {
			least, most = max(least, b.RepeatMin), max(most, b.RepeatMax)
		}
	}
	if most == 0 {
		return nil
	}
	return gates.LooksBetween(least, most)
}

// benchmark returns a planned benchmark, or the zero Benchmark if there is none at the address.
func (p *Plan) benchmark(addr string) Benchmark {
	for _, b := range p.Benchmarks {
		if b.Addr == addr {
			return b
		}
	}
	return Benchmark{}
}

func (p *Plan) repeatsOf(benchmark string) int { return p.benchmark(benchmark).RepeatMax }

// PassesOf returns how often each cell of a benchmark is measured in a launch.
func (p *Plan) PassesOf(benchmark string) int { return max(p.benchmark(benchmark).Passes, 1) }

// Cell returns a planned cell by its hash, with its benchmark.
func (p *Plan) Cell(hash string) (Benchmark, Cell, bool) {
	if at, ok := p.cells[hash]; ok && at.benchmark < len(p.Benchmarks) {
		if b := p.Benchmarks[at.benchmark]; at.cell < len(b.Cells) && b.Cells[at.cell].Hash == hash {
			return b, b.Cells[at.cell], true
		}
	}
	for i := range p.Benchmarks { // of a plan that was derived from another
		for j := range p.Benchmarks[i].Cells {
			if p.Benchmarks[i].Cells[j].Hash == hash {
				return p.Benchmarks[i], p.Benchmarks[i].Cells[j], true
			}
		}
	}
	return Benchmark{}, Cell{}, false
}

// Read returns the plan in a text that json.Marshal made of one.
func Read(text []byte) (*Plan, error) {
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	p.cells = cellsOf(p.Benchmarks)
	return &p, nil
}

// cellAt is the position of a cell in a plan.
type cellAt struct{ benchmark, cell int }

// cellsOf returns where the cells of benchmarks are, by their hashes.
func cellsOf(benchmarks []Benchmark) map[string]cellAt {
	at := map[string]cellAt{}
	for i, b := range slices.Backward(benchmarks) { // the first of a hash has priority
		for j, c := range slices.Backward(b.Cells) {
			at[c.Hash] = cellAt{i, j}
		}
	}
	return at
}

// Reschedule lays out the repeats of the plan's benchmarks anew and estimates their cost, for callers that
// derive one plan from another.
func (p *Plan) Reschedule() {
	p.Repeats, p.Looks = schedule(p), looks(p.Benchmarks)
	p.Estimate = estimate(p)
	used := map[string]bool{}
	for _, r := range p.Repeats {
		for _, l := range r.Launches {
			used[l.Target] = true
		}
	}
	p.Targets = slices.DeleteFunc(slices.Clone(p.Targets), func(t Target) bool { return !used[t.Addr] })
}

// Seal renews the plan's fingerprint after changes.
func (p *Plan) Seal() { p.Fingerprint = fingerprint(p) }

// The values of Plan.Simulated; "" means that the servers are real.
const (
	// SimulateProcess replaces the servers with simulated ones, as processes.
	SimulateProcess = "process"
	// SimulateContainer replaces them with simulated ones in containers.
	SimulateContainer = "container"
	// SimulateVirtual executes the plan in virtual time, without processes.
	SimulateVirtual = result.SimulatedVirtual
)

// OverSockets reports whether simulated servers run as processes or in containers. They hold none of the
// machines that the file names.
func (p *Plan) OverSockets() bool { return p.Simulated != "" && p.Simulated != SimulateVirtual }
