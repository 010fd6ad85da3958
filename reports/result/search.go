package result

import "github.com/servegate/pipeline/gates/capacity"

// Search describes how a run found the highest load that its target serves within a service level
// objective (SLO): the loads that were tried, and the result of the fit to them.
type Search struct {
	Over LoadKind `json:"over"` // what was searched
	// Min and Max are the ends of the range.
	Min float64 `json:"min" bounds:"0,"`
	Max float64 `json:"max" bounds:"0,"`
	// Capacity is the highest load at which the SLO holds, from the fit. If Bound is present, it is
	// the end of the range that the capacity is beyond. Absent if nothing was found.
	Capacity *float64 `json:"capacity,omitempty" bounds:"0,"`
	Bound    Bound    `json:"bound,omitempty"`
	// Lower to Upper is the 95 % interval of the capacity of this launch. An absent bound is beyond
	// the range.
	Lower *float64 `json:"lower,omitempty" bounds:"0,"`
	Upper *float64 `json:"upper,omitempty" bounds:"0,"`
	// Stopped is why no further load was tried, in one sentence.
	Stopped string  `json:"stopped,omitempty"`
	Probes  []Probe `json:"probes"` // in order of time
}

// Contrary returns the probes that missed the SLO at loads below the interval of the capacity, although a higher load
// held.
func (s *Search) Contrary() []Probe {
	if s.Lower == nil {
		return nil
	}
	var valid []Probe
	var fitted []capacity.Probe
	for _, p := range s.Probes {
		if p.Void == "" && p.Kind == s.Over {
			valid, fitted = append(valid, p), append(fitted, capacity.Probe{Load: p.Load, Headroom: p.Headroom, Held: p.Held})
		}
	}
	var out []Probe
	for _, i := range capacity.Contrary(fitted, *s.Lower) {
		out = append(out, valid[i])
	}
	return out
}

// Probe is a load that a search tried.
type Probe struct {
	Kind LoadKind `json:"kind"`
	Load float64  `json:"load" bounds:"0,"` // offered: requests per second, or users
	// Reason is why this load was tried, in one sentence.
	Reason string `json:"reason"`
	// Resumed is true if the probe used an earlier start of the target, before the session was
	// interrupted.
	Resumed bool `json:"resumed,omitempty"`
	// Held is true if every objective was within its limit.
	Held       bool        `json:"held"`
	Objectives []Objective `json:"objectives"`
	// Headroom is the smallest of the objectives' headrooms.
	Headroom float64 `json:"headroom"`
	// Void is why the probe is not informative about the server. It is then excluded from the fit.
	Void      string    `json:"void,omitempty"`
	VoidCause VoidCause `json:"void_cause,omitempty"`
	// Duration in seconds; requests sent and failed.
	Duration   float64        `json:"duration_s" bounds:"0,"`
	Sent       int            `json:"sent"`
	Failed     int            `json:"failed"`
	Failures   map[string]int `json:"failures,omitempty"`   // by class
	Overloaded bool           `json:"overloaded,omitempty"` // the backlog grew
	// Metrics by id, as in a run at this load.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Audit   map[string]any     `json:"audit,omitempty"`   // of the client, as in a run
	Records string             `json:"records,omitempty"` // path below the run directory
}

// Objective is one limit of an SLO at one load.
type Objective struct {
	Metric string  `json:"metric"` // id
	Limit  float64 `json:"limit"`  // in the metric's unit
	// Value that was measured; absent if no request had one, which counts as beyond the limit.
	Value *float64 `json:"value,omitempty"`
	Held  bool     `json:"held"`
	// Headroom is ln(limit / value), for shares ln((1 − limit) / (1 − value)): above 0 within the
	// limit. It is limited to ±2.
	Headroom float64 `json:"headroom" bounds:"-2,2"`
}

// LoadKind is the quantity of a load.
type LoadKind string

// The kinds of load.
const (
	LoadRate        LoadKind = "rate"        // requests per second, an open loop
	LoadConcurrency LoadKind = "concurrency" // users who wait for their answers, a closed loop
)

// Bound tells on which side of a figure the true value is.
type Bound string

// The bounds.
const (
	AtLeast Bound = "at_least"
	AtMost  Bound = "at_most"
)

// Sign returns what stands before a value that is a bound, "" for a value that is none.
func (b Bound) Sign() string { return map[Bound]string{AtLeast: "≥ ", AtMost: "≤ "}[b] }
