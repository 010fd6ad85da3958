package router

import (
	"fmt"
	"io"
	"net/http"
)

// metrics writes what [Stats] holds in Prometheus's text format. Names of members need no
// escaping but for quotes, which [headerSafe] lets through.
func (r *Router) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s := &r.stats
	family(w, "in_flight", "gauge", "Requests that are being answered.")
	fmt.Fprintf(w, "pipeline_router_in_flight %d\n", s.inFlight.Load())
	family(w, "requests_total", "counter", "Requests that ended, by outcome.")
	for o := range outcomes {
		fmt.Fprintf(w, "pipeline_router_requests_total{outcome=%q} %d\n", outcomeNames[o], s.outcomes[o].Load())
	}
	family(w, "member_requests_total", "counter", "Requests sent to a server.")
	for _, m := range r.all() {
		fmt.Fprintf(w, "pipeline_router_member_requests_total{member=%q,role=%q} %d\n", m.Name, m.role, m.requests.Load())
	}
	family(w, "failures_total", "counter", "Failures by server and class.")
	for _, f := range s.failureCounts() {
		fmt.Fprintf(w, "pipeline_router_failures_total{member=%q,role=%q,class=%q} %d\n", f.Member, f.Role, f.Class, f.Count)
	}
	family(w, "recomputed_total", "counter", "Requests that went to decode without parameters of a transfer.")
	fmt.Fprintf(w, "pipeline_router_recomputed_total %d\n", s.recomputed.Load())
	s.chunk.expose(w, "chunk_delay_seconds", "From a chunk's arrival until it is written to the client.")
	s.dispatch.expose(w, "dispatch_delay_seconds", "From the start of a request until it leaves for a server.")
	s.handover.expose(w, "handover_delay_seconds", "From prefill's answer until decode is asked.")
	s.prefill.expose(w, "prefill_seconds", "From the dispatch until prefill has answered in full.")
}

func family(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP pipeline_router_%s %s\n# TYPE pipeline_router_%s %s\n", name, help, name, kind)
}

// The bounds of exposed buckets are powers of two of nanoseconds, where buckets end anyway:
// 1 µs to 69 s.
const firstBound, lastBound = 10, 36

// expose writes the histogram.
func (h *histogram) expose(w io.Writer, name, help string) {
	family(w, name, "histogram", help)
	counts, total := h.counts()
	var below uint64
	next := 0
	for exp := firstBound; exp <= lastBound; exp++ {
		for end := bucketOf(1 << exp); next < end; next++ {
			below += counts[next]
		}
		fmt.Fprintf(w, "pipeline_router_%s_bucket{le=\"%g\"} %d\n", name, seconds(1<<exp), below)
	}
	fmt.Fprintf(w, "pipeline_router_%s_bucket{le=\"+Inf\"} %d\n", name, total)
	fmt.Fprintf(w, "pipeline_router_%s_sum %g\npipeline_router_%s_count %d\n", name, seconds(uint64(h.sum.Load())), name, total)
}
