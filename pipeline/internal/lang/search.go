package lang

import (
	"fmt"
	"maps"
	"math"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates/capacity"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/zclconf/go-cty/cty"
)

// Bounds of a search.
const (
	maxProbes     = 64
	maxObjectives = 16
)

func searchBlock() steps.BlockSchema {
	return steps.BlockSchema{
		Type: "search", Max: 1,
		Doc: "Searches the highest load at which the SLO holds, in place of a fixed one: the rate, or with arrival = \"closed\" the number of " +
			"users. Each probe is a run of the load's requests. The result is metric.capacity.rate, or metric.capacity.concurrency.",
		Schema: steps.Schema{
			Attrs: []steps.Attr{
				{Name: "min", Type: cty.Number, Required: true,
					Doc: "Least load of the range. The SLO has to hold there: a base that does not hold it is a fault of the file, a head a regression."},
				{Name: "max", Type: cty.Number, Required: true,
					Doc: "Greatest load of the range. Where the SLO holds there, the capacity is at least that."},
				{Name: "resolution", Type: cty.Number, Unit: steps.UnitPercent, Default: cty.NumberFloatVal(steps.SearchResolution),
					Doc: "Half-width of the 95 % interval at which the search ends."},
				{Name: "probes", Type: cty.Number, Default: cty.NumberIntVal(steps.SearchProbes), Doc: "Most loads that are tried in a launch."},
			},
			Blocks: []steps.BlockSchema{{Type: "slo", Min: 1, Max: maxObjectives, Doc: "A limit that has to hold, together with those of the " +
				"other slo blocks. Unless one limits metric.success.rate, 99 % of requests have to succeed.", Schema: steps.Schema{Attrs: []steps.Attr{
				{Name: "metric", Type: cty.DynamicPseudoType, Required: true,
					Doc: "Metric of a run, such as metric.ttft.p99, metric.success.rate or metric.goodput.share."},
				{Name: "limit", Type: cty.DynamicPseudoType, Required: true,
					Doc: "Largest value of a time, such as \"500ms\"; least value of a share, such as \"99.9%\"."},
			}}}},
		},
	}
}

// searching reads a load that is searched. It checks the rest of the load as a probe's.
func (c cell) searching(o, in steps.Object, l steps.Load) steps.Load {
	s := &steps.Search{
		Min: c.number(in, "min", aboveZero, "load", "search", "min"), Max: c.number(in, "max", aboveZero, "load", "search", "max"),
		Resolution: in.Float("resolution"),
	}
	if in.Known("probes") {
		var err error
		if s.Probes, err = whole(in.Value("probes"), capacity.LeastProbes, maxProbes); err != nil {
			c.fail("probes is out of range", diag.Sentence(err), "load", "search", "probes")
		}
	}
	for i, b := range in.Blocks["slo"] {
		if objective, ok := c.objective(i, b); ok {
			s.SLO = append(s.SLO, objective)
		}
	}
	s.LimitSuccess()
	if l.Search = s; !c.ok {
		return l
	}
	c.checkSearch(o, l)
	return l
}

// checkSearch reports a search that cannot be made.
func (c cell) checkSearch(o steps.Object, l steps.Load) {
	s, what := l.Search, l.Searches()
	whole := func(x float64) bool { return x == math.Trunc(x) }
	fixed := "rate"
	if what == steps.SearchConcurrency {
		fixed = "max_concurrency"
	}
	switch {
	case o.Has(fixed):
		c.fail(fmt.Sprintf("%s is searched", fixed), fmt.Sprintf("The search tries values from %g to %g. Remove one of the two.", s.Min, s.Max),
			"load", fixed)
	case !l.Closed() && !c.hasRate(l):
		c.fail(fmt.Sprintf("arrival %q has nothing to search", l.Arrival),
			"A search varies the rate of poisson, gamma or constant arrivals, or the number of users of closed ones.", "load", "arrival")
	case len(o.Blocks["ramp"]) > 0 || o.Has("ramp"):
		c.fail("a search has no ramp", "Each probe is at one load, so that its latencies are those of that load. Remove the ramp.", "load",
			"ramp")
	case s.Max <= s.Min:
		summary, detail := "the ends of the range are swapped", fmt.Sprintf("min is %g and max %g. Swap them.", s.Min, s.Max)
		if s.Max == s.Min {
			summary, detail = "the range of the search has no length",
				fmt.Sprintf("Both are %g, so there is nothing to search. Set a rate, or widen the range.", s.Min)
		}
		c.fail(summary, detail, "load", "search", "min")
	case s.Min > 0 && s.Max > s.Min*capacity.MaxRatio:
		c.fail("the range of the search is too wide", fmt.Sprintf("It spans a factor of %.6g, and at most %g can be searched.", s.Max/s.Min,
			float64(capacity.MaxRatio)), "load", "search", "max")
	case what == steps.SearchConcurrency && !(whole(s.Min) && whole(s.Max)):
		c.fail("numbers of users are whole", fmt.Sprintf("min is %g and max %g.", s.Min, s.Max), "load", "search", "min")
	case what == steps.SearchConcurrency && l.Requests > 0 && s.Max > float64(l.Requests):
		c.fail("max is more users than a probe has requests",
			fmt.Sprintf("%d requests are never sent by %g users at once. Plan more requests, or lower max.", l.Requests, s.Max),
			"load", "search", "max")
	case what == steps.SearchRate && l.MaxConcurrency > 0:
		c.fail("max_concurrency holds back what the search asks for",
			"The server would never see the rates of the probes, so that the SLO could hold at any of them. Remove it.", "load", "max_concurrency")
	case what == steps.SearchRate && s.Max > maxRate:
		c.fail("max is higher than any client sends", fmt.Sprintf("It is %g requests per second, and at most %d can be planned.", s.Max,
			maxRate), "load", "search", "max")
	case !(s.Resolution >= 0.001 && s.Resolution <= 0.5):
		c.fail("resolution must be between 0.1 % and 50 %", fmt.Sprintf("It is %.3g %%.", 100*s.Resolution), "load", "search", "resolution")
	default:
		c.checkLoad(c.probed(o), l.At(s.Min))
	}
}

// hasRate reports whether a load sends at a rate, which a search can vary.
func (c cell) hasRate(l steps.Load) bool {
	m, err := c.prog.arrivals.Lookup(l.Arrival)
	return err == nil && m.HasRate()
}

// probed returns the block of a load as a probe would have it.
func (c cell) probed(o steps.Object) steps.Object {
	searched := "rate"
	if o.Text("arrival") == load.Closed {
		searched = "max_concurrency"
	}
	o.Attrs = maps.Clone(o.Attrs)
	o.Attrs[searched] = cty.NumberIntVal(1)
	return o
}

// objective reads a limit of an SLO.
func (c cell) objective(i int, b steps.Object) (steps.Objective, bool) {
	m, ok := c.metricOf(b.Value("metric"))
	if !ok {
		if b.Known("metric") {
			c.report(problem(codeType, c.slo(i, "metric"), "metric must refer to a metric", "Write for example metric.ttft.p99, without quotes."))
		}
		return steps.Objective{}, false
	}
	if !m.Objective() {
		c.report(problem(codeLoad, c.slo(i, "metric"), fmt.Sprintf("metric.%s cannot be an objective", m.ID),
			"An SLO is about what requests of a run get: a time such as metric.ttft.p99 or metric.tpot.p50, metric.success.rate, or "+
				"metric.goodput.share."))
		return steps.Objective{}, false
	}
	limit, detail := limitOf(b.Value("limit"), m)
	if detail != "" && b.Known("limit") {
		c.report(problem(codeLoad, c.slo(i, "limit"), fmt.Sprintf("limit does not fit metric.%s", m.ID), detail))
	}
	return steps.Objective{Metric: m.ID, Limit: limit}, detail == ""
}

// slo returns the range of an argument of the i-th slo block.
func (c cell) slo(i int, name string) hcl.Range {
	if l := c.block.one("load"); l != nil && l.one("search") != nil {
		if blocks := l.one("search").nested("slo"); i < len(blocks) {
			return blocks[i].at(name)
		}
	}
	return c.at("load", "search")
}

// limitOf reads a limit in the unit of its metric.
func limitOf(v cty.Value, m metric.Metric) (limit float64, problem string) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return 0, "It has no value."
	}
	if m.Unit == metric.Seconds {
		if v.Type() != cty.String {
			return 0, "Write a time with its unit, such as \"500ms\"."
		}
		d, err := function.Duration(v.AsString())
		if err != nil || d <= 0 {
			return 0, "Write a time above zero, such as \"500ms\"."
		}
		return d.Seconds(), ""
	}
	x := v
	if v.Type() == cty.String {
		var err error
		if x, err = percentage(v.AsString()); err != nil {
			return 0, "Write a share such as \"99%\"."
		}
	}
	if x.Type() != cty.Number {
		return 0, "Write a share such as \"99%\"."
	}
	if limit, _ = x.AsBigFloat().Float64(); limit <= 0 || limit > 1 {
		return 0, fmt.Sprintf("A share is above 0 and at most 100 %%, and it is %g.", limit)
	}
	return limit, ""
}

// checkObjectives reports objectives that a probe could not measure, and repeated ones.
func (c cell) checkObjectives(w steps.Workload) {
	if w.Load.Search == nil {
		return
	}
	probe := w
	probe.Load = w.Load.At(w.Load.Search.Min)
	seen := map[string]bool{}
	for i, s := range w.Load.Search.SLO {
		m, _ := metric.Lookup(s.Metric)
		if d := c.prog.refusal(m, asker{"benchmark." + c.block.label(), "limit"}, probe, c.slo(i, "metric")); d != nil {
			c.report(d)
		}
		if seen[m.ID] {
			c.report(problem(codeLoad, c.slo(i, "metric"), fmt.Sprintf("metric.%s has two limits", m.ID),
				"The tighter one decides. Remove the other."))
		}
		seen[m.ID] = true
	}
}

// capacityGroup is the group of the metrics of searches.
const capacityGroup = "capacity"
