package record

import (
	"cmp"
	"slices"
)

// PeakConcurrency returns the exact largest number of requests in flight at one time. It sweeps over the sorted
// sends and ends; an end precedes a send at the same nanosecond (half-open intervals [Sent, Done)). Failed
// requests count.
func PeakConcurrency(run Run) int {
	type edge struct {
		at    int64
		delta int
	}
	edges := make([]edge, 0, 2*len(run.Requests))
	for i := range run.Requests {
		if r := &run.Requests[i]; r.Sent >= 0 && r.Done > r.Sent {
			edges = append(edges, edge{r.Sent, 1}, edge{r.Done, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.delta, b.delta))
	})
	n, peak := 0, 0
	for _, e := range edges {
		n += e.delta
		peak = max(peak, n)
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
	for i := range run.Requests {
		if r := &run.Requests[i]; r.Sent >= 0 && r.Done > r.Sent {
			busy += seconds(r.Done - r.Sent)
			any = true
		}
	}
	if any {
		m["concurrency.peak"] = float64(PeakConcurrency(run))
		m["concurrency.mean"] = busy / seconds(run.Duration)
	}
}
