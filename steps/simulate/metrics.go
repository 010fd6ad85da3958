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

func hitRate(st model.Stats) float64 {
	if st.PrefixQueries == 0 {
		return 0
	}
	return float64(st.PrefixHits) / float64(st.PrefixQueries)
}
