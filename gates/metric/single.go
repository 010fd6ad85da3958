package metric

// singles are the metrics that are one number of a run or a launch by themselves.
func singles() []Group {
	return []Group{
		throughput("request_throughput", "Request throughput", RequestsPerSec,
			"successful requests / time from the first send to the end of the last response", vllm+"; "+sglang),
		throughput("input_throughput", "Input throughput", TokensPerSecond,
			"prompt tokens of successful requests / time from the first send to the end of the last response", sglang),
		throughput("output_throughput", "Output throughput", TokensPerSecond,
			"output tokens of successful requests / time from the first send to the end of the last response", vllm+"; "+sglang),
		throughput("total_throughput", "Total throughput", TokensPerSecond,
			"prompt and output tokens of successful requests / time from the first send to the end of the last response", vllm+"; "+sglang),
		throughput("steady_output_throughput", "Steady output throughput", TokensPerSecond,
			"output tokens of successful requests in the steady window / its length; the window is the longest span with at least 80 % of the peak concurrency", sglang+", steady_state_serving"),
		group(Metric{
			Group: "steady_window", Stat: "share", Label: "Steady window",
			Unit: Fraction, Direction: HigherIsBetter, Scale: Difference, Level: RunLevel, MinRequests: 1, Informational: true,
			Definition: "length of the longest span with at least 80 % of the peak concurrency / time from the first send to the end of the last response",
			Source:     sglang + ", steady_state_serving",
		}),
		group(Metric{
			Group: "goodput", Stat: "rate", Label: "Goodput",
			Unit: RequestsPerSec, Direction: HigherIsBetter, Scale: Log, Level: RunLevel, MinRequests: 10,
			Definition: "requests that succeed within the limits of the benchmark's goodput block / time from the first send to the end of the last response",
			Source:     vllm + " (--goodput)",
		}, Metric{
			Group: "goodput", Stat: "share", Label: "Goodput share",
			Unit: Fraction, Direction: HigherIsBetter, Scale: Difference, Level: RunLevel, MinRequests: 10,
			Definition: "requests that succeed within the limits of the benchmark's goodput block / sent requests",
			Source:     sglang + " (slo_attainment)",
		}),
		group(Metric{
			Group: "success", Stat: "rate", Label: "Success rate",
			Unit: Fraction, Direction: HigherIsBetter, Scale: Proportion, Level: RunLevel, MinRequests: 1,
			Definition: "successful requests / sent requests; success is 2xx, no error in the stream, a finish reason, a token and, with ignore_eos, the full length",
			Source:     ours,
		}),
		group(Metric{
			Group: "concurrency", Stat: "mean", Label: "Concurrency mean",
			Unit: Count, Direction: LowerIsBetter, Scale: Difference, Level: RunLevel, MinRequests: 1, Informational: true,
			Definition: "sum of end-to-end latencies / time from the first send to the end of the last response (Little's law)",
			Source:     sglang,
		}, Metric{
			Group: "concurrency", Stat: "peak", Label: "Concurrency peak",
			Unit: Count, Direction: LowerIsBetter, Scale: Difference, Level: RunLevel, MinRequests: 1, Informational: true,
			Definition: "largest number of requests between send and end, by an exact sweep over both; not vLLM's and SGLang's count by whole seconds, which is too high",
			Source:     ours,
		}),
		group(Metric{
			Group: "startup", Stat: "time", Label: "Startup time",
			Unit: Seconds, Direction: LowerIsBetter, Scale: Log, Level: LaunchLevel, MinRequests: 1,
			Definition: "start of the first process of a launch until the target is ready",
			Source:     ours,
		}),
		group(Metric{
			Group: "kv_cache", Stat: "tokens", Label: "KV cache capacity",
			Unit: Count, Direction: HigherIsBetter, Scale: Log, Level: LaunchLevel, MinRequests: 1,
			Definition: "tokens that fit into the KV caches of all servers of a launch, as they say at their start",
			Source:     ours,
		}),
		group(Metric{
			Group: "gpu_memory", Stat: "used", Label: "GPU memory",
			Unit: Bytes, Direction: LowerIsBetter, Scale: Log, Level: LaunchLevel, MinRequests: 1,
			Definition: "memory in use on the GPUs of a launch once it is ready, less what was in use before it",
			Source:     ours,
		}),
		ofAnswers("agreement", "share", "Agreement", Fraction, HigherIsBetter,
			"prompts to which two launches give the same answer, token by token over the whole length / prompts that both answered"),
		ofAnswers("first_divergence", "mean", "First divergence", Tokens, HigherIsBetter,
			"tokens of an answer before the first in which two launches differ, all of them where the answers are equal; arithmetic mean over prompts"),
		ofAnswers("logprob_difference", "mean", "Difference of log-probabilities", Nats, LowerIsBetter,
			"absolute difference of the log-probabilities that two launches give to a chosen token, up to the first in which they differ; arithmetic mean over these tokens of all prompts"),
	}
}

// ofAnswers is a metric of the answers of two launches. Differences, because equal ones are
// zero and have no ratio.
func ofAnswers(name, stat, label string, unit Unit, direction Direction, definition string) Group {
	return group(Metric{
		Group: name, Stat: stat, Label: label, Unit: unit, Direction: direction, Scale: Difference, Level: RunLevel,
		MinRequests: 20, Mutual: true, Quality: true, Definition: definition, Source: ours,
	})
}

// throughput is a rate over the whole run. A finite request rate fixes it.
func throughput(name, label string, unit Unit, definition, source string) Group {
	return group(Metric{
		Group: name, Stat: "mean", Label: label,
		Unit: unit, Direction: HigherIsBetter, Scale: Log, Level: RunLevel, MinRequests: 10, FixedByRate: true,
		Definition: definition, Source: source,
	})
}

// group makes a group of metrics that share Group, and completes their IDs.
func group(metrics ...Metric) Group {
	for i := range metrics {
		metrics[i].ID = metrics[i].Group + "." + metrics[i].Stat
	}
	first := metrics[0]
	return Group{Name: first.Group, Definition: first.Definition, Source: first.Source, Metrics: metrics}
}
