package lang

import (
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/zclconf/go-cty/cty"
)

// maxExcludes limits the exclude blocks of a matrix: each is evaluated for each cell.
const maxExcludes = 100

// Defaults of a benchmark.
const (
	defaultRepeats        = 5
	defaultRequestTimeout = 10 * time.Minute
)

func benchmarkType(arrivals load.Arrivals) *blockType {
	settings, workload := benchmarkSettings(), benchmarkWorkload(arrivals)
	return &blockType{
		name: "benchmark", labels: []string{"name"},
		doc: "A workload on a target, over a matrix. Referred to as benchmark.NAME.",
		schema: steps.Schema{
			Attrs:  append(workload.Attrs, settings.Attrs...),
			Blocks: append(workload.Blocks, settings.Blocks...),
		},
		nested: []*blockType{matrixType(), driverType()},
	}
}

func matrixType() *blockType {
	return &blockType{
		name: "matrix", max: 1,
		doc:  "Every argument is an axis, and every combination of their values is a cell. The order of axes and values is that of the file.",
		free: "An axis: a list of strings, numbers, bools, servers or deployments. Within the benchmark its value is matrix.NAME.",
		nested: []*blockType{{
			name: "exclude", max: maxExcludes, doc: "Leaves out the cells for which a condition holds.",
			schema: steps.Schema{Attrs: []steps.Attr{expr("when", true, "True for cells to leave out, such as matrix.rate > 8.")}},
		}},
	}
}

// benchmarkWorkload returns the arguments that may differ from cell to cell: they can refer to matrix.
func benchmarkWorkload(arrivals load.Arrivals) steps.Schema {
	return steps.Schema{
		Attrs: workloadAttrs(),
		Blocks: []steps.BlockSchema{
			{Type: "warmup", Max: 1, Doc: "Requests before the measured ones: the same shapes, other content. At least one for every server of a " +
				"deployment, and for every pair of a prefill and a decode server.", Schema: steps.Schema{Attrs: []steps.Attr{
				{Name: "requests", Type: cty.Number, Required: true, Doc: "Number of requests."},
			}}},
			{Type: "load", Min: 1, Max: 1, Doc: "When requests are sent.", Schema: loadSchema(arrivals)},
			{Type: "goodput", Max: 1, Doc: "Limits of a good request, for metric.goodput.rate and metric.goodput.share: it succeeds and keeps all " +
				"that are set, counted from its send.", Schema: steps.Schema{Attrs: []steps.Attr{
				{Name: "ttft", Type: cty.Number, Unit: steps.UnitDuration, Doc: "Longest time to first token."},
				{Name: "tpot", Type: cty.Number, Unit: steps.UnitDuration, Doc: "Longest time per output token after the first."},
				{Name: "e2el", Type: cty.Number, Unit: steps.UnitDuration, Doc: "Longest time to the last token."},
			}}},
		},
	}
}

// workloadAttrs returns the arguments of benchmarkWorkload.
func workloadAttrs() []steps.Attr {
	return []steps.Attr{
		{Name: "target", Type: cty.DynamicPseudoType, Required: true,
			Doc: "Server or deployment that is measured, such as server.vllm.sut[matrix.side]."},
		{Name: "dataset", Type: cty.DynamicPseudoType, Required: true, Doc: "Dataset that prompts come from, such as dataset.random.short."},
		{Name: "endpoint", Type: cty.String, Enum: steps.Endpoints, Default: cty.StringVal("completions"), Doc: "What is called."},
		{Name: "input_len", Type: cty.DynamicPseudoType,
			Doc: "Tokens of a prompt instead of the dataset's: a number, or { min = 128, max = 1024 }."},
		{Name: "output_len", Type: cty.DynamicPseudoType,
			Doc: "Tokens to generate instead of the dataset's: a number, or { min = 16, max = 128 }."},
		{Name: "prefix_len", Type: cty.Number, Doc: "Tokens that all prompts share, instead of the dataset's."},
		{Name: "ignore_eos", Type: cty.Bool, Default: cty.True,
			Doc: "Generate the full length whatever the model says, so that every run does the same work."},
		{Name: "temperature", Type: cty.Number, Default: cty.Zero, Doc: "Temperature that is sent with every request."},
		{Name: "body", Type: cty.DynamicPseudoType, Doc: "Map of further fields of the request body."},
		{Name: "models", Type: cty.DynamicPseudoType, Doc: "Names of models that requests are sent to, each with its weight, such as { " +
			"\"base\" = 1, \"sql-lora\" = 3 }: adapters (LoRA) that the server has beside its model. Which request gets which is drawn, the same " +
			"on all sides and in all repeats. The name of the server's model unless set."},
		{Name: "request_timeout", Type: cty.Number, Unit: steps.UnitDuration, Default: cty.NumberIntVal(int64(defaultRequestTimeout)),
			Doc: "Time after which a single request has failed."},
	}
}

// loadSchema returns the arguments of the load models, and those that all of them share.
func loadSchema(arrivals load.Arrivals) steps.Schema {
	s := arrivals.Schema()
	s.Attrs = append(s.Attrs,
		steps.Attr{Name: "max_concurrency", Type: cty.Number, Doc: "Most requests in flight; others wait in the client. No bound unless set."},
		steps.Attr{Name: "requests", Type: cty.Number, Doc: "Number of measured requests. Exactly one of requests and duration is set."},
		steps.Attr{Name: "duration", Type: cty.Number, Unit: steps.UnitDuration,
			Doc: "Time during which requests are sent, instead of their number."})
	s.Blocks = append(s.Blocks, searchBlock())
	return s
}

// benchmarkSettings returns the arguments that hold for all cells.
func benchmarkSettings() steps.Schema {
	return steps.Schema{
		Attrs: []steps.Attr{
			{Name: "description", Type: cty.String, Blank: true, Doc: "What is measured and why."},
			{Name: "seed", Type: cty.Number, Default: cty.Zero,
				Doc: "Seed of prompts, arrivals and the order of execution. Each repeat draws the order of its sides and new content from it; the " +
					"content is the same on every side."},
			{Name: "timeout", Type: cty.Number, Unit: steps.UnitDuration, Doc: "Longest time of one run; derived from the workload unless set."},
		},
		Blocks: []steps.BlockSchema{
			{Type: "repeat", Max: 1, Doc: "How often every side is launched and measured.", Schema: steps.Schema{Attrs: []steps.Attr{
				{Name: "min", Type: cty.Number, Doc: "Least number of repeats; max unless set. With fewer than max, the gates are judged after every " +
					"even number of repeats from min on, and the session ends when all is decided."},
				{Name: "max", Type: cty.Number,
					Doc: "Most repeats; min unless set. Raised for `run --resume`, it adds repeats to a session that is undecided after several looks."},
				{Name: "passes", Type: cty.Number, Default: cty.NumberIntVal(1), Doc: "How often every cell is measured in each launch. Gates " +
					"compare the means over the passes: they average out what varies from run to run, and not what varies from launch to launch. " +
					"`calibrate` says how much of the noise is which."},
			}}},
			{Type: "limits", Max: 1, Doc: "When the client was the limit, so that a run is void.", Schema: limitsSchema()},
		},
	}
}

// limitsSchema returns the client's limits.
func limitsSchema() steps.Schema {
	limit := func(name string, unit steps.Unit, doc string) steps.Attr {
		return steps.Attr{Name: name, Type: cty.Number, Unit: unit, Doc: doc}
	}
	return steps.Schema{Attrs: []steps.Attr{
		limit("lag_p99", steps.UnitDuration,
			"Largest p99 of the lag of sends behind the plan; 10 ms, or lag_share of the mean gap if that is more."),
		limit("lag_share", steps.UnitPercent, "Share of the mean gap between sends that the lag may have; 10 % unless set."),
		limit("burst_lag", steps.UnitDuration, "Largest lag where all requests are sent at once; 250 ms unless set."),
		limit("rate_share", steps.UnitPercent, "Least share of the planned rate that must be reached, and of the run in which the client must "+
			"not stand still; 98 % unless set."),
		limit("clock_step", steps.UnitDuration, "Largest step of the machine's clock during a run; 10 ms unless set."),
		limit("coalesced_share", steps.UnitPercent, "Largest share of stream events that the client read together with an earlier one; no "+
			"limit unless set, because servers send several tokens at once, too."),
		limit("cpu_share", steps.UnitPercent, "Largest share of the machine's processors that the client may use; no limit unless set."),
		limit("gc_pause", steps.UnitDuration, "Longest pause of the client's garbage collector; no limit unless set."),
	}}
}
