package metric

import (
	"cmp"
	"strings"
)

// singles returns, by group, the metrics that are one number of a run or a launch.
func singles() []Group {
	const duration = " / time from the first send to the end of the last response"
	const steady = "the longest span with at least 80 % of the peak concurrency"
	const limited = "requests that succeed within the limits of the benchmark's goodput block"
	both := vllm + "; " + sglang
	up, down := HigherIsBetter, LowerIsBetter
	return grouped([]Metric{
		throughput("request_throughput", "Request throughput", RequestsPerSec, "successful requests"+duration, both),
		throughput("input_throughput", "Input throughput", TokensPerSecond, "prompt tokens of successful requests"+duration, sglang),
		throughput("output_throughput", "Output throughput", TokensPerSecond, "output tokens of successful requests"+duration, both),
		throughput("total_throughput", "Total throughput", TokensPerSecond, "prompt and output tokens of successful requests"+duration, both),
		throughput("steady_output_throughput", "Steady output throughput", TokensPerSecond,
			"output tokens of successful requests in the steady window / its length; the window is "+steady, sglang+", steady_state_serving"),
		{ID: "steady_window.share", Label: "Steady window", Unit: Fraction, Direction: up, Scale: Difference, Informational: true,
			Definition: "length of " + steady + duration, Source: sglang + ", steady_state_serving"},
		{ID: "goodput.rate", Label: "Goodput", Unit: RequestsPerSec, Direction: up, Scale: Log, MinRequests: 10,
			Definition: limited + duration, Source: vllm + " (--goodput)"},
		{ID: "goodput.share", Label: "Goodput share", Unit: Fraction, Direction: up, Scale: Difference, MinRequests: 10,
			Definition: limited + " / sent requests", Source: sglang + " (slo_attainment)"},
		{ID: "capacity.rate", Label: "Capacity", Unit: RequestsPerSec, Direction: up, Scale: Log, Source: ours,
			Definition: "highest request rate at which the SLO of a search holds: where the fitted headroom of its worst objective is zero"},
		{ID: "capacity.concurrency", Label: "Capacity", Unit: Count, Direction: up, Scale: Log, Source: ours,
			Definition: "most users of a closed loop with whom the SLO of a search holds, by the same fit, which may lie between two whole numbers"},
		{ID: "success.rate", Label: "Success rate", Unit: Fraction, Direction: up, Scale: Proportion, Source: ours,
			Definition: "successful requests / sent requests; success is 2xx, no error in the stream, a finish reason, a token and, with " +
				"ignore_eos, the full length"},
		{ID: "concurrency.mean", Label: "Concurrency mean", Unit: Count, Direction: down, Scale: Difference, Informational: true,
			Definition: "sum of end-to-end latencies" + duration + " (Little's law)", Source: sglang},
		{ID: "concurrency.peak", Label: "Concurrency peak", Unit: Count, Direction: down, Scale: Difference, Informational: true, Source: ours,
			Definition: "largest number of requests between send and end, by an exact sweep over both; not vLLM's and SGLang's count by whole " +
				"seconds, which is too high"},
		{ID: "startup.time", Label: "Startup time", Unit: Seconds, Direction: down, Scale: Log, Level: LaunchLevel, Source: ours,
			Definition: "start of the first process of a launch until the target is ready"},
		phase("weights", "Weights", "reading the weights of the model"),
		phase("compile", "Compile time", "compiling the model and tuning its kernels"),
		phase("graphs", "Graph capture", "capturing CUDA graphs"),
		phase("profile", "Memory profile", "measuring the memory, making the KV cache and warming up"),
		{ID: "kv_cache.tokens", Label: "KV cache capacity", Unit: Count, Direction: up, Scale: Log, Level: LaunchLevel, Source: ours,
			Definition: "tokens that fit into the KV caches of all servers of a launch, as they say at their start"},
		{ID: "gpu_memory.used", Label: "GPU memory", Unit: Bytes, Direction: down, Scale: Log, Level: LaunchLevel, Source: ours,
			Definition: "memory in use on the GPUs of a launch once it is ready, less what was in use before it"},
		{
			ID: "evaluation.score", Label: "Evaluation score",
			Unit: Fraction, Direction: HigherIsBetter, Scale: Difference, MinRequests: 1, Quality: true,
			Definition: "score of a question, 0 to 1, as the program of a driver \"evaluation\" gives it; arithmetic mean over questions",
			Source:     ours,
		},
		ofAnswers("agreement.share", "Agreement", Fraction, up,
			"prompts to which two launches give the same answer, token by token over the whole length / prompts that both answered"),
		ofAnswers("first_divergence.mean", "First divergence", Tokens, up,
			"tokens of an answer before the first in which two launches differ, all of them where the answers are equal; arithmetic mean over "+
				"prompts"),
		ofAnswers("logprob_difference.mean", "Logprob difference", Nats, down,
			"absolute difference of the log-probabilities that two launches give to a chosen token, up to the first in which they differ; "+
				"arithmetic mean over these tokens of all prompts"),
	}, func(*Metric) {})
}

// phase returns the metric of a phase of a start.
func phase(name, label, what string) Metric {
	return Metric{
		ID: "startup." + name, Label: label, Unit: Seconds, Direction: LowerIsBetter, Scale: Log, Level: LaunchLevel, Source: ours,
		Definition: "part of startup.time: " + what + ", as the log of the slowest server of a launch tells; absent if it does not",
	}
}

// grouped completes metrics and groups them.
func grouped(list []Metric, complete func(*Metric)) []Group {
	var groups []Group
	for _, m := range list {
		complete(&m)
		m.Group, m.Stat, _ = strings.Cut(m.ID, ".")
		m.Level, m.MinRequests = cmp.Or(m.Level, RunLevel), max(m.MinRequests, 1)
		if n := len(groups); n > 0 && groups[n-1].Name == m.Group {
			groups[n-1].Metrics = append(groups[n-1].Metrics, m)
			continue
		}
		groups = append(groups, Group{Name: m.Group, Definition: m.Definition, Source: m.Source, Metrics: []Metric{m}})
	}
	return groups
}

// ofAnswers returns a metric of the answers of two launches. It is compared by differences, because
// equal answers give zero, which has no ratio.
func ofAnswers(id, label string, unit Unit, direction Direction, definition string) Metric {
	return Metric{
		ID: id, Label: label, Unit: unit, Direction: direction, Scale: Difference,
		MinRequests: 20, Mutual: true, Quality: true, Definition: definition, Source: ours,
	}
}

// throughput returns the metric of a rate over the whole run. A finite request rate fixes it.
func throughput(name, label string, unit Unit, definition, source string) Metric {
	return Metric{
		ID: name + ".mean", Label: label, Unit: unit, Direction: HigherIsBetter, Scale: Log, MinRequests: 10, FixedByRate: true,
		Definition: definition, Source: source,
	}
}
