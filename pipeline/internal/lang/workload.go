package lang

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/steps"
	datasets "github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
)

// cell evaluates the workload of one cell.
type cell struct {
	*evaluator
	object
	scope *scope
	block *block
}

// workload evaluates the target and the workload of one cell. It reports a problem once, for the first cell
// that has it.
func (e *evaluator) workload(b *block, s *scope) (target string, w steps.Workload) {
	c := cell{evaluator: e, scope: s, block: b}
	c.object = e.evaluate([]layer{{b, s}}, e.workloadSchema, false)
	target = c.target()
	w = steps.Workload{
		Endpoint:       c.Text("endpoint"),
		Dataset:        c.dataset(),
		IgnoreEOS:      isTrue(c.object, "ignore_eos"),
		Temperature:    c.number(c.Object, "temperature", atLeastZero, "temperature"),
		Body:           c.body(),
		Models:         c.models(),
		RequestTimeout: c.Duration("request_timeout"),
	}
	for _, warm := range c.Blocks["warmup"] {
		w.Warmup = c.count(warm, "requests", 0, "warmup", "requests")
	}
	for _, l := range c.Blocks["load"] {
		w.Load = c.load(l)
	}
	for _, g := range c.Blocks["goodput"] {
		w.Goodput = c.goodput(g, w.Endpoint)
	}
	c.checkTimes(w)
	c.checkObjectives(w)
	if c.ok {
		c.checkSense(target, w)
	}
	return target, w
}

// checkTimes reports a load at the recorded times of a dataset that has none.
func (c cell) checkTimes(w steps.Workload) {
	if !w.Load.Recorded() || w.Dataset.Kind == "" {
		return
	}
	d, wrong := c.datasetOf(c.Value("dataset"), c.at("dataset"))
	if wrong == nil && !d.has("time_scale") {
		c.fail(fmt.Sprintf("datasets of kind %q have no times", d.kind.Name),
			"Arrival \"trace\" needs a dataset of kind trace. For others set a rate, or choose unlimited or closed.", "load", "arrival")
	}
}

// fail reports a problem of an argument in this cell.
func (c cell) fail(summary, detail string, path ...string) {
	note := ""
	if expr := argumentAt(c.block, path); expr != nil {
		note = c.scope.noteFor(expr)
	}
	c.report(problem(codeLoad, c.at(path...), summary, detail+note))
}

// argumentAt finds the expression of an argument of a block or its nested blocks.
func argumentAt(b *block, path []string) hcl.Expression {
	for len(path) > 1 && b != nil {
		b, path = b.one(path[0]), path[1:]
	}
	if b == nil || len(path) == 0 || b.attrs[path[0]] == nil {
		return nil
	}
	return b.attrs[path[0]].Expr
}

func (c cell) target() string {
	v := c.Value("target")
	if !c.Has("target") || !v.IsKnown() {
		return ""
	}
	id, d := c.targetOf(v, c.at("target"))
	if d != nil {
		d.Detail += c.scope.noteFor(c.block.attrs["target"].Expr)
		c.report(d)
	}
	return id
}

// dataset returns the dataset with the benchmark's overrides.
func (c cell) dataset() steps.Dataset {
	v := c.Value("dataset")
	if !c.Has("dataset") || !v.IsKnown() {
		return steps.Dataset{}
	}
	d, wrong := c.datasetOf(v, c.at("dataset"))
	if wrong != nil {
		c.report(wrong)
		return steps.Dataset{}
	}
	out := d.spec
	c.override(d, inputLen, &out.InputMin, &out.InputMax)
	c.override(d, outputLen, &out.OutputMin, &out.OutputMax)
	if c.Known(prefixLen) && c.allowed(d, prefixLen) {
		out.PrefixLen = c.count(c.Object, prefixLen, 0, prefixLen)
	}
	if datasets.RealAnswers(out) && c.Text("endpoint") != "chat" {
		c.fail("real_answers needs endpoint = \"chat\"", "Only its messages can hold what the server said.", "dataset")
	}
	if err := datasets.CheckEndpoint(out, c.Text("endpoint")); err != nil {
		c.fail("the dataset is not for this endpoint", diag.Sentence(err), "dataset")
	}
	if steps.Pooled(c.Text("endpoint")) && out.OutputMin == 0 {
		out.OutputMin, out.OutputMax = 1, 1 // an answer has no length, and datasets need one
	}
	if d.ok && c.ok {
		c.checkLengths(d, out)
	}
	return out
}

// override replaces a length of the dataset by the benchmark's.
func (c cell) override(d *dataset, name string, low, high *int) {
	if !c.Known(name) || !c.allowed(d, name) {
		return
	}
	a, b, err := lengths(c.Value(name))
	if err != nil {
		c.fail(fmt.Sprintf("%s is not a length", name), diag.Sentence(err), name)
		return
	}
	*low, *high = a, b
}

// allowed reports whether the kind of dataset has an argument. If not, the override is a problem.
func (c cell) allowed(d *dataset, name string) bool {
	if d.has(name) {
		return true
	}
	c.fail(fmt.Sprintf("datasets of kind %q have no %s", d.kind.Name, name), "Remove the argument: the data say it.", name)
	return false
}

// checkLengths checks lengths against each other, after both places have been read. Only kinds with an argument
// input_len need them.
func (c cell) checkLengths(d *dataset, spec steps.Dataset) {
	if !d.has(inputLen) {
		return
	}
	missing := ""
	switch {
	case spec.InputMin == 0:
		missing = inputLen
	case spec.OutputMin == 0 && d.has(outputLen):
		missing = outputLen
	}
	if missing != "" {
		c.fail(fmt.Sprintf("%s is missing", missing),
			fmt.Sprintf("Set it in the dataset at %s, or here in the benchmark.", place(d.block.header)), "dataset")
		return
	}
	if spec.PrefixLen >= spec.InputMin {
		name := prefixLen
		if !c.Has(prefixLen) && c.Has(inputLen) {
			name = inputLen
		}
		c.fail("prefix_len leaves no token of its own to a prompt",
			fmt.Sprintf("The prefix has %d tokens and the shortest prompt %d, its prefix included.", spec.PrefixLen, spec.InputMin), name)
	}
}

// goodput reads the limits of a good request.
func (c cell) goodput(o steps.Object, endpoint string) (g steps.Goodput) {
	for _, l := range []struct {
		name string
		into *time.Duration
	}{{"ttft", &g.TTFT}, {"tpot", &g.TPOT}, {"e2el", &g.E2EL}} {
		switch *l.into = o.Duration(l.name); {
		case !o.Known(l.name):
		case *l.into <= 0:
			c.fail(l.name+" must be above zero", "No request would be good. Leave it out for no limit.", "goodput", l.name)
		case steps.Pooled(endpoint) && l.name != "e2el":
			c.fail("an answer of "+endpoint+" has no "+l.name, "It is not made of tokens. Limit e2el instead.", "goodput", l.name)
		}
	}
	if c.ok && g == (steps.Goodput{}) && !o.Has("ttft") && !o.Has("tpot") && !o.Has("e2el") {
		c.fail("goodput has no limit", "Set ttft, tpot or e2el, or remove the block.", "goodput")
	}
	return g
}

// body returns the extra fields of the request.
func (c cell) body() map[string]any {
	if !c.Known("body") {
		return nil
	}
	fields, ok := plain(c.Value("body"), "").(map[string]any)
	if !ok {
		c.fail("body must be a map", "For example body = { top_p = 0.9 }.", "body")
	}
	return fields
}

// models returns the names of the models that requests are sent to, with their weights.
func (c cell) models() map[string]float64 {
	if !c.Known("models") {
		return nil
	}
	const example = "For example models = { \"base\" = 1, \"sql-lora\" = 3 }."
	named, ok := plain(c.Value("models"), "").(map[string]any)
	if !ok || len(named) == 0 {
		c.fail("models must be a map of names to weights", example, "models")
		return nil
	}
	weights := map[string]float64{}
	for name, v := range named {
		w, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err != nil || !(w > 0) || math.IsInf(w, 0) || name == "" {
			c.fail(fmt.Sprintf("the weight of model %q must be a number above zero", name), example, "models")
			return nil
		}
		weights[name] = w
	}
	return weights
}

// Lower bounds of numbers.
const (
	atLeastZero = iota
	aboveZero
)

// number reads a number within its bound; 0 if it is not set.
func (c cell) number(o steps.Object, name string, bound int, path ...string) float64 {
	if !o.Known(name) {
		return 0
	}
	x := o.Float(name)
	if bound == aboveZero && x <= 0 {
		c.fail(fmt.Sprintf("%s must be above zero", name), fmt.Sprintf("It is %g.", x), path...)
	} else if x < 0 {
		c.fail(fmt.Sprintf("%s must not be negative", name), fmt.Sprintf("It is %g.", x), path...)
	}
	return x
}

// maxRequests limits the requests of one run: each becomes a record.
const maxRequests = 10_000_000

// count reads a whole number; 0 if it is not set.
func (c cell) count(o steps.Object, name string, low int64, path ...string) int {
	if !o.Known(name) {
		return 0
	}
	n, err := whole(o.Value(name), low, maxRequests)
	if err != nil {
		of := "requests"
		if name == prefixLen {
			of = "tokens"
		}
		c.fail(fmt.Sprintf("%s is not a number of %s", name, of), diag.Sentence(err), path...)
	}
	return n
}

// load reads the load block, which defines when requests are sent.
func (c cell) load(o steps.Object) steps.Load {
	l := steps.Load{
		Arrival:        o.Text("arrival"),
		Rate:           o.Float("rate"),
		Burstiness:     o.Float("burstiness"),
		MaxConcurrency: c.count(o, "max_concurrency", 1, "load", "max_concurrency"),
		Requests:       c.count(o, "requests", 1, "load", "requests"),
		Duration:       o.Duration("duration"),
		Ramp:           o.Duration("ramp"),
		ThinkTime:      o.Duration("think_time"),
		Options:        c.loadOptions(o),
	}
	for _, r := range o.Blocks["ramp"] {
		l.RampFrom, l.Ramp = c.number(r, "from", atLeastZero, "load", "ramp", "from"), r.Duration("over")
	}
	if !o.Has("arrival") {
		l.Arrival = load.DefaultArrival(setIn(o))
	}
	if m, err := c.prog.arrivals.Lookup(l.Arrival); err == nil && m.Fill != nil {
		m.Fill(&l)
	}
	for _, s := range o.Blocks["search"] {
		return c.searching(o, s, l)
	}
	if c.ok {
		c.checkLoad(o, l)
	}
	return l
}

// fixedArguments lists the arguments of a load that have a field. All others are options.
var fixedArguments = []string{"arrival", "rate", "burstiness", "max_concurrency", "requests", "duration", "ramp", "think_time"}

// loadOptions reads the arguments that only some load models have.
func (c cell) loadOptions(o steps.Object) map[string]any {
	var out map[string]any
	for name, v := range o.Attrs {
		if o.Known(name) && !slices.Contains(fixedArguments, name) {
			if out == nil {
				out = map[string]any{}
			}
			out[name] = plain(v, "")
		}
	}
	return out
}

// setIn returns a function that reports whether an argument or block of o is set.
func setIn(o steps.Object) func(name string) bool {
	return func(name string) bool { return o.Has(name) || len(o.Blocks[name]) > 0 }
}

// checkLoad reports arguments that contradict each other.
func (c cell) checkLoad(o steps.Object, l steps.Load) {
	switch {
	case o.Has("requests") == o.Has("duration"):
		c.fail("load needs exactly one of requests and duration", "One of them says when the run ends.", "load")
		return
	case o.Has("duration") && l.Duration <= 0:
		c.fail("duration must be above zero", "It is the time during which requests are sent.", "load", "duration")
		return
	case o.Has("ramp") && len(o.Blocks["ramp"]) > 0:
		c.fail("ramp is there twice", "Write it as an argument or as a block, not both.", "load", "ramp")
		return
	}
	if p := c.prog.arrivals.Problem(l, setIn(o)); p != nil {
		c.fail(p.Summary, p.Detail, append([]string{"load"}, p.Path...)...)
	} else if n := c.prog.arrivals.Count(l); n > maxRequests {
		c.fail("load sends too many requests", fmt.Sprintf("A rate of %g brings %d within %s, and a run has at most %d.", l.Rate, n,
			l.Duration, maxRequests), "load", "duration")
	}
}

// requestsOf returns how many requests a run of a load has. For a searched rate it returns the fewest of any
// probe. It returns 0 if only the server determines the number: in a closed loop bounded by time.
func (p *program) requestsOf(l steps.Load) int {
	if l.Search != nil && !l.Closed() {
		l = l.At(l.Search.Min)
	}
	return p.arrivals.Count(l)
}
