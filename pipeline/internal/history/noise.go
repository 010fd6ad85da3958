package history

import (
	"math"
	"slices"
	"time"

	"github.com/servegate/pipeline/steps/probe"
)

// Noise is the noise of one metric of one cell, on the scale of the test (of logarithms for times
// and rates).
type Noise struct {
	Cell   string `json:"cell"` // hash
	Label  string `json:"label"`
	Metric string `json:"metric"`
	Model  string `json:"model,omitempty"`
	Pairs  int    `json:"pairs"`
	// PairSD is the standard deviation of the differences of two sides in a repeat, as gates use
	// it.
	PairSD float64 `json:"pair_sd"`
	// Launch is the standard deviation between launches with the same content, Pass that between
	// the runs of a launch. Without Split, launches had one pass, and Launch covers both.
	Launch float64 `json:"launch_sd,omitempty"`
	Pass   float64 `json:"pass_sd,omitempty"`
	Split  bool    `json:"split,omitempty"`
	// Request limits the part of a run's spread that comes from the finite number of requests; 0 if
	// unknown.
	Request float64 `json:"request_sd,omitempty"`
}

// PairSDAt returns the standard deviation of pairs of launches with a number of passes each.
func (n Noise) PairSDAt(passes int) float64 {
	if !n.Split {
		return n.PairSD
	}
	return math.Sqrt(2 * (n.Launch*n.Launch + n.Pass*n.Pass/float64(max(passes, 1))))
}

// Run returns the standard deviation of single runs with the same content.
func (n Noise) Run() float64 { return math.Hypot(n.Launch, n.Pass) }

// NoiseOf returns the newest calibration of a metric of a cell on machines like this one.
func (h *History) NoiseOf(q Query) (n Noise, at time.Time, ok bool) {
	for _, r := range slices.Backward(h.Records) {
		if r.Kind != Calibration || r.Simulated != q.Simulated {
			continue
		}
		if hard, _ := probe.Differences(r.Machine, q.Machine); q.Machine != nil && len(hard) > 0 {
			continue
		}
		for _, n := range r.Noise {
			if n.Cell == q.Cell && n.Metric == q.Metric {
				return n, r.Time, true
			}
		}
	}
	return Noise{}, time.Time{}, false
}
