package record

import (
	"cmp"
	"math"
	"slices"
)

// minOverloadArrivals is the smallest number of arrivals in the second half of a run for a decision about
// overload.
const minOverloadArrivals = 20

// Overloaded reports whether the server permanently fell behind the arrivals, so that percentiles describe the
// length of the run and not the server.
//
// The backlog at an arrival is the number of requests planned before it and not yet ended. Over the m arrivals
// of the second half of the run, all of these must hold:
//
//   - the backlog grew by more than 3·√(m·c²), with c² the squared coefficient of
//     variation of the gaps (at least 1). A server exactly at its capacity drifts by
//     about √m by chance, so this is three of its standard deviations;
//   - the least-squares slope over the second half predicts at least that growth too,
//     so that a burst at the very end is not mistaken for a trend;
//   - the backlog at the end is at least 1.5 times the backlog in the middle;
//   - the last quarter of the requests took longer (median, from the plan) than the
//     third, so that a run too short to reach its steady state does not count as overloaded.
//
// The rule is conservative: it reports no overload at 80 % utilisation, and detects a server that lacks a
// fraction δ of the capacity once m > 9/δ². It returns false for closed loops and for requests that were all
// planned at once.
func Overloaded(run Run) bool {
	q := planned(run)
	half := q[len(q)/2:]
	m := len(half)
	if m < minOverloadArrivals || half[0].Planned == half[m-1].Planned {
		return false
	}
	b := backlogs(q)[len(q)/2:]
	k := max(m/10, 5)
	begin, end := Mean(b[:k]), Mean(b[m-k:])
	need := 3 * math.Sqrt(float64(m)*max(1, gapVariation(half)))
	if end-begin <= need || end < 1.5*begin {
		return false
	}
	return slope(b)*float64(m) > need &&
		medianLatency(half[m/2:]) > medianLatency(half[:m/2])
}

// lifetime is the time from a request's arrival to its end.
type lifetime struct{ Planned, Done int64 }

// planned returns the lifetimes of the ended requests that have a planned time, in that order.
func planned(run Run) []lifetime {
	q := make([]lifetime, 0, run.Requests.Len())
	for _, r := range run.Requests.All() {
		if r.Planned >= 0 && r.Done >= 0 && r.Failure != FailCancelled {
			q = append(q, lifetime{r.Planned, r.Done})
		}
	}
	slices.SortStableFunc(q, func(a, b lifetime) int { return cmp.Compare(a.Planned, b.Planned) })
	return q
}

// backlogs returns, for every arrival, the number of earlier requests that had not ended.
func backlogs(q []lifetime) []float64 {
	ends := make([]int64, len(q))
	for i, r := range q {
		ends[i] = r.Done
	}
	slices.Sort(ends)
	b := make([]float64, len(q))
	ended := 0
	for i, r := range q {
		for ended < len(ends) && ends[ended] <= r.Planned {
			ended++
		}
		b[i] = float64(i - ended)
	}
	return b
}

// gapVariation returns the squared coefficient of variation of the gaps between arrivals.
func gapVariation(q []lifetime) float64 {
	gaps := make([]float64, 0, len(q))
	for i := 1; i < len(q); i++ {
		gaps = append(gaps, float64(q[i].Planned-q[i-1].Planned))
	}
	mean := Mean(gaps)
	if mean == 0 {
		return 0
	}
	return math.Pow(Std(gaps)/mean, 2)
}

// slope returns the least-squares slope of v over its index.
func slope(v []float64) float64 {
	mid, mean := float64(len(v)-1)/2, Mean(v)
	var sxy, sxx float64
	for i, y := range v {
		x := float64(i) - mid
		sxy += x * (y - mean)
		sxx += x * x
	}
	if sxx == 0 {
		return 0
	}
	return sxy / sxx
}

// medianLatency returns the median time from plan to end.
func medianLatency(q []lifetime) float64 {
	v := make([]float64, len(q))
	for i, r := range q {
		v[i] = seconds(r.Done - r.Planned)
	}
	return Quantile(sorted(v), 0.5)
}
