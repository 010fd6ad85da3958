// Package metric is the registry of what can be measured, as data: the identity,
// unit, direction, scale, definition and source of every metric that a gate may name.
//
// Nothing here measures or decides. The registry is read by the language (so that a
// misspelt metric is a diagnostic), by the reduction of records (which values to
// compute), by the gates (which direction is worse) and by the reports (units).
//
// # Definitions
//
// For a successful request let planned be its arrival time in the schedule, sent the
// time just before its first byte was written (after any wait for a free concurrency
// slot), t1 … tk the arrivals of the k stream events that carried tokens, from the first
// one with visible text on, c1 … ck the cumulative output tokens after each of them, and
// n the output tokens by the server's own count, without those before t1. Failed requests enter no latency.
//
//	ttft                 t1 − sent                                vLLM
//	tpot                 (tk − t1) / (n − 1), requests with n > 1 vLLM
//	itl                  t(i+1) − t(i), one value per event,
//	                     pooled over the requests of the run      vLLM
//	itl_token            (t(i+1) − t(i)) / dn repeated dn times,
//	                     dn = c(i+1) − c(i), pooled               SGLang, native endpoint
//	e2el                 tk − sent                                vLLM
//	ttft_from_schedule   t1 − planned                             ours; open loop
//	e2el_from_schedule   tk − planned                             vLLM: queue-inclusive E2EL
//	queue                sent − planned                           vLLM: client queue time
//	session_time         last tk − first sent of the requests of
//	                     a session, all of which succeeded        ours
//
// Each of them has the statistics mean, p50, p90, p95, p99 (numpy's linear
// interpolation, Hyndman and Fan's type 7; "median" is another name of p50) and std
// (divisor n, numpy's ddof 0), as `vllm bench serve` prints them. With D the time from
// the first send to the end of the last response:
//
//	request_throughput   successful requests / D                  vLLM, SGLang
//	input_throughput     their prompt tokens / D                  SGLang
//	output_throughput    their output tokens / D                  vLLM, SGLang
//	total_throughput     their prompt and output tokens / D       vLLM, SGLang
//	steady_output_throughput
//	                     output tokens in the steady window / its
//	                     length: the longest span with at least
//	                     80 % of the peak concurrency             SGLang, steady_state_serving
//	steady_window        its length / D                           SGLang, steady_state_serving
//	goodput.rate         successes with ttft, tpot and e2el within
//	                     their limits (tpot 0 where n = 1) / D    vLLM
//	goodput.share        the same / sent requests                 SGLang: SLO attainment
//	capacity.rate        highest rate at which an SLO holds       ours
//	capacity.concurrency most users with whom it holds            ours
//	success              successful requests / sent requests      ours
//	concurrency.mean     sum of (tk − sent) / D                   SGLang
//	concurrency.peak     largest number in flight, by a sweep     ours
//	startup.time         start of the launch to readiness         ours
//	kv_cache.tokens      capacity of the servers' KV caches       ours
//	gpu_memory.used      memory that the launch took of its GPUs  ours
//	evaluation.score     mean score of the questions              ours
//	agreement.share      prompts with equal answers / prompts     ours
//	first_divergence.mean
//	                     tokens before the first other one        ours
//	logprob_difference.mean
//	                     |difference of log-probabilities| of the
//	                     tokens before it                         ours
//
// The formulas of metrics that servers and the machine count, such as acceptance.length and
// energy.per_output_token, are in counted.go.
//
// An embedding has no tokens: of the latencies it has e2el, e2el_from_schedule and queue.
//
// startup, kv_cache and gpu_memory belong to a launch: every run in it has the same value, and a
// gate compares them once for each pair of targets, whatever the number of cells.
//
// agreement, first_divergence and logprob_difference compare answers. A value belongs to a launch
// and one of the base's other launches, see Metric.Mutual.
//
// vLLM is `vllm bench serve` of vLLM 0.33, SGLang is `sglang.benchmark.serving` of SGLang 0.5.23. If
// the two differ under one name, the name has vLLM's definition.
package metric

import (
	"slices"
	"strings"
)

// Direction is the direction of improvement. It is declared, never inferred from a name.
type Direction string

// The directions a metric can have.
const (
	LowerIsBetter  Direction = "lower"
	HigherIsBetter Direction = "higher"
)

// Scale is the scale on which two values are compared.
type Scale string

// The scales: ratios for times and rates, differences for quantities that can be
// zero or negative, proportions for success rates.
const (
	Log        Scale = "log"
	Difference Scale = "difference"
	Proportion Scale = "proportion"
)

// Unit is the unit in which a value is stored. Reports choose a prefix (ms for s).
type Unit string

// The units of stored values.
const (
	Seconds         Unit = "s"
	TokensPerSecond Unit = "tok/s"
	RequestsPerSec  Unit = "req/s"
	Count           Unit = "count"
	Fraction        Unit = "fraction"
	Bytes           Unit = "B"
	Tokens          Unit = "tokens"
	Nats            Unit = "nats"
	JoulesPerToken  Unit = "J/tok"
	// Money is the unit of costs until a price gives the currency; see InMoney.
	Money Unit = "money/Mtok"
)

// Level is what one value of a metric describes.
type Level string

// The levels of a value.
const (
	RunLevel    Level = "run"    // one pass of one cell
	LaunchLevel Level = "launch" // one start of a target, shared by its cells
)

// Metric describes one quantity of one run (or launch, see Level). Values are float64 in Unit.
type Metric struct {
	// ID is the reference without its root: "ttft.p99" for metric.ttft.p99.
	ID string
	// Label is the name in tables: "TTFT p99".
	Label string
	// Unit of stored values.
	Unit Unit
	// Direction of improvement.
	Direction Direction
	// Scale of comparison.
	Scale Scale
	// Quantile in (0,1) if the statistic is a percentile, otherwise 0.
	Quantile float64
	// Group is the part of the ID before the dot, Stat the part after it.
	Group, Stat string
	// Level is what one value describes: a run, or the launch that contains the run.
	Level Level
	// Informational metrics are shown but cannot be gated, because a change of their value is
	// neither better nor worse.
	Informational bool
	// MinRequests is the least number of requests with which the metric may be gated: k(1-q) >= 10
	// for an upper percentile q (p99: 1000, p95: 200, p90: 100), 20 for the median, 10 for means, 1
	// if requests do not matter.
	MinRequests int
	// FixedByRate is true if a finite open-loop request rate fixes the value, so that gating it
	// would be meaningless (throughputs).
	FixedByRate bool
	// Mutual metrics compare two launches, one of which is the base's. A launch of the base
	// compared with the base's other launches gives the noise floor of the session. A launch of the
	// head is compared with the same ones.
	Mutual bool
	// Counted metrics come from the counters of a server, not from the clock of the client. They
	// exist only if the server counts, and their values can be exactly equal.
	Counted bool
	// Formulas compute a Counted metric of the registry. The first whose counters exist is used.
	Formulas []Formula
	// Implied bounds a Counted metric; nil if a workload implies nothing.
	Implied *Implied
	// Work is true for Counted metrics that show how much the servers had to compute. Sides that
	// differ in one did different work for the same requests.
	Work bool
	// Quality is true for metrics of the content of answers. If one of them is not shown to hold,
	// nothing in the file is an improvement.
	Quality bool
	// Definition is the formula in one sentence, with the events that it uses.
	Definition string
	// Source is the tool (with version) or paper of the definition.
	Source string
	// Tool is the load generator of a figure that is not measured here; "" for the metrics of the
	// registry. See Foreign.
	Tool string
}

// ByTime reports whether values are times that are compared by their difference, because they can
// be zero. Their margin is a time.
func (m Metric) ByTime() bool { return m.Scale == Difference && m.Unit == Seconds }

// EventsPerRequest reports whether values count what happened to a server, by the number of requests that were sent.
func (m Metric) EventsPerRequest() bool {
	return slices.ContainsFunc(m.Formulas, func(f Formula) bool { return f.By == SentRequests })
}

// Objective reports whether the metric can be limited in an SLO: whether it is a time or a share of
// the requests of one run.
func (m Metric) Objective() bool {
	return m.Level == RunLevel && !m.Mutual && m.Tool == "" && !m.Informational && !m.Quality && !m.Counted &&
		(m.Unit == Seconds || m.Unit == Fraction)
}

// OfTokens reports whether the metric requires answers made of tokens, which embeddings are not.
func (m Metric) OfTokens() bool {
	switch m.Group {
	case "ttft", "ttft_from_schedule", "tpot", "itl", "itl_token", "output_throughput", "total_throughput",
		"steady_output_throughput", "steady_window":
		return true
	}
	return false
}

// OfLength reports whether values grow or fall with the number of tokens in an answer, so that a side that answers in
// fewer tokens has better ones without being faster.
func (m Metric) OfLength() bool {
	switch m.Group {
	case "e2el", "e2el_from_schedule", "session_time", "request_throughput":
		return m.Scale == Log
	}
	return false
}

// BetweenTokens reports whether values are times between the tokens of a request, ours or another
// load generator's. Tokens that arrive in one piece have none, so 0 is not a valid value.
func (m Metric) BetweenTokens() bool {
	return m.Scale == Log && (strings.HasSuffix(m.Group, "tpot") || strings.HasPrefix(m.Group, "itl"))
}
