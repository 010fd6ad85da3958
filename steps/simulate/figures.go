package simulate

import (
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// gauges are the present values of a simulated server, and counters its totals, by names that all
// engines share.
var (
	gauges = map[string]func(model.Note) float64{
		steps.SeriesRunning: func(n model.Note) float64 { return float64(n.Stats.Running) },
		steps.SeriesWaiting: func(n model.Note) float64 { return float64(n.Stats.Waiting) },
		steps.SeriesKVUsage: func(n model.Note) float64 { return n.Stats.KVUsage },
	}
	counters = map[string]func(model.Note) float64{
		metric.CounterPromptTokens:     func(n model.Note) float64 { return float64(n.Stats.PromptTokens) },
		metric.CounterGenerationTokens: func(n model.Note) float64 { return float64(n.Stats.OutputTokens) },
		metric.CounterPreemptions:      func(n model.Note) float64 { return float64(n.Stats.Preemptions) },
		metric.CounterPrefixQueries:    func(n model.Note) float64 { return float64(n.Stats.PrefixQueries) },
		metric.CounterPrefixHits:       func(n model.Note) float64 { return float64(n.Stats.PrefixHits) },
		metric.CounterExternalQueries:  func(n model.Note) float64 { return float64(n.Stats.ExternalQueries) },
		metric.CounterExternalHits:     func(n model.Note) float64 { return float64(n.Stats.ExternalHits) },
		metric.CounterQueueSeconds:     func(n model.Note) float64 { return n.Stats.QueueTime.Seconds() },
		metric.CounterQueued:           func(n model.Note) float64 { return float64(n.Stats.Queued) },
		metric.CounterTransferBytes:    func(n model.Note) float64 { return n.Moved.Bytes },
		metric.CounterTransferSeconds:  func(n model.Note) float64 { return n.Moved.Time.Seconds() },
		metric.CounterJoules:           func(n model.Note) float64 { return n.Joules },
	}
	// draftCounters exist only after the first draft.
	draftCounters = map[string]func(model.Drafts) float64{
		metric.CounterDrafts:         func(d model.Drafts) float64 { return float64(d.Steps) },
		metric.CounterDraftTokens:    func(d model.Drafts) float64 { return float64(d.Tokens) },
		metric.CounterAcceptedTokens: func(d model.Drafts) float64 { return float64(d.Accepted) },
	}
)

// Observation returns the metrics of a server without sockets at a time.
func (v *Virtual) Observation(at time.Time, n model.Note) steps.Observation {
	o := steps.Observation{
		At: at, Gauges: map[string]float64{}, Counters: map[string]float64{}, Exposition: func() []byte { return v.Exposition(n) },
	}
	for name, of := range gauges {
		o.Gauges[name] = of(n)
	}
	for name, of := range counters {
		o.Counters[name] = of(n)
	}
	if n.Stats.Drafts.Steps > 0 {
		for name, of := range draftCounters {
			o.Counters[name] = of(n.Stats.Drafts)
		}
	}
	return o
}
