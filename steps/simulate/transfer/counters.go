package transfer

import (
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/prom"
)

// counters counts a server's transfers, for /metrics and for the periodic line.
type counters struct {
	mu      sync.Mutex
	seconds prom.Histogram
	bytes   prom.Histogram
	failed  int // sends
	lost    int // loads
	late    int // expired
	// window since the last periodic line.
	window []Moved
}

// maxWindow limits the transfers that one periodic line averages.
const maxWindow = 4096

type Moved struct {
	Bytes float64
	Took  time.Duration
}

// newCounters returns counters with the buckets of vLLM's nixl_connector.py.
func newCounters() *counters {
	return &counters{
		seconds: prom.NewHistogram(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 5),
		bytes:   prom.NewHistogram(2<<10, 8<<10, 32<<10, 128<<10, 512<<10, 2<<20, 8<<20, 32<<20, 128<<20, 512<<20, 2<<30),
	}
}

func (c *counters) moved(bytes float64, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seconds.Add(took.Seconds())
	c.bytes.Add(bytes)
	if len(c.window) < maxWindow {
		c.window = append(c.window, Moved{bytes, took})
	}
}

func (c *counters) failedSend() { c.count(&c.failed) }
func (c *counters) failedLoad() { c.count(&c.lost) }
func (c *counters) expired()    { c.count(&c.late) }

func (c *counters) count(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

// TakeWindow returns the transfers since the last call, with all failures so far.
func (k *Side) TakeWindow() (window []Moved, failed, expired int) {
	c := k.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	window, c.window = c.window, nil
	return window, c.failed + c.lost, c.late
}

// total returns the value of a counter.
func (c *counters) total(of kv.Quantity) float64 {
	switch of {
	case kv.TransferredBytes:
		return c.bytes.Sum
	case kv.FailedSends:
		return float64(c.failed)
	case kv.FailedLoads:
		return float64(c.lost)
	case kv.ExpiredRequests:
		return float64(c.late)
	}
	return float64(c.failed + c.lost)
}

// Totals returns the transfers and failures since the start.
func (k *Side) Totals() (transfers int, bytes, seconds float64, failed int) {
	c := k.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seconds.N, c.bytes.Sum, c.seconds.Sum, c.failed + c.lost
}

// WriteMetrics writes the connector's own metrics.
func (k *Side) WriteMetrics(x *prom.Writer) {
	c := k.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range k.plan.Play.Metrics {
		if m.Role == steps.RoleProducer && !k.plan.Produces || m.Role == steps.RoleConsumer && !k.plan.Consumes {
			continue
		}
		switch m.Of {
		case kv.TransferSeconds:
			x.Histogram(m.Name, m.Help, c.seconds)
		case kv.TransferSizes:
			x.Histogram(m.Name, m.Help, c.bytes)
		default:
			x.Value(m.Name, m.Help, "counter", c.total(m.Of))
		}
	}
}
