package simulate

import (
	"strings"

	"github.com/servegate/pipeline/steps/kv"
)

// loadFailed writes a failed transfer in the words of the connector.
func (g *logger) loadFailed(k *kvSide, request int, err error) {
	switch {
	case g.l.engine == engineSGLang:
		g.api("ERROR", "", "Decode transfer failed for request rank=0 decode_req.req.rid='%d': KVTransferError: Failed to get kvcache from prefill instance, it might be dead: %v", request, err)
	default:
		m := k.plan.LoadFailed()
		g.core("ERROR", m.Source, m.Format, request, err)
	}
}

// received is what simple_connector.py says of prompts before V1: all that there is about
// transfers, and only at debug level.
func (g *logger) received(k *kvSide, all bool, missedAt string) {
	switch {
	case !strings.EqualFold(k.plan.Env("VLLM_LOGGING_LEVEL"), "DEBUG"):
	case all:
		g.core("DEBUG", "simple_connector.py:309", "[rank0]: Successfully received all KVs and hidden states, skip model forwarding.")
	default:
		g.core("DEBUG", missedAt, "[rank0]: Failed to receive all KVs and hidden states, redo model forwarding.")
	}
}

// transferStats writes vLLM's periodic line on transfers, and Mooncake's own.
func (g *logger) transferStats(k *kvSide, seconds float64) {
	window, failed, expired := k.counters.takeWindow()
	if len(window) == 0 || k.launch.legacy && !k.plan.On("MC_TE_METRIC") {
		return
	}
	bytes, took := 0.0, 0.0
	var each []float64
	for _, t := range window {
		bytes, took = bytes+t.bytes, took+t.took.Seconds()
		each = append(each, 1e3*t.took.Seconds())
	}
	n, mb := float64(len(window)), bytes/(1<<20)
	throughput := mb / max(took, 1e-9)
	if !k.launch.legacy && (k.plan.Exchange == kv.ByAnswer || k.plan.Exchange == kv.ByTransferID) {
		g.api("INFO", "metrics.py:100", "KV Transfer metrics: Num successful transfers=%d, Avg xfer time (ms)=%.3f, P90 xfer time (ms)=%.3f, Avg MB per transfer=%.3f, Throughput (MB/s)=%.3f, Num failed transfers=%d, Num KV expired reqs=%d",
			len(window), 1e3*took/n, p90(each), mb/n, throughput, failed, expired)
	}
	k.plan.WriteStats(g, seconds, throughput, len(window))
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
