package simulate

import (
	"slices"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// kvCounters count a server's transfers, for /metrics and for the periodic line.
type kvCounters struct {
	mu      sync.Mutex
	seconds histogram
	bytes   histogram
	failed  int // sends
	lost    int // loads
	late    int // expired
	// window since the last periodic line.
	window []kvTransfer
}

// maxWindow bounds the transfers that one periodic line averages.
const maxWindow = 4096

type kvTransfer struct {
	bytes float64
	took  time.Duration
}

// newKVCounters has the buckets of vLLM's nixl_connector.py.
func newKVCounters() *kvCounters {
	return &kvCounters{
		seconds: newHistogram(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 5),
		bytes:   newHistogram(2<<10, 8<<10, 32<<10, 128<<10, 512<<10, 2<<20, 8<<20, 32<<20, 128<<20, 512<<20, 2<<30),
	}
}

func (c *kvCounters) moved(bytes float64, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seconds.add(took.Seconds())
	c.bytes.add(bytes)
	if len(c.window) < maxWindow {
		c.window = append(c.window, kvTransfer{bytes, took})
	}
}

func (c *kvCounters) failedSend() { c.count(&c.failed) }
func (c *kvCounters) failedLoad() { c.count(&c.lost) }
func (c *kvCounters) expired()    { c.count(&c.late) }

func (c *kvCounters) count(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

// takeWindow returns the transfers since it was last called, with the failures so far.
func (c *kvCounters) takeWindow() (window []kvTransfer, failed, expired int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	window, c.window = c.window, nil
	return window, c.failed + c.lost, c.late
}

// writeVLLM writes the metrics that vLLM adds for a connector.
func (k *kvSide) writeVLLM(x *exposition, st model.Stats) {
	c, version := k.counters, k.launch.version
	if k.launch.legacy {
		return
	}
	x.value("vllm:external_prefix_cache_queries_total", "External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of queried tokens.", "counter", float64(st.ExternalQueries))
	x.value("vllm:external_prefix_cache_hits_total", "External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of cached tokens.", "counter", float64(st.ExternalHits))
	if compareVersions(version, "0.12") < 0 {
		return // transfers are told by the periodic line alone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range k.plan.Play.Metrics {
		if m.Role == steps.RoleProducer && !k.plan.Produces || m.Role == steps.RoleConsumer && !k.plan.Consumes {
			continue
		}
		switch m.Of {
		case kv.TransferSeconds:
			x.histogram(m.Name, m.Help, c.seconds)
		case kv.TransferSizes:
			x.histogram(m.Name, m.Help, c.bytes)
		default:
			x.value(m.Name, m.Help, "counter", c.total(m.Of))
		}
	}
}

// total is the value of a counter.
func (c *kvCounters) total(of kv.Quantity) float64 {
	switch of {
	case kv.TransferredBytes:
		return c.bytes.sum
	case kv.FailedSends:
		return float64(c.failed)
	case kv.FailedLoads:
		return float64(c.lost)
	case kv.ExpiredRequests:
		return float64(c.late)
	}
	return float64(c.failed + c.lost)
}

// writeSources writes where prompt tokens came from.
func writeSources(x *exposition, st model.Stats) {
	const name = "vllm:prompt_tokens_by_source_total"
	x.head(name, "Number of prompt tokens by source.", "counter")
	local := max(0, st.PromptTokens-st.PrefixHits-st.ExternalHits)
	for _, s := range []struct {
		source string
		tokens int
	}{{"local_compute", local}, {"local_cache_hit", st.PrefixHits}, {"external_kv_transfer", st.ExternalHits}} {
		x.printf("%s{%s,source=%q} %s\n", name, x.labels, s.source, formatFloat(float64(s.tokens)))
	}
}

// writeSGLang writes SGLang's metrics of a disaggregated server.
func (k *kvSide) writeSGLang(x *exposition) {
	c := k.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	speed, latency, total := 0.0, 0.0, 0.0
	if c.seconds.n > 0 {
		latency, total = 1e3*c.seconds.sum/float64(c.seconds.n), c.bytes.sum/(1<<20)
	}
	if c.seconds.sum > 0 {
		speed = c.bytes.sum / c.seconds.sum / (1 << 30)
	}
	x.value("sglang:kv_transfer_speed_gb_s", "The transfer speed of the KV cache in GB/s.", "gauge", speed)
	x.value("sglang:kv_transfer_latency_ms", "The transfer latency of the KV cache in ms.", "gauge", latency)
	x.value("sglang:kv_transfer_total_mb", "The total size of KV cache transferred in MB.", "gauge", total)
	x.value("sglang:num_transfer_failed_reqs_total", "The number of transfer failed requests.", "counter", float64(c.failed+c.lost))
	x.value("sglang:num_bootstrap_failed_reqs_total", "The number of bootstrap failed requests.", "counter", 0)
}

// p90 of a few values, the largest of none being 0.
func p90(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)*9/10]
}
