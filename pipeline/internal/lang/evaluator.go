package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	"github.com/servegate/pipeline/steps"
	datasets "github.com/servegate/pipeline/steps/dataset"
	"github.com/zclconf/go-cty/cty"
	ctyfunction "github.com/zclconf/go-cty/cty/function"
)

// evaluator evaluates a program. It evaluates each name once, when it is first referred to, so that the order
// of blocks in the file does not matter. The names that are being evaluated form a path, which shows a cycle.
type evaluator struct {
	*reporter
	prog *program
	// meter limits what all expressions together may take. functions charge their cost to it.
	meter     *meter.Meter
	functions map[string]ctyfunction.Function
	vars      map[string]cty.Value // by address: "var.rate"
	// outputs holds the outputs of steps by address and name; nil at plan time.
	outputs map[string]map[string]string

	nodes     map[string]*node
	stack     []frame
	instanced map[*block]instances
	gates     map[string]bool // addresses, instances included

	steps       map[string]*config.Step
	servers     map[string]*config.Server // abstract ones included
	abstract    map[string]bool
	deployments map[string]*config.Deployment
	datasets    map[string]*dataset
	benchmarks  map[string]*config.Benchmark
	baselines   map[string]*config.Baseline
	measureList []steps.Measure
	measured    bool // measureList is complete or in progress

	secrets map[string]bool
	// searched holds the texts of arguments in which secrets were looked for: each cell evaluates the same ones again.
	searched map[string]bool
	// workloadSchema is evaluated for every cell.
	workloadSchema steps.Schema
	// cells counts the cells expanded so far, in all benchmarks.
	cells int
	// pods holds the settings of servers that become Pods, nil without a kubernetes block.
	pods *pods
	// files opens the files of datasets.
	files *datasets.Files
}

// node is the state of one name during evaluation.
type node struct {
	running, done bool
	cyclic        bool // its value needs itself
	value         cty.Value
	ok            bool
}

// frame is a name that is being evaluated, and the reference that led to it.
type frame struct {
	addr string
	at   hcl.Range
}

func newEvaluator(prog *program, vars map[string]cty.Value, rep *reporter) *evaluator {
	m := meter.New(meter.Default())
	return &evaluator{
		reporter: rep, prog: prog, vars: vars,
		meter: m, functions: function.Table(prog.readDir, m, prog.note),
		nodes: map[string]*node{}, instanced: map[*block]instances{}, gates: map[string]bool{},
		steps: map[string]*config.Step{}, servers: map[string]*config.Server{}, abstract: map[string]bool{},
		deployments: map[string]*config.Deployment{}, datasets: map[string]*dataset{},
		benchmarks: map[string]*config.Benchmark{}, baselines: map[string]*config.Baseline{},
		secrets: map[string]bool{}, searched: map[string]bool{}, workloadSchema: benchmarkWorkload(prog.arrivals),
	}
}

// refer evaluates the target of a reference and checks the keys and attributes that follow.
func (e *evaluator) refer(r reference) (cty.Value, bool) {
	if r.root == "metric" {
		return e.metricValue(r.path[1]), true
	}
	v, ok := e.value(r.addr, r.full.SourceRange())
	if !ok {
		return v, false
	}
	if r.root == "var" || r.root == "local" {
		return v, true // their types are the file's own: try and can may be used on them
	}
	if d := checkPath(r.full, len(r.path), v); d != nil {
		e.report(d)
		return v, false
	}
	return v, true
}

// value evaluates the name addr, which is referred to at a place. It returns false if the value cannot be used.
// The reason has then been reported.
func (e *evaluator) value(addr string, at hcl.Range) (cty.Value, bool) {
	n := e.nodes[addr]
	if n == nil {
		n = &node{}
		e.nodes[addr] = n
	}
	if n.running {
		e.cycle(addr, at)
		return cty.DynamicVal, false
	}
	if n.done {
		return n.value, n.ok
	}
	n.running = true
	e.stack = append(e.stack, frame{addr, at})
	n.value, n.ok = e.compute(addr)
	e.stack = e.stack[:len(e.stack)-1]
	n.running, n.done = false, true
	n.ok = n.ok && !n.cyclic
	return n.value, n.ok
}

// compute evaluates a name for the first time.
func (e *evaluator) compute(addr string) (cty.Value, bool) {
	switch rootOf(addr) {
	case "var":
		v, ok := e.vars[addr]
		return v, ok
	case "local":
		expr := e.prog.locals[addr].Expr
		v, ok := e.newScope().value(expr)
		if ok && !e.keep(expr.Range(), "", v) {
			return cty.DynamicVal, false
		}
		return v, ok
	}
	ent := e.prog.entities[addr]
	if ent.block.hasErrors {
		return cty.DynamicVal, false
	}
	switch ent.block.typ.name {
	case "step":
		return e.step(ent)
	case "server":
		return e.server(ent)
	case "deployment":
		return e.deployment(ent)
	case "gate":
		return e.gateValues(ent)
	}
	return named(ent.addr, ent.block), true
}

// keep charges a value that stays in memory to the meter. It returns false and reports a value beyond the
// limit. The message begins with of.
func (e *evaluator) keep(at hcl.Range, of string, v cty.Value) bool {
	if over := e.meter.Keep(v); over != nil {
		e.report(problem(codeTooMuch, at, of+over.Summary, over.Detail))
		return false
	}
	return true
}

// cycle reports that the evaluation of addr needs addr.
func (e *evaluator) cycle(addr string, at hcl.Range) {
	from := slices.IndexFunc(e.stack, func(f frame) bool { return f.addr == addr })
	path := e.stack[from:]
	names := make([]string, 0, len(path)+1)
	var lines []string
	for i, f := range path {
		e.nodes[f.addr].cyclic = true
		names = append(names, f.addr)
		next, where := addr, at
		if i+1 < len(path) {
			next, where = path[i+1].addr, path[i+1].at
		}
		lines = append(lines, fmt.Sprintf("  %s refers to %s at %s", f.addr, next, place(where)))
	}
	names = append(names, addr)
	e.report(problem(codeCycle, at, "references form a cycle: "+strings.Join(shorten(names, "…"), " → "),
		strings.Join(shorten(lines, "  …"), "\n")+"\nBreak it at one of these places."))
}

// shorten leaves out the middle of a very long list.
func shorten(list []string, mark string) []string {
	const ends = 10
	if len(list) <= 2*ends {
		return list
	}
	return slices.Concat(list[:ends], []string{mark}, list[len(list)-ends:])
}

// checkPath returns the problem of the first name of a traversal, from its step from on, that v does not have.
func checkPath(t hcl.Traversal, from int, v cty.Value) *hcl.Diagnostic {
	for i, step := range t[from:] {
		name, static := stepName(step)
		v, _ = v.Unmark()
		if !static || !v.IsKnown() || !isMap(v) {
			return nil
		}
		elements := v.AsValueMap()
		next, ok := elements[name]
		if !ok {
			parent := diag.TraversalText(t[:from+i])
			return problem(codeReference, step.SourceRange(), fmt.Sprintf("%s has no %q", parent, name),
				didYouMean(name, slices.Collect(maps.Keys(elements)), "names below "+parent))
		}
		v = next
	}
	return nil
}
