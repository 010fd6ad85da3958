package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// pairing checks a paired baseline against the matrix of the benchmark.
func (e *evaluator) pairing(g *gate, b *block, base *config.Baseline, bm *config.Benchmark) {
	at := b.at("baseline")
	i := slices.IndexFunc(bm.Axes, func(a config.Axis) bool { return a.Name == base.Axis })
	if i < 0 {
		names := make([]string, len(bm.Axes))
		for k, a := range bm.Axes {
			names[k] = a.Name
		}
		advice := didYouMean(base.Axis, names, "axes of "+bm.Addr)
		if len(names) == 0 {
			advice = fmt.Sprintf("Write matrix { %s = [ … ] } in the benchmark.", base.Axis)
		}
		e.report(problem(codeBaseline, at, fmt.Sprintf("%s has no axis %q", bm.Addr, base.Axis),
			fmt.Sprintf("%s at %s compares the values of that axis. %s", base.Addr, place(base.Range), advice)))
		return
	}
	if values := bm.Axes[i].Values; !slices.Contains(values, base.Value) {
		e.report(problem(codeBaseline, at, fmt.Sprintf("axis %s of %s has no value %q", base.Axis, bm.Addr, base.Value),
			fmt.Sprintf("%s at %s compares with that value. %s", base.Addr, place(base.Range), didYouMean(base.Value, values,
				"values of the axis"))))
		return
	}
	e.checkPairs(g, b, base, bm)
}

// checkPairs checks every pair of cells that the gate compares: both cells must exist and do the same work. It
// removes cells whose base the matrix excludes from the gate, with a warning, because their comparison would
// always be missing.
func (e *evaluator) checkPairs(g *gate, b *block, base *config.Baseline, bm *config.Benchmark) {
	bases := map[string]config.Cell{}
	for _, c := range bm.Cells {
		if value, rest := result.SplitAxis(c.Values, base.Axis); value == base.Value {
			bases[result.CoordinatesKey(rest)] = c
		}
	}
	pairs, alone := 0, 0
	cells := g.Cells
	g.Cells = nil
	for _, i := range cells {
		value, rest := result.SplitAxis(bm.Cells[i].Values, base.Axis)
		partner, ok := bases[result.CoordinatesKey(rest)]
		if !ok {
			alone++
			continue
		}
		g.Cells = append(g.Cells, i)
		if value == base.Value {
			continue
		}
		pairs++
		if found := otherWork(base, partner.Workload, bm.Cells[i].Workload); len(found) > 0 {
			text := found.Text(base.Axis+"="+base.Value, base.Axis+"="+value)
			e.report(problem(codeBaseline, b.at("baseline"), "the two sides do not do the same work",
				fmt.Sprintf("They differ in the %s. A comparison says something about the server only where both sides get the same requests at the "+
					"same times. Where it is meant, say differ = [%q] in %s.",
					text, found[0].Field, base.Addr)))
			return
		}
	}
	switch {
	case pairs == 0 && len(cells) > 0:
		e.report(problem(codeGate, b.header, "gate compares nothing",
			fmt.Sprintf("All of its %s are the base itself (%s=%s), or their base is excluded. Widen where, or give the axis a second value.",
				humanize.Count(len(cells), "cell"), base.Axis, base.Value)))
	case alone > 0:
		e.report(warning(codeBaseline, b.header, fmt.Sprintf("%s cannot be compared", humanize.Count(alone, "cell")),
			fmt.Sprintf("The matrix of %s excludes their base (%s=%s), so the gate leaves them out. Exclude them too, or leave them out by where.",
				bm.Addr, base.Axis, base.Value)))
	}
}

// otherWork returns the differences of two workloads that the baseline does not declare. The bound on
// concurrency may differ, and so may the endpoint if neither is pooled.
func otherWork(base *config.Baseline, a, b steps.Workload) comparability.Differences {
	declared := comparability.Declare(base.Differ...).And(comparability.MaxConcurrency)
	if !steps.Pooled(a.Endpoint) && !steps.Pooled(b.Endpoint) {
		declared = declared.And("endpoint")
	}
	found := comparability.Compare(comparability.OfWorkload(a), comparability.OfWorkload(b), declared)
	return slices.DeleteFunc(found, func(d comparability.Difference) bool { return d.Declared || d.Shown })
}

// refuse reports gates that could not decide anything with the repeats and workloads of the file.
func (e *evaluator) refuse(g *gate, b *block, base *config.Baseline, bm *config.Benchmark) {
	if base.Kind == result.BaselinePaired && bm.RepeatMax < 2 {
		e.report(problem(codeRefused, b.header, "gate cannot decide with one repeat",
			fmt.Sprintf("The paired t-test of one pair has no degree of freedom, whatever the data. Give %s at least 2 repeats; 5 find most "+
				"changes of their margin.", bm.Addr)))
	}
	e.adviseRepeats(g, b, base, bm)
	for _, m := range g.Metrics {
		at := e.rangeOfMetric(b, m)
		switch {
		case m.Group == capacityGroup && g.SuiteMargin > 0:
			e.report(problem(codeRefused, b.at("suite_margin"), fmt.Sprintf("metric.%s has no suite", m.ID),
				"A capacity beyond the range of one cell would be hidden in the mean over all of them. Remove suite_margin."))
		case m.Unit == metric.Money && (e.prog.settings == nil || e.prog.settings.one("price") == nil):
			e.report(problem(codeRefused, at, fmt.Sprintf("metric.%s needs a price", m.ID),
				"The file does not say what machines cost, so it would always be missing. Write pipeline { price { gpu_hour = \"2.50 USD\" } }."))
		case m.Unit == metric.Money && e.answering(bm) != "":
			e.report(problem(codeRefused, at, fmt.Sprintf("metric.%s needs to know the machines", m.ID),
				fmt.Sprintf("%s answers before the run begins, and how many GPUs and machines serve there is not known, so it would always be "+
					"missing. Have it launched, or compare metric.output_throughput.", e.answering(bm))))
		case !m.Quality || m.Mutual: // metrics of answers have messages of their own
		case base.Kind != result.BaselinePaired:
			e.report(problem(codeRefused, b.at("baseline"), fmt.Sprintf("metric.%s needs a paired baseline", m.ID),
				fmt.Sprintf("What is answered is compared question by question, and %s of kind %s has no questions.", base.Addr, base.Kind)))
		case b.has("test") && g.TestName != gates.PairedTTest.Name:
			e.report(problem(codeRefused, b.at("test"), fmt.Sprintf("metric.%s is judged by %s alone", m.ID, gates.PairedTTest),
				"Its error is that of the questions as well as that of the launches, which other tests know nothing of. Leave test out."))
		}
		for _, i := range g.Cells {
			if d := e.prog.refusal(m, asker{bm.Addr, "gate"}, bm.Cells[i].Workload, at); d != nil {
				e.report(d)
				break
			}
		}
	}
}

// answering returns a server that a benchmark measures but does not launch, "" if there is none.
func (e *evaluator) answering(bm *config.Benchmark) string {
	for _, c := range bm.Cells {
		var servers []*config.Server
		if s := e.servers[c.Target]; s != nil {
			servers = []*config.Server{s}
		} else if d := e.deployments[c.Target]; d != nil {
			servers = d.Servers
		}
		for _, s := range servers {
			if s.Spec.URL != "" {
				return s.Addr
			}
		}
	}
	return ""
}

// rangeOfMetric returns the range at which a gate lists a metric.
func (e *evaluator) rangeOfMetric(b *block, m metric.Metric) hcl.Range {
	src := b.attrs["metrics"].Expr
	found := src.Range()
	for _, t := range src.Variables() {
		if x, ok := e.prog.metricAt(t, "metric"); ok && x.ID == m.ID {
			found = t.SourceRange()
		}
	}
	return found
}

// evaluationScore is the metric of an evaluation.
const evaluationScore = "evaluation.score"

// asker identifies the user of a metric: a gate, or an objective of a search.
type asker struct {
	addr string // address of the benchmark
	verb string // "gate" or "limit"
}

// instead returns the verb for the start of a sentence that proposes another metric.
func (a asker) instead() string { return strings.ToUpper(a.verb[:1]) + a.verb[1:] }

// refusal returns why a metric cannot be judged under a workload, nil if it can.
func (p *program) refusal(m metric.Metric, who asker, w steps.Workload, at hcl.Range) *hcl.Diagnostic {
	l := w.Load
	evaluated := w.Driver != nil && w.Driver.Evaluation != nil
	switch {
	case m.ID == evaluationScore && !evaluated:
		return problem(codeRefused, at, "metric.evaluation.score is of questions that are scored",
			fmt.Sprintf("%s asks none, so it would always be missing. Make a benchmark with driver \"evaluation\" for it, and a gate of its own.",
				who.addr))
	case m.ID != evaluationScore && evaluated:
		return problem(codeRefused, at, fmt.Sprintf("metric.%s is not measured by an evaluation", m.ID),
			fmt.Sprintf("%s asks questions and times nothing, so it would always be missing. Gate metric.evaluation.score, and measure speed in a "+
				"benchmark with a load.", who.addr))
	case m.Group == capacityGroup && (w.Load.Search == nil || m.ID != l.Searches().Metric()):
		detail := fmt.Sprintf(
			"%s is measured at one load, so it would always be missing. Give its load a search block with the limits that have to hold.", who.addr)
		if w.Load.Search != nil {
			detail = fmt.Sprintf("%s searches another quantity, so it would always be missing. Gate metric.%s.", who.addr, l.Searches().Metric())
		}
		return problem(codeRefused, at, fmt.Sprintf("metric.%s is of a search", m.ID), detail)
	case w.Load.Search != nil && m.Group != capacityGroup && m.Group != "goodput" && m.Group != "success" && m.Level == metric.RunLevel:
		return problem(codeRefused, at, fmt.Sprintf("metric.%s is of one load", m.ID),
			fmt.Sprintf("%s tries several, so it would always be missing. Gate metric.%s, or measure it in a benchmark at one load.", who.addr,
				l.Searches().Metric()))
	case m.Tool != "" && w.Driver == nil:
		return problem(codeRefused, at, fmt.Sprintf("metric.%s is a figure of %s", m.ID, m.Tool),
			fmt.Sprintf("%s is measured by our own load generator, so it would always be missing. Gate one of ours, or measure it with a driver.",
				who.addr))
	case m.Tool != "" && w.Driver.Tool != "" && w.Driver.Tool != m.Tool:
		return problem(codeRefused, at, fmt.Sprintf("metric.%s is a figure of %s", m.ID, m.Tool),
			fmt.Sprintf("The driver of %s is of %s, so it would always be missing.", who.addr, w.Driver.Tool))
	case m.Group == "goodput" && w.Driver == nil && w.Goodput == (steps.Goodput{}):
		return problem(codeRefused, at, fmt.Sprintf("metric.%s needs the limits of a good request", m.ID),
			fmt.Sprintf("%s has none, so it would always be missing. Add a block such as goodput { ttft = \"300ms\" } to it.", who.addr))
	case m.Group == "session_time" && l.Closed() && l.Duration > 0:
		return problem(codeRefused, at, fmt.Sprintf("metric.%s is of whole sessions", m.ID),
			fmt.Sprintf("%s ends after its duration, which cuts the longest sessions first, and more of them on a slower server. Plan requests in "+
				"the place of duration, or %s metric.e2el.", who.addr, who.verb))
	case steps.Pooled(w.Endpoint) && m.OfTokens():
		return problem(codeRefused, at, fmt.Sprintf("metric.%s is of tokens, and answers of %s have none", m.ID, w.Endpoint),
			fmt.Sprintf("%s generates nothing, so it would always be missing. %s metric.e2el or metric.request_throughput.",
				who.addr, who.instead()))
	}
	if w.Driver == nil && w.Dataset.OutputMax == 1 && slices.Contains([]string{"tpot", "itl", "itl_token"}, m.Group) {
		return problem(codeRefused, at, fmt.Sprintf("metric.%s is of the tokens after the first", m.ID),
			fmt.Sprintf("%s asks for one token of output, so it would always be missing. Raise output_len, or %s metric.ttft.", who.addr, who.verb))
	}
	if m.FixedByRate && l.Rate > 0 {
		return problem(codeRefused, at, fmt.Sprintf("metric.%s is fixed by the rate", m.ID),
			fmt.Sprintf("%s sends %g requests per second whatever the server does, so its throughput says nothing. Gate a latency, or measure "+
				"throughput with arrival \"unlimited\" or \"closed\".", who.addr, l.Rate))
	}
	n := p.requestsOf(l)
	if m.MinRequests <= 1 || n == 0 || n >= m.MinRequests {
		return nil
	}
	return problem(codeRefused, at, fmt.Sprintf("metric.%s needs at least %d requests", m.ID, m.MinRequests),
		fmt.Sprintf("A run of %s has %d. %s Plan requests = %d or more%s.", who.addr, n, whyRequests(m), m.MinRequests, who.smallerStat(m, n)))
}

// whyRequests explains the least number of requests of a metric.
func whyRequests(m metric.Metric) string {
	if m.Quantile > 0.5 {
		return fmt.Sprintf("Fewer than 10 of them lie beyond the p%.4g, so it is mostly luck.", 100*m.Quantile)
	}
	return fmt.Sprintf("That is too few for the %s.", m.Stat)
}

// smallerStat proposes the highest percentile for which n requests are enough, "" if there is none.
func (a asker) smallerStat(m metric.Metric, n int) string {
	for _, stat := range []string{"p95", "p90", "p50", "mean"} {
		other, ok := metric.Lookup(m.Group + "." + stat)
		if ok && other.MinRequests < m.MinRequests && n >= other.MinRequests {
			return fmt.Sprintf(", or %s metric.%s, which needs %d", a.verb, other.ID, other.MinRequests)
		}
	}
	return ""
}

// checkShares checks the gates' own shares of alpha against the file's.
func (e *evaluator) checkShares(list []*gate, alpha float64) {
	sum, claims := 0.0, []string(nil)
	if slices.ContainsFunc(list, func(g *gate) bool { return g.SuiteMargin > 0 && g.CanFail() }) {
		sum = gates.SuiteShare * alpha
		claims = append(claims, fmt.Sprintf("suite_margin has %.3g", sum))
	}
	var first, rest *gate
	for _, g := range list {
		base := e.baselines[g.Baseline]
		switch {
		case base == nil || base.Kind == result.BaselineFile || !g.CanFail():
		case g.Alpha > 0:
			sum += g.Alpha
			claims = append(claims, fmt.Sprintf("%s has %g", g.Addr, g.Alpha))
			first = g
		case rest == nil:
			rest = g
		}
	}
	const rounding = 1e-12
	switch {
	case sum > alpha+rounding:
		e.report(problem(codeShares, first.alphaRange, "shares of alpha sum to more than the file has",
			fmt.Sprintf("%s: %.6g in all, and the file has %g. Lower them, or raise alpha in the pipeline block.",
				humanize.List(claims), sum, alpha)))
	case first != nil && rest != nil && sum > alpha-rounding:
		e.report(problem(codeShares, rest.Range, fmt.Sprintf("no alpha is left for %s", rest.Addr),
			fmt.Sprintf("%s, which is all of the file's %g. Give this gate a share too, or lower the others.", humanize.List(claims), alpha)))
	}
}

// suite refuses a comparison over all cells if their values cannot be paired.
func (e *evaluator) suite(g *gate, b *block, base *config.Baseline) {
	switch {
	case g.SuiteMargin == 0:
	case base.Kind != result.BaselinePaired:
		e.report(problem(codeGate, b.at("suite_margin"), "suite_margin needs a paired baseline",
			fmt.Sprintf("%s is of kind %s: the cells of a repeat make one value of a suite, and only a paired baseline has repeats on both sides.",
				base.Addr, base.Kind)))
	case e.prog.tests.Named(g.TestName).Design != gates.Paired:
		e.report(problem(codeGate, b.at("suite_margin"), "suite_margin needs a paired test",
			fmt.Sprintf("%s pairs nothing by repeat. Use one of %s.", g.TestName, humanize.List(e.prog.tests.Paired().Names()))))
	}
}

// checkLaunchMetrics refuses metrics of a launch if both sides share one launch, or if a server is not
// launched.
func (e *evaluator) checkLaunchMetrics(g *gate, b *block, base *config.Baseline, bm *config.Benchmark) {
	bases := map[string]string{} // targets
	for _, c := range bm.Cells {
		if value, rest := result.SplitAxis(c.Values, base.Axis); base.Kind == result.BaselinePaired && value == base.Value {
			bases[result.CoordinatesKey(rest)] = c.Target
		}
	}
	for _, m := range g.Metrics {
		if m.Level != metric.LaunchLevel {
			continue
		}
		for _, i := range g.Cells {
			target := bm.Cells[i].Target
			value, rest := result.SplitAxis(bm.Cells[i].Values, base.Axis)
			switch s := e.servers[target]; {
			case s != nil && s.Spec.URL != "":
				e.report(problem(codeRefused, e.rangeOfMetric(b, m), fmt.Sprintf("metric.%s is of a launch", m.ID),
					fmt.Sprintf("%s answers at a url and is not launched. Gate a metric of its runs, such as metric.ttft.p99.", target)))
			case target != "" && base.Kind == result.BaselinePaired && value != base.Value && bases[result.CoordinatesKey(rest)] == target:
				e.report(problem(codeRefused, e.rangeOfMetric(b, m), fmt.Sprintf("metric.%s is of a launch", m.ID),
					fmt.Sprintf(
						"Both sides of %s run in the same launch of %s, so they have the same value. Compare two servers, or gate a metric of the runs.",
						base.Addr, target)))
			default:
				continue
			}
			break
		}
	}
}
