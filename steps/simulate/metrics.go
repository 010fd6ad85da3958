package simulate

import (
	"bytes"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/prom"
	"github.com/servegate/pipeline/steps/simulate/transfer"
)

// metrics holds the latency histograms of a server; its counters are the engine's Stats. All times
// are model time.
type metrics struct {
	mu        sync.Mutex
	ttft, itl prom.Histogram
	e2e       prom.Histogram
	queue     prom.Histogram
	finished  map[string]int // by finish reason
	// scalars is set if only scalars are known, not the results of single requests.
	scalars bool
}

// requestBuckets are the bounds of vLLM's histograms of times of a request.
var requestBuckets = []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}

// newMetrics returns histograms with the buckets of vllm/v1/metrics/loggers.py (0.11).
func newMetrics() *metrics {
	return &metrics{
		ttft: prom.NewHistogram(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40,
			80, 160, 640, 2560),
		itl:      prom.NewHistogram(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80),
		e2e:      prom.NewHistogram(requestBuckets...),
		queue:    prom.NewHistogram(requestBuckets...),
		finished: map[string]int{},
	}
}

// observe records one token of a stream at model time now.
func (m *metrics) observe(ev model.Event, st *stream, now time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ev.Index == 0 {
		m.ttft.Add((now - st.arrived).Seconds())
		m.queue.Add(ev.Waited.Seconds())
	} else if now > st.last { // one value for each step
		m.itl.Add((now - st.last).Seconds())
	}
	if ev.Last {
		m.e2e.Add((now - st.arrived).Seconds())
	}
}

func (m *metrics) finish(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finished[reason]++
}

func hitRate(st model.Stats) float64 {
	if st.PrefixQueries == 0 {
		return 0
	}
	return float64(st.PrefixHits) / float64(st.PrefixQueries)
}

// writeOwn writes what a real server does not report: the energy of the simulated devices, which a
// real machine counts itself, and the delay of the server behind its model.
func (e exposed) writeOwn(x *prom.Writer, l *launch) {
	x.Value("simulate:joules_total", "Energy that the simulated devices have used.", "counter", l.config.Joules(e.now, e.stats.Busy))
	if e.late != nil {
		e.late.Write(x)
	}
}

// exposed is the state of a server when its metrics are read.
type exposed struct {
	stats      model.Stats
	now        time.Duration
	throughput float64 // tokens per second
	late       *clock.Lateness
	kv         *transfer.Side
}

// exposed returns the present state of a server with sockets.
func (s *Server) exposed() exposed {
	return exposed{s.driver.snapshot(), s.driver.late.Now(), s.driver.throughput(), s.driver.late, s.kv}
}

// Exposition returns the content of /metrics for a note, without histograms, which only a server
// with sockets fills.
func (v *Virtual) Exposition(n model.Note) []byte {
	m := newMetrics()
	m.scalars = true
	var b bytes.Buffer
	if err := v.launch.engine.exposition(&b, v.launch, m, exposed{stats: n.Stats, now: n.At}); err != nil {
		return nil // a buffer does not fail
	}
	return b.Bytes()
}
