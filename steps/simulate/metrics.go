package simulate

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// metrics are the latency histograms of a server; its counters are the engine's Stats.
// All times are model time.
type metrics struct {
	mu            sync.Mutex
	ttft, itl     histogram
	e2e           histogram
	finished      map[string]int // by finish reason
	finishedOrder []string
}

// histogram with upper bounds, cumulative only when printed.
type histogram struct {
	bounds []float64
	counts []int
	sum    float64
	n      int
}

func newHistogram(bounds ...float64) histogram {
	return histogram{bounds: bounds, counts: make([]int, len(bounds))}
}

func (h *histogram) add(v float64) {
	h.sum += v
	h.n++
	for i, b := range h.bounds {
		if v <= b {
			h.counts[i]++
			return
		}
	}
}

// newMetrics returns histograms with the buckets of vllm/v1/metrics/loggers.py (0.11).
func newMetrics() *metrics {
	return &metrics{
		ttft: newHistogram(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560),
		itl:  newHistogram(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80),
		e2e:  newHistogram(0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680),
		finished: map[string]int{
			"stop": 0, "length": 0, "abort": 0,
		},
		finishedOrder: []string{"stop", "length", "abort"},
	}
}

// observe one token of a stream at model time now.
func (m *metrics) observe(ev model.Event, st *stream, now time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ev.Index == 0 {
		m.ttft.add((now - st.arrived).Seconds())
	} else {
		m.itl.add((now - st.last).Seconds())
	}
	if ev.Last {
		m.e2e.add((now - st.arrived).Seconds())
	}
}

func (m *metrics) finish(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finished[reason]++
}

// exposition writes the Prometheus text format.
type exposition struct {
	w      io.Writer
	labels string
	err    error
}

func (x *exposition) printf(format string, args ...any) {
	if x.err == nil {
		_, x.err = fmt.Fprintf(x.w, format, args...)
	}
}

func (x *exposition) head(name, help, kind string) {
	x.printf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (x *exposition) value(name, help, kind string, v float64) {
	x.head(name, help, kind)
	x.printf("%s{%s} %s\n", name, x.labels, formatFloat(v))
}

func (x *exposition) histogram(name, help string, h histogram) {
	x.head(name, help, "histogram")
	sum := 0
	for i, b := range h.bounds {
		sum += h.counts[i]
		x.printf("%s_bucket{le=\"%s\",%s} %s\n", name, formatFloat(b), x.labels, formatFloat(float64(sum)))
	}
	x.printf("%s_bucket{le=\"+Inf\",%s} %s\n", name, x.labels, formatFloat(float64(h.n)))
	x.printf("%s_count{%s} %s\n%s_sum{%s} %s\n", name, x.labels, formatFloat(float64(h.n)), name, x.labels, formatFloat(h.sum))
}

// formatFloat prints as Python's prometheus_client: integers with a ".0".
func formatFloat(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return s
}

// writeVLLM writes vLLM's names: those of V1, or the older ones of 0.6.
func (m *metrics) writeVLLM(w io.Writer, l *launch, st model.Stats, late *lateness, kv *kvSide) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := &exposition{w: w, labels: fmt.Sprintf("engine=\"0\",model_name=%q", l.served)}
	if l.legacy {
		x.labels = fmt.Sprintf("model_name=%q", l.served)
	}
	x.value("vllm:num_requests_running", "Number of requests in model execution batches.", "gauge", float64(st.Running))
	x.value("vllm:num_requests_waiting", "Number of requests waiting to be processed.", "gauge", float64(st.Waiting))
	if l.legacy {
		x.value("vllm:gpu_cache_usage_perc", "GPU KV-cache usage. 1 means 100 percent usage.", "gauge", st.KVUsage)
		x.value("vllm:gpu_prefix_cache_hit_rate", "GPU prefix cache block hit rate.", "gauge", hitRate(st))
	} else {
		x.value("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", "gauge", st.KVUsage)
		x.value("vllm:prefix_cache_queries_total", "Prefix cache queries, in terms of number of queried tokens.", "counter", float64(st.PrefixQueries))
		x.value("vllm:prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.", "counter", float64(st.PrefixHits))
	}
	x.value("vllm:num_preemptions_total", "Cumulative number of preemption from the engine.", "counter", float64(st.Preemptions))
	x.value("vllm:prompt_tokens_total", "Number of prefill tokens processed.", "counter", float64(st.PromptTokens))
	x.value("vllm:generation_tokens_total", "Number of generation tokens processed.", "counter", float64(st.OutputTokens))
	x.head("vllm:request_success_total", "Count of successfully processed requests.", "counter")
	for _, reason := range m.finishedOrder {
		x.printf("vllm:request_success_total{%s,finished_reason=%q} %s\n", x.labels, reason, formatFloat(float64(m.finished[reason])))
	}
	x.histogram("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", m.ttft)
	if compareVersions(l.version, "0.11") < 0 {
		x.histogram("vllm:time_per_output_token_seconds", "Histogram of time per output token in seconds.", m.itl)
	} else {
		x.histogram("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", m.itl)
	}
	x.histogram("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", m.e2e)
	if compareVersions(l.version, "0.15") >= 0 {
		writeSources(x, st)
	}
	if kv != nil {
		kv.writeVLLM(x, st)
	}
	late.write(x)
	return x.err
}

// writeSGLang writes SGLang's names (0.5, --enable-metrics).
func (m *metrics) writeSGLang(w io.Writer, l *launch, st model.Stats, throughput float64, late *lateness, kv *kvSide) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	kind := l.args.str("--disaggregation-mode", "null")
	if kind == "null" {
		kind = "unified"
	}
	x := &exposition{w: w, labels: fmt.Sprintf("engine_type=%q,model_name=%q,pp_rank=\"0\",tp_rank=\"0\"", kind, l.served)}
	x.value("sglang:num_running_reqs", "The number of running requests.", "gauge", float64(st.Running))
	x.value("sglang:num_queue_reqs", "The number of requests in the waiting queue.", "gauge", float64(st.Waiting))
	x.value("sglang:token_usage", "The token usage.", "gauge", st.KVUsage)
	x.value("sglang:num_used_tokens", "The number of used tokens.", "gauge", st.KVUsage*float64(l.config.KVTokens()))
	x.value("sglang:gen_throughput", "The generation throughput (token/s).", "gauge", throughput)
	x.value("sglang:cache_hit_rate", "The prefix cache hit rate.", "gauge", hitRate(st))
	x.value("sglang:num_retracted_reqs", "The number of retracted requests.", "gauge", float64(st.Preemptions))
	x.value("sglang:max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", "gauge", float64(l.config.KVTokens()))
	x.labels = fmt.Sprintf("model_name=%q", l.served)
	x.value("sglang:prompt_tokens_total", "Number of prefill tokens processed.", "counter", float64(st.PromptTokens))
	x.value("sglang:generation_tokens_total", "Number of generation tokens processed.", "counter", float64(st.OutputTokens))
	x.value("sglang:num_requests_total", "Number of requests processed.", "counter", float64(m.e2e.n))
	x.histogram("sglang:time_to_first_token_seconds", "Histogram of time to first token in seconds.", m.ttft)
	x.histogram("sglang:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", m.itl)
	x.histogram("sglang:e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", m.e2e)
	if kv != nil {
		kv.writeSGLang(x)
	}
	late.write(x)
	return x.err
}

func hitRate(st model.Stats) float64 {
	if st.PrefixQueries == 0 {
		return 0
	}
	return float64(st.PrefixHits) / float64(st.PrefixQueries)
}
