package steps

import "slices"

// Search varies a load to find the highest load at which a service level objective (SLO) holds. It varies the
// number of users of a closed loop, else the rate.
type Search struct {
	// Min and Max are the ends of the range.
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	// Resolution is the half-width of the 95 % interval, as a share, at which the search ends,
	// and Probes the most loads that are tried.
	Resolution float64 `json:"resolution"`
	Probes     int     `json:"probes"`
	// SLO are the limits that have to hold together.
	SLO []Objective `json:"slo"`
}

// Defaults of a search.
const (
	SearchProbes     = 8
	SearchResolution = 0.02
	// SearchSuccess is the share of requests that have to succeed: the latencies of the others are in no
	// percentile.
	SearchSuccess = 0.99
)

// LimitSuccess adds the usual limit on the share of requests that succeed, unless there is one.
func (s *Search) LimitSuccess() {
	const id = "success.rate"
	if !slices.ContainsFunc(s.SLO, func(o Objective) bool { return o.Metric == id }) {
		s.SLO = append(s.SLO, Objective{Metric: id, Limit: SearchSuccess})
	}
}

// Objective is a limit on a metric of a run, in the metric's unit.
type Objective struct {
	Metric string  `json:"metric"` // id
	Limit  float64 `json:"limit"`
}

// At returns the load of one probe, with the searched quantity set to x.
func (l Load) At(x float64) Load {
	l.Search = nil
	if l.Searches() == SearchConcurrency {
		l.MaxConcurrency = int(x + 0.5)
	} else {
		l.Rate = x
	}
	return l
}

// Searched is the quantity that a search varies.
type Searched string

// The quantities that can be searched, with the names of their metrics.
const (
	SearchRate        Searched = "rate"
	SearchConcurrency Searched = "concurrency"
)

// Metric returns the ID of the metric that a search measures.
func (s Searched) Metric() string { return "capacity." + string(s) }

// Searches returns the quantity that a search of the load varies.
func (l Load) Searches() Searched {
	if l.Closed() {
		return SearchConcurrency
	}
	return SearchRate
}
