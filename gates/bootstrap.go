package gates

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// Bootstrap describes how well a percentile's ratio between two sides is known. Runs are
// drawn with replacement, then requests within each drawn run, because the requests of
// one run share its launch (A. Davison and D. Hinkley, Bootstrap Methods and their
// Application, 1997, section 3.8).
//
// It describes and never decides: with few runs its intervals are too short (a nominal
// 95 % covers 79 % with three runs).
type Bootstrap struct {
	// Quantile in (0, 1): 0.99 for p99.
	Quantile float64
	// Confidence of the interval, both sides together: 0.90 leaves 5 % on each.
	Confidence float64
	// Resamples; 0 means 10,000.
	Resamples int
	// Paired runs are drawn together: run i of the base with run i of the head.
	Paired bool
	Seed   uint64
}

// Interval is a bootstrap's percentile interval of a ratio head/base.
type Interval struct{ Ratio, Lower, Upper float64 }

// Ratio describes the ratio of the geometric means over runs of each run's percentile.
// base and head hold the positive values of each run's requests, in any order. The
// percentile of k = ⌈q·n⌉ requests is the k-th smallest.
//
// Requests are not drawn one by one: the k-th smallest of n values drawn with
// replacement is the ⌈n·B⌉-th smallest of the values themselves, B being Beta(k, n−k+1).
func (b Bootstrap) Ratio(base, head [][]float64) (Interval, error) {
	if err := b.check(len(base), len(head)); err != nil {
		return Interval{}, err
	}
	tables := map[int]orderTable{}
	x, err := b.runs("base", base, tables)
	if err != nil {
		return Interval{}, err
	}
	y, err := b.runs("head", head, tables)
	if err != nil {
		return Interval{}, err
	}
	rng := rand.New(rand.NewPCG(b.Seed, 0))
	drawn := make([]float64, b.resamples())
	for i := range drawn {
		if b.Paired {
			drawn[i] = resamplePairs(rng, x, y)
		} else {
			drawn[i] = resample(rng, y) - resample(rng, x)
		}
	}
	slices.Sort(drawn)
	tail := (1 - b.Confidence) / 2
	return Interval{
		Ratio: math.Exp(observed(y) - observed(x)),
		Lower: math.Exp(Quantile(drawn, tail)), Upper: math.Exp(Quantile(drawn, 1-tail)),
	}, nil
}

// check refuses what has no bootstrap.
func (b Bootstrap) check(base, head int) error {
	switch {
	case !(b.Quantile > 0 && b.Quantile < 1):
		return fmt.Errorf("quantile is %g; it must be between 0 and 1, for example 0.99", b.Quantile)
	case !(b.Confidence > 0 && b.Confidence < 1):
		return fmt.Errorf("confidence is %g; it must be between 0 and 1, for example 0.90", b.Confidence)
	case base == 0 || head == 0:
		return errors.New("a side has no runs; a ratio needs both")
	case b.Paired && base != head:
		return fmt.Errorf("%d runs of the base have no pairs among %d of the head; leave out what has none", base, head)
	}
	return nil
}

func (b Bootstrap) resamples() int {
	if b.Resamples > 0 {
		return b.Resamples
	}
	return 10_000
}

// bootstrapRun is one run: its requests' logarithms, sorted, and the distribution of the
// order statistic that a resample's percentile is.
type bootstrapRun struct {
	logs  []float64
	order orderTable
}

// runs prepares one side.
func (b Bootstrap) runs(side string, values [][]float64, tables map[int]orderTable) ([]bootstrapRun, error) {
	runs := make([]bootstrapRun, len(values))
	for i, v := range values {
		if len(v) == 0 {
			return nil, fmt.Errorf("run %d of the %s has no requests; leave it out", i+1, side)
		}
		logs := make([]float64, len(v))
		for k, x := range v {
			if !(x > 0) || math.IsInf(x, 1) {
				return nil, fmt.Errorf("request %d of run %d of the %s is %g, which has no logarithm", k+1, i+1, side, x)
			}
			logs[k] = math.Log(x)
		}
		slices.Sort(logs)
		table, ok := tables[len(v)]
		if !ok {
			table = newOrderTable(len(v), b.Quantile)
			tables[len(v)] = table
		}
		runs[i] = bootstrapRun{logs, table}
	}
	return runs, nil
}

// observed is the mean of the runs' percentiles.
func observed(runs []bootstrapRun) float64 {
	sum := 0.0
	for _, r := range runs {
		sum += r.logs[r.order.k-1]
	}
	return sum / float64(len(runs))
}

// resample draws runs and their percentiles, and returns the mean.
func resample(rng *rand.Rand, runs []bootstrapRun) float64 {
	sum := 0.0
	for range runs {
		sum += runs[rng.IntN(len(runs))].draw(rng)
	}
	return sum / float64(len(runs))
}

// resamplePairs draws pairs of runs and returns the mean difference of their percentiles.
func resamplePairs(rng *rand.Rand, base, head []bootstrapRun) float64 {
	sum := 0.0
	for range base {
		i := rng.IntN(len(base))
		sum += head[i].draw(rng) - base[i].draw(rng)
	}
	return sum / float64(len(base))
}

// draw is the percentile of one resample of the run's requests.
func (r bootstrapRun) draw(rng *rand.Rand) float64 {
	return r.logs[r.order.draw(rng.Float64())]
}

// orderTable is the distribution of ⌈n·B⌉, B ~ Beta(k, n−k+1).
type orderTable struct {
	k int
	// chance[j] is P(⌈n·B⌉ ≤ j+1); start[i] the first j with chance[j] > i/len(start), where
	// the search for a uniform number from i/len(start) on begins.
	chance []float64
	start  []int
}

func newOrderTable(n int, q float64) orderTable {
	t := orderTable{k: max(1, min(n, int(math.Ceil(q*float64(n)*(1-rounding))))), chance: make([]float64, n), start: make([]int, 256)}
	for j := range t.chance {
		t.chance[j] = mathext.RegIncBeta(float64(t.k), float64(n-t.k+1), float64(j+1)/float64(n))
	}
	t.chance[n-1] = 1
	for i := range t.start {
		t.start[i] = sort.Search(n-1, func(j int) bool { return t.chance[j] > float64(i)/float64(len(t.start)) })
	}
	return t
}

// draw is the index of the order statistic for a uniform number in [0, 1).
func (t orderTable) draw(u float64) int {
	j := t.start[int(u*float64(len(t.start)))]
	for t.chance[j] <= u {
		j++
	}
	return j
}
