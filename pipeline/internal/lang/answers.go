package lang

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/servegate/pipeline/steps/load"
	"github.com/zclconf/go-cty/cty"
)

// answersRoot is the type of the blocks that collect answers. Later stages treat such a block as a benchmark
// whose runs measure no times.
const answersRoot = "answers"

// Bounds and defaults of answers.
const (
	defaultAnswers = 200
	// maxAnswerTokens is the maximum of a launch: its answers are compared with those of every other launch.
	maxAnswerTokens = 400_000
	// answersWarmup is the number of requests before the first answer that is kept.
	answersWarmup = 4
	// leastAnswerRepeats leaves two other launches of the base to compare each launch with.
	leastAnswerRepeats = 3
)

func answersType() *blockType {
	var settings []steps.Attr
	for _, a := range benchmarkSettings().Attrs {
		if a.Name != "seed" {
			settings = append(settings, a)
		}
	}
	repeat := steps.BlockSchema{}
	for _, b := range benchmarkSettings().Blocks {
		if b.Type == "repeat" {
			repeat = b
		}
	}
	repeat.Doc = "How often every side is launched; as often as the benchmarks of the file unless set."
	repeat.Schema.Attrs = slices.DeleteFunc(slices.Clone(repeat.Schema.Attrs), func(a steps.Attr) bool { return a.Name == "passes" })
	return &blockType{
		name: answersRoot, labels: []string{"name"},
		doc: "Greedy answers to the same prompts, collected in every launch beside what the benchmarks measure, so that gates can tell whether " +
			"the head still answers as the base does. Referred to as answers.NAME.",
		schema: steps.Schema{
			Attrs: append(slices.Concat(answersWorkload().Attrs, settings),
				steps.Attr{Name: "seed", Type: cty.Number, Default: cty.Zero,
					Doc: "Seed of the prompts. They are the same in every launch of both sides."}),
			Blocks: []steps.BlockSchema{repeat},
		},
		nested: []*blockType{matrixType()},
	}
}

// answersWorkload returns the arguments that may differ from cell to cell.
func answersWorkload() steps.Schema {
	var attrs []steps.Attr
	for _, a := range workloadAttrs() {
		switch a.Name {
		case "temperature":
			continue // always 0
		case "ignore_eos":
			a.Default, a.Doc = cty.False, "Generate the full length whatever the model says. Without it answers end where the model ends them, as "+
				"in use, and the end is compared like a token."
		case "endpoint":
			a.Enum = enum.Of("completions", "chat", "generate")
		case "target":
			a.Doc = "Server or deployment that is asked, such as server.vllm.sut[matrix.side]."
		}
		attrs = append(attrs, a)
	}
	return steps.Schema{Attrs: append(attrs,
		steps.Attr{Name: "requests", Type: cty.Number, Default: cty.NumberIntVal(defaultAnswers), Doc: "Number of prompts."},
		steps.Attr{Name: "concurrency", Type: cty.Number, Default: cty.NumberIntVal(1),
			Doc: "Requests in flight. One by one unless set; with more, an answer can depend on what shares its batch, as it does in use."},
		steps.Attr{Name: "logprobs", Type: cty.Bool, Default: cty.True, Doc: "Ask each prompt once more, for the log-probability of every " +
			"token. Without it answers are compared as texts, by metric.agreement.share alone."},
	)}
}

func isAnswers(b *block) bool { return b.typ.name == answersRoot }

// repeatLikeOthers gives answers the repeats of the file's benchmarks, whose launches they share.
func (e *evaluator) repeatLikeOthers(bm *config.Benchmark, b *block) {
	if b.one("repeat") != nil {
		return
	}
	low, high := 0, 0
	for _, other := range e.benchmarks {
		low, high = max(low, other.RepeatMin), max(high, other.RepeatMax)
	}
	if high > 0 {
		bm.RepeatMin, bm.RepeatMax = low, high
	}
}

// decidedByAnswers lists the request fields that would make answers other than greedy, or end them elsewhere
// than the model does.
var decidedByAnswers = []string{"stop", "stop_token_ids", "min_tokens", "logprobs", "top_logprobs", "return_logprob", "seed",
	"top_p", "top_k", "min_p"}

// answers evaluates one cell of an answers block.
func (e *evaluator) answers(b *block, s *scope) (target string, w steps.Workload) {
	c := cell{evaluator: e, scope: s, block: b}
	c.object = e.evaluate([]layer{{b, s}}, answersWorkload(), false)
	target = c.target()
	requests, users := c.count(c.Object, "requests", 1, "requests"), c.count(c.Object, "concurrency", 1, "concurrency")
	w = steps.Workload{
		Endpoint: c.Text("endpoint"), Dataset: c.dataset(), IgnoreEOS: isTrue(c.object, "ignore_eos"), Body: c.body(),
		RequestTimeout: c.Duration("request_timeout"),
		Warmup:         answersWarmup,
		Load:           steps.Load{Arrival: load.Closed, Requests: requests, MaxConcurrency: users},
		Answers:        &steps.Answers{Logprobs: c.Known("logprobs") && c.Value("logprobs").True()},
	}
	w.Dataset.Verbatim = w.Dataset.Path != ""
	for name := range w.Body {
		if slices.Contains(decidedByAnswers, name) {
			c.fail(fmt.Sprintf("body of answers has no %s", name), "Answers are greedy, and end where the model ends them or at output_len. A "+
				"stop would cut them where there is still something to compare.", "body")
		}
	}
	if tokens := requests * w.Dataset.OutputMax; c.ok && tokens > maxAnswerTokens {
		c.fail("answers are too many to compare",
			fmt.Sprintf("%d answers of %d tokens are %d tokens in each launch, and at most %d are compared. Lower requests or output_len.",
				requests, w.Dataset.OutputMax, tokens, maxAnswerTokens), "requests")
	}
	if c.ok {
		c.checkSense(target, w)
	}
	return target, w
}

// checkAnswers refuses metrics of answers on a benchmark that collects none, metrics of times on answers, and
// gates on answers that could not decide.
func (e *evaluator) checkAnswers(g *gate, b *block, base *config.Baseline, bm *config.Benchmark) {
	collects := rootOf(bm.Addr) == answersRoot
	for _, m := range g.Metrics {
		at := e.rangeOfMetric(b, m)
		switch {
		case m.Mutual && !collects:
			e.report(problem(codeRefused, at, fmt.Sprintf("metric.%s is of answers", m.ID),
				fmt.Sprintf("%s measures times and keeps no answers. Write an answers block, and a gate with benchmark = answers.NAME.", bm.Addr)))
		case !m.Mutual && collects && m.Group != "success":
			e.report(problem(codeRefused, at, fmt.Sprintf("metric.%s is not of answers", m.ID),
				fmt.Sprintf("%s is not timed. Gate metric.%s, or measure it in a benchmark.", bm.Addr, "agreement.share")))
		case m.Mutual:
			e.checkAnswerMetric(g, b, base, bm, m)
		}
	}
}

func (e *evaluator) checkAnswerMetric(g *gate, b *block, base *config.Baseline, bm *config.Benchmark, m metric.Metric) {
	at := e.rangeOfMetric(b, m)
	switch {
	case base.Kind != result.BaselinePaired:
		e.report(problem(codeRefused, b.at("baseline"), fmt.Sprintf("metric.%s needs a paired baseline", m.ID),
			fmt.Sprintf("%s is of kind %s. Answers are compared with those of other launches of the same session.", base.Addr, base.Kind)))
		return
	case g.TestName != gates.PairedTTest.Name:
		e.report(problem(codeRefused, b.at("test"), fmt.Sprintf("metric.%s is judged by %s alone", m.ID, gates.PairedTTest),
			fmt.Sprintf("Its values are of two launches together, which %s takes for independent. Remove the argument.", g.TestName)))
		return
	case g.SuiteMargin > 0:
		e.report(problem(codeRefused, b.at("suite_margin"), fmt.Sprintf("metric.%s has no suite", m.ID),
			"Its values are of two launches together. Remove suite_margin, or ask the prompts of all cells in one."))
		return
	case bm.RepeatMax < leastAnswerRepeats:
		e.report(problem(codeRefused, at, fmt.Sprintf("metric.%s needs %d repeats", m.ID, leastAnswerRepeats),
			fmt.Sprintf("Each launch is compared with the base's other launches, and %s has %d repeats. Raise repeat.", bm.Addr, bm.RepeatMax)))
		return
	}
	for _, i := range g.Cells {
		w := bm.Cells[i].Workload
		n, tokens := float64(w.Load.Requests), float64(w.Dataset.OutputMax)
		switch {
		case w.Answers == nil:
		case !w.Answers.Logprobs && m.Unit != metric.Fraction:
			e.report(problem(codeRefused, at, fmt.Sprintf("metric.%s needs logprobs", m.ID),
				fmt.Sprintf(
					"%s does not ask for them, so that its answers are texts without tokens. Set logprobs = true, or gate metric.agreement.share.",
					bm.Addr)))
			return
		case m.Unit == metric.Fraction && n > 0 && g.Margin > 0 && float64(g.Margin)*n < 2:
			e.report(problem(codeRefused, b.at("margin"), "margin is less than two answers",
				fmt.Sprintf(
					"Of %.0f answers one is %.3g percentage points, so a difference of %.3g points would be decided by a single one. Ask at least %.0f.",
					n, 100/n, 100*float64(g.Margin), 2/float64(g.Margin)+0.5)))
			return
		case m.Unit == metric.Tokens && float64(g.Margin) >= tokens:
			e.report(problem(codeRefused, b.at("margin"), "margin is longer than the answers",
				fmt.Sprintf("Answers have %.0f tokens, so that no divergence is %.4g tokens earlier.", tokens, float64(g.Margin))))
			return
		}
	}
}
