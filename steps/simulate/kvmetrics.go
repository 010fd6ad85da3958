package simulate

import (
	"slices"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/kv"
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

// p90 of a few values, the largest of none being 0.
func p90(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)*9/10]
}
