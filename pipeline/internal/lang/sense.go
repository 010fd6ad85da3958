package lang

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/zclconf/go-cty/cty"
)

// This file finds settings that are well formed but cannot be meant, because no machine can do them or because
// they decide nothing.

// Bounds of a workload that no client and no server exceeds.
const (
	maxRate = 100_000 // requests per second
	// leastTimeout is shorter than a round trip and a token take. usualTimeout is shorter than a first token
	// takes under load.
	leastTimeout = 10 * time.Millisecond
	usualTimeout = time.Second
)

// contextArguments lists the engines' names for the longest sequence.
var contextArguments = []string{"max_model_len", "context_length"}

// checkSense reports a cell that no server can answer.
func (c cell) checkSense(target string, w steps.Workload) {
	if w.Load.Rate > maxRate {
		c.fail("rate is higher than any client sends", fmt.Sprintf("It is %g requests per second, and at most %d can be planned.", w.Load.Rate,
			maxRate), "load", "rate")
	}
	switch t := w.RequestTimeout; {
	case c.Known("request_timeout") && t < leastTimeout:
		c.fail("request_timeout leaves no time for an answer", fmt.Sprintf("It is %s, so every request would fail. Write for example \"30s\".",
			t), "request_timeout")
	case c.Known("request_timeout") && t < usualTimeout && c.block.has("request_timeout"):
		c.report(warning(codeLoad, c.at("request_timeout"), "request_timeout is short",
			fmt.Sprintf("A request that is not answered in full within %s has failed. Is the unit right?", t)))
	}
	if err := steps.CheckBody(w.Body); err != nil {
		c.fail("body sets what the load generator writes", diag.Sentence(err), "body")
	}
	c.checkContext(target, w)
}

// checkContext compares the longest request with the longest sequence of the servers.
func (c cell) checkContext(target string, w steps.Workload) {
	longest := w.Dataset.InputMax + w.Dataset.OutputMax
	servers := []*config.Server{c.servers[target]}
	if d := c.deployments[target]; d != nil {
		servers = d.Servers
	}
	for _, s := range servers {
		if s == nil || w.Dataset.InputMax == 0 {
			continue
		}
		for _, a := range s.Spec.Args {
			limit, ok := a.Value.(int64)
			if !ok || !slices.Contains(contextArguments, argument.FullName(s.Spec, a.Name)) || int64(longest) <= limit {
				continue
			}
			path := []string{"dataset"}
			if c.Has(inputLen) {
				path = []string{inputLen}
			}
			c.fail(fmt.Sprintf("requests are longer than %s of %s", a.Name, s.Addr),
				fmt.Sprintf("The longest has %d tokens of prompt and %d of answer, and %s at %s is %d. The server would refuse it.",
					w.Dataset.InputMax, w.Dataset.OutputMax, a.Name, place(s.Range), limit), path...)
			return
		}
	}
}

// warnOfUnusedAxes reports axes that nothing refers to: their cells measure the same under other names. It
// skips the axis of a paired baseline, whose sides are compared elsewhere.
func (e *evaluator) warnOfUnusedAxes(bm *config.Benchmark, b *block) {
	m := b.one("matrix")
	if m == nil {
		return
	}
	used := map[string]bool{}
	all := false
	take := func(exprs []hcl.Expression) {
		for _, x := range exprs {
			for _, t := range x.Variables() {
				if t.RootName() != "matrix" {
					continue
				}
				name, ok := "", false
				if len(t) > 1 {
					name, ok = stepName(t[1])
				}
				used[name] = true
				all = all || !ok
			}
		}
	}
	take(expressionsOf(b))
	for _, ent := range e.prog.of("gate") {
		take(expressionsOf(ent.block))
	}
	for _, base := range e.baselines {
		used[base.Axis] = true
	}
	for _, a := range bm.Axes {
		if all || used[a.Name] || len(a.Values) < 2 || b.one("driver") != nil {
			continue
		}
		e.report(warning(codeMatrix, a.Range, fmt.Sprintf("axis %s changes nothing", a.Name),
			fmt.Sprintf("Nothing refers to matrix.%s, so each of its %d values measures the same and the run takes %d times as long. Refer to it, "+
				"or remove it; to measure more often, raise repeat.", a.Name, len(a.Values), len(a.Values))))
	}
}

// usualLimit returns the largest value that a limit on a metric has in practice, in the stored unit. It returns
// 0 for metrics that have none.
func usualLimit(m metric.Metric) float64 {
	switch {
	case m.Unit == metric.Fraction:
		return 1
	case m.Unit != metric.Seconds:
		return 0
	}
	switch m.Group {
	case "tpot", "itl", "itl_token":
		return 10
	case "ttft", "ttft_from_schedule", "queue":
		return 90
	}
	return 3600
}

// adviseUnits warns of limits in the wrong unit: self.ttft.p99 < 500 is 500 seconds.
func (e *evaluator) adviseUnits(s *scope, condition hcl.Expression) {
	walk(condition, func(op *hclsyntax.BinaryOpExpr) {
		if _, ok := comparisons[op.Op]; !ok {
			return
		}
		for _, sides := range [][2]hclsyntax.Expression{{op.LHS, op.RHS}, {op.RHS, op.LHS}} {
			if m, ok := e.prog.selfMetric(sides[0]); ok {
				e.adviseLimit(s, m, sides[1])
			}
		}
	})
}

// selfMetric returns the metric of an expression of the form self.GROUP.STAT.
func (p *program) selfMetric(expr hcl.Expression) (metric.Metric, bool) {
	t, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() {
		return metric.Metric{}, false
	}
	return p.metricAt(t, "self")
}

func (e *evaluator) adviseLimit(s *scope, m metric.Metric, expr hclsyntax.Expression) {
	if refersToSelf(expr) {
		return // compared with another measured value
	}
	v, ok := s.value(expr)
	most := usualLimit(m)
	if !ok || v.IsMarked() || v.IsNull() || !v.IsKnown() || v.Type() != cty.Number || most == 0 {
		return
	}
	x, _ := v.AsBigFloat().Float64()
	if x <= most {
		return
	}
	if m.Unit == metric.Fraction {
		e.report(warning(codeGate, expr.Range(), fmt.Sprintf("self.%s is a fraction of one", m.ID),
			fmt.Sprintf("It never reaches %g. Write percent(\"%g%%\").", x, x)))
		return
	}
	e.report(warning(codeGate, expr.Range(), fmt.Sprintf("self.%s is in seconds", m.ID),
		fmt.Sprintf("%g seconds is %s. If milliseconds are meant, write duration(\"%gms\").", x, time.Duration(x*float64(time.Second)), x)))
}

// checkDecides refuses a condition that does not depend on what was measured.
func (e *evaluator) checkDecides(v cty.Value, condition hcl.Expression) {
	bare, marks := v.Unmark()
	if len(marks) > 0 || bare.IsNull() || !bare.IsKnown() || bare.Type() != cty.Bool {
		return
	}
	e.report(problem(codeRefused, condition.Range(), fmt.Sprintf("condition is %t whatever is measured", bare.True()),
		"An assert is a limit on metrics. Refer to one, such as self.ttft.p99 < duration(\"500ms\")."))
}

// leastRepeats is the least number of repeats of a paired comparison that is worth its time. The bound of three
// pairs is twice as wide as with five.
const leastRepeats = 4

// adviseRepeats warns of sessions that find only changes too large to be overlooked.
func (e *evaluator) adviseRepeats(g *gate, b *block, base *config.Baseline, bm *config.Benchmark) {
	if base.Kind != result.BaselinePaired || bm.RepeatMax < 2 || bm.RepeatMax >= leastRepeats {
		return
	}
	e.report(warning(codeRefused, b.header, fmt.Sprintf("%d repeats are too few to decide", bm.RepeatMax),
		fmt.Sprintf("With so few pairs %s finds only changes of many times the noise, and passes hardly anything. Give %s %d repeats or more; "+
			"`pipeline plan` shows what each number finds.", g.Addr, bm.Addr, leastRepeats)))
}

// leastAlpha is the smallest probability of a false alarm that any number of repeats reaches.
const leastAlpha = 1e-6

// checkAlpha refuses an alpha that no test reaches.
func (e *evaluator) checkAlpha(alpha float64, at hcl.Range) bool {
	if alpha <= 0 || alpha >= leastAlpha {
		return true
	}
	e.report(problem(codeValue, at, "alpha is too small",
		fmt.Sprintf("It is %g, which no session of affordable length can show. Write at least %g; 0.01 to 0.05 is usual.", alpha, leastAlpha)))
	return false
}

// checkTransport reports transports that the servers of a deployment cannot use.
func (e *evaluator) checkTransport(d *config.Deployment, b *block) {
	// On a cluster its own configuration decides what a container gets.
	cluster := e.prog.settings != nil && (e.prog.settings.one("slurm") != nil || e.prog.settings.one("kubernetes") != nil)
	for _, p := range checkTransport(d.Spec, !cluster) {
		at := d.Range
		for _, nested := range b.blocks {
			own := nested.typ.name == p.Path[0] && (p.Path[0] != "server" || nested.label() == p.Path[1])
			if !own {
				continue
			}
			rest := p.Path[1:]
			if p.Path[0] == "server" {
				rest = p.Path[2:]
			}
			at = object{layers: []layer{{block: nested}}}.at(rest...)
		}
		found := problem(codeCheck, at, p.Summary, p.Detail)
		if p.Warning {
			found.Severity = hcl.DiagWarning
		}
		e.report(found)
	}
}
