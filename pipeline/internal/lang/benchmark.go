package lang

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// benchmark evaluates a benchmark block and expands its matrix.
func (e *evaluator) benchmark(ent *entity) {
	b := ent.block
	bm := &config.Benchmark{Addr: ent.addr, Range: b.header, TargetRange: b.at("target")}
	s := e.newScope()
	e.settings(bm, b)
	axes, ok := e.matrix(b)
	measure := e.workload
	if isAnswers(b) {
		measure = e.answers
		e.repeatLikeOthers(bm, b)
	}
	if b.one("driver") != nil {
		ok = e.checkDriver(b) && ok
		measure = e.driven
	}
	for _, a := range axes {
		bm.Axes = append(bm.Axes, a.Axis)
	}
	if !ok {
		return
	}
	e.benchmarks[ent.addr] = bm
	for _, cell := range combinations(axes) {
		scope := cellScope(s, cell)
		if e.excluded(b, scope) {
			bm.Excluded++
			continue
		}
		cell.Target, cell.Workload = measure(b, scope)
		bm.Cells = append(bm.Cells, cell)
	}
	if len(bm.Cells) == 0 {
		e.report(problem(codeCells, b.header, "benchmark has no cell", fmt.Sprintf("All %s of its matrix are excluded.",
			humanize.Count(bm.Excluded, "cell"))))
	}
}

// excluded reports whether one of the exclude blocks leaves a cell out.
func (e *evaluator) excluded(b *block, cell *scope) bool {
	m := b.one("matrix")
	if m == nil {
		return false
	}
	for _, x := range m.nested("exclude") {
		if !x.has("when") {
			continue // checked by matrix
		}
		if yes, _ := e.holds(cell, x.attrs["when"].Expr, "when"); yes {
			return true
		}
	}
	return false
}

// settings evaluates the arguments that hold for all cells.
func (e *evaluator) settings(bm *config.Benchmark, b *block) {
	o := e.evaluate([]layer{{b, e.newScope()}}, benchmarkSettings(), false)
	bm.Description = o.Text("description")
	bm.Timeout = o.Duration("timeout")
	if o.Known("timeout") && bm.Timeout <= 0 {
		e.report(problem(codeValue, o.at("timeout"), "timeout must be above zero", "Leave it out to have it derived from the workload."))
	}
	if o.Known("seed") {
		seed, err := whole(o.Value("seed"), 0, math.MaxInt64)
		if err != nil {
			e.report(problem(codeValue, o.at("seed"), "seed must be a whole number", diag.Sentence(err)))
		}
		bm.Seed = uint64(seed)
	}
	e.repeats(bm, o)
	bm.Limits = e.limits(o)
}

// repeats reads how often each side is measured.
func (e *evaluator) repeats(bm *config.Benchmark, o object) {
	bm.RepeatMin, bm.RepeatMax, bm.Passes = defaultRepeats, defaultRepeats, 1
	for _, r := range o.Blocks["repeat"] {
		bm.Passes = max(1, e.repeatBound(o, r, "passes", "passes", maxPasses))
		low, high := e.repeatBound(o, r, "min", "repeats", config.MaxRepeats), e.repeatBound(o, r, "max", "repeats", config.MaxRepeats)
		low, high = cmp.Or(low, high), cmp.Or(high, low)
		if low == 0 {
			return
		}
		switch {
		case low > high:
			e.report(problem(codeValue, o.at("repeat", "min"), "min of repeat is above max", fmt.Sprintf("They are %d and %d.", low, high)))
			low = high
		case low < high && low < e.leastLook():
			least := e.leastLook()
			advice := fmt.Sprintf("Write min = %d, or min = max for one judgement at the end.", least)
			if low > 1 {
				advice += " With a known spread (pipeline { variance { } }) it may be 2."
			}
			e.report(problem(codeValue, o.at("repeat", "min"), fmt.Sprintf("repeats cannot stop before %d of them", least),
				fmt.Sprintf("A look at %s rarely decides, and makes every later one stricter. ", humanize.Count(low, "repeat"))+advice))
			low = high
		}
		bm.RepeatMin, bm.RepeatMax = low, high
	}
}

// leastLook is the least number of repeats after which a session may stop early.
const leastLook = 4

// leastLook returns 2 if a calibration supplies the spread of pairs, which two pairs cannot estimate, else 4.
func (e *evaluator) leastLook() int {
	if s := e.prog.settings; s != nil && s.one("variance") != nil {
		return 2
	}
	return leastLook
}

// repeatBound reads a number of repeats or passes, 0 if it is not set.
func (e *evaluator) repeatBound(o object, r steps.Object, name, of string, most int64) int {
	if !r.Known(name) {
		return 0
	}
	n, err := whole(r.Value(name), 1, most)
	if err != nil {
		e.report(problem(codeValue, o.at("repeat", name), fmt.Sprintf("%s of repeat is not a number of %s", name, of), diag.Sentence(err)))
	}
	return n
}

// maxPasses limits the passes of a cell in a launch. More would average out less than what varies between
// launches.
const maxPasses = 100

// limits reads the client's limits: durations in seconds, shares as fractions.
func (e *evaluator) limits(o object) map[string]float64 {
	var out map[string]float64
	for _, l := range o.Blocks["limits"] {
		for name := range l.Attrs {
			if !l.Known(name) {
				continue
			}
			x := l.Float(name)
			if a, _ := limitsSchema().Attr(name); a.Unit == steps.UnitDuration {
				x /= float64(time.Second)
			}
			if x <= 0 {
				e.report(problem(codeValue, o.at("limits", name), fmt.Sprintf("%s must be above zero", name), "Leave it out for its default."))
			}
			if out == nil {
				out = map[string]float64{}
			}
			out[name] = x
		}
	}
	return out
}

// targetOf returns the address to which the value of the argument target refers.
func (e *evaluator) targetOf(v cty.Value, at hcl.Range) (string, *hcl.Diagnostic) {
	if id, ok := e.refID(v); ok {
		switch {
		case e.abstract[id]:
			return "", problem(codeTarget, at, fmt.Sprintf("%s is abstract", id),
				"It is a template that is never launched. Write a server that extends it, and use that as the target.")
		case e.servers[id] != nil || e.deployments[id] != nil:
			return id, nil
		}
		return "", problem(codeTarget, at, fmt.Sprintf("%s cannot be a target", id), "A target is a server or a deployment.")
	}
	if isMap(v) {
		for it := v.ElementIterator(); it.Next(); { // maps iterate sorted by key
			key, elem := it.Element()
			if _, ok := e.refID(elem); ok {
				return "", problem(codeTarget, at, "target names several servers",
					fmt.Sprintf("Choose one by its key, such as [%q], or make the key an axis: [matrix.side].", key.AsString()))
			}
		}
	}
	return "", problem(codeTarget, at, "target must be a server or a deployment", "Refer to it, such as server.vllm.sut.")
}
