package record

import (
	"iter"
	"slices"
)

// PeakConcurrency returns the exact largest number of requests in flight at one time, in half-open intervals [Sent, Done).
// Failed requests count.
func PeakConcurrency(run Run) int {
	return peakOf(flights(run, func(r *Request) (from, to int64) {
		if r.Sent < 0 {
			return 0, 0
		}
		return r.Sent, r.Done
	}))
}

// flight is a span of time with a constant number of requests in flight.
type flight struct {
	from, to int64
	n        int
}

// flights yields the spans between sends and ends, in order and without gaps. inFlight returns when a request is in flight;
// a request whose time is not positive is in none.
func flights(run Run, inFlight func(*Request) (from, to int64)) iter.Seq[flight] {
	var sends, ends []int64 // in their own order: a run can have a million requests
	for i, r := range run.Requests.All() {
		if from, to := inFlight(r); to > from {
			if sends == nil {
				sends, ends = make([]int64, 0, run.Requests.Len()-i), make([]int64, 0, run.Requests.Len()-i)
			}
			sends, ends = append(sends, from), append(ends, to)
		}
	}
	slices.Sort(sends)
	slices.Sort(ends)
	return func(yield func(flight) bool) {
		for sent, ended, at := 0, 0, int64(0); ended < len(ends); {
			next := ends[ended]
			if sent < len(sends) {
				next = min(next, sends[sent])
			}
			if n := sent - ended; next > at && sent > 0 && !yield(flight{at, next, n}) {
				return
			}
			for at = next; ended < len(ends) && ends[ended] == at; ended++ {
			}
			for ; sent < len(sends) && sends[sent] == at; sent++ {
			}
		}
	}
}

// peakOf returns the largest number of requests in flight.
func peakOf(spans iter.Seq[flight]) int {
	peak := 0
	for s := range spans {
		peak = max(peak, s.n)
	}
	return peak
}

// reduceConcurrency adds the exact peak and the time average Σ(Done−Sent)/Duration
// (Little's law, SGLang's "Concurrency").
func reduceConcurrency(m map[string]float64, run Run) {
	if run.Duration <= 0 {
		return
	}
	busy, any := 0.0, false
	for _, r := range run.Requests.All() {
		if r.Sent >= 0 && r.Done > r.Sent {
			busy += seconds(r.Done - r.Sent)
			any = true
		}
	}
	if any {
		m["concurrency.peak"] = float64(PeakConcurrency(run))
		m["concurrency.mean"] = busy / seconds(run.Duration)
	}
}
