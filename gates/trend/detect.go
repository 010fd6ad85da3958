package trend

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
)

// MinSegment is the least number of points on each side of a change point, so that one or two
// outliers do not count as one.
const MinSegment = 3

// significance is the probability that a series without a change has a change point. It is up to
// twice as large if neighbours are correlated.
const significance = 0.05

// permutations is the number of permutations for each change point.
const permutations = 199

// State tells how reliable a change point is.
type State string

// The states of a change point.
const (
	// Suspected: the last one or two points are outside the prediction from the segment before
	// them. More points will decide.
	Suspected State = "suspected"
	// Confirmed: significant, with at least MinSegment points after it.
	Confirmed State = "confirmed"
)

// ChangePoint is a change between the values at Index−1 and Index.
type ChangePoint struct {
	Index int
	State State
	// Before and After are the means of the adjacent segments: geometric on the log scale,
	// arithmetic otherwise. Change is After/Before − 1 or After − Before.
	Before, After, Change float64
	// Worse is true if the change is for the worse.
	Worse bool
	// P is the permutation p value of the change point when it was found. For a suspected one it is
	// that of the prediction interval.
	P float64
}

// Series is a history with its change points.
type Series struct {
	// ChangePoints in order; only the last can be suspected.
	ChangePoints []ChangePoint
	// Noise is the standard deviation of a point about its segment, on the log scale as a ratio
	// less one. Its divisor is points less segments, corrected for the correlation.
	Noise float64
	// Correlation of neighbouring points within segments, 0 or more.
	Correlation float64
}

// Detect finds the change points of a series of a metric's values, oldest first. The same values
// give the same result. It returns an error for values that are not on the metric's scale.
func Detect(m metric.Metric, values []float64) (Series, error) {
	return detect(m, values, permutations)
}

func detect(m metric.Metric, values []float64, permutations int) (Series, error) {
	x, err := onScale(m.Scale, values)
	if err != nil {
		return Series{}, fmt.Errorf("trend of %s: %w", m.ID, err)
	}
	s := &search{permutations: permutations, x: x, cuts: []int{0, len(x)}, p: map[int]float64{}, work: make([]float64, 2*len(x)),
		rng: rand.New(rand.NewPCG(0, uint64(len(x))))}
	for s.divide() || s.scan() {
	}
	return s.series(m), nil
}

// onScale converts values to the scale of comparison.
func onScale(scale metric.Scale, values []float64) ([]float64, error) {
	x := make([]float64, len(values))
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("value %d is not a finite number; leave the session out", i)
		}
		if scale == metric.Log {
			if v <= 0 {
				return nil, fmt.Errorf("value %d is %g, which has no logarithm; leave the session out", i, v)
			}
			v = math.Log(v)
		}
		x[i] = v
	}
	if len(x) == 0 {
		return nil, errors.New("no values")
	}
	return x, nil
}

// search holds the state of dividing a series.
type search struct {
	permutations int
	x            []float64
	cuts         []int           // ends of the segments, 0 and len(x) included
	p            map[int]float64 // p value of each cut
	work         []float64
	rng          *rand.Rand
}

// divide adds the best split of all segments by E-divisive if it is significant. In a series
// without change points it only looks for episodes, so that scan has the whole significance for
// single changes.
func (s *search) divide() bool {
	candidate, _ := s.best(s.x)
	if candidate < 0 {
		return false
	}
	cuts := s.episodes(s.with(candidate))
	if len(cuts) == 3 && s.scannable() { // leave a single change to scan
		return false
	}
	phi := s.correlation(cuts)
	white := s.whiten(phi)
	at, q := s.best(white)
	if at < 0 {
		return false
	}
	// A shuffle that produces the same two sets counts as reached, however its sums are rounded.
	const rounding = 1e-9
	return s.add(at, significance, func() bool {
		for i, from := range s.cuts[:len(s.cuts)-1] {
			part := white[from:s.cuts[i+1]]
			s.rng.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
		}
		_, shuffled := s.best(white)
		return shuffled >= q*(1-rounding)
	})
}

// add adds a cut if it is significant: if few enough shuffles reach the observed value. It stops
// early if too many do.
func (s *search) add(at int, significance float64, reaches func() bool) bool {
	limit := int(significance*float64(s.permutations+1) + 1e-9)
	reached := 1
	for range s.permutations {
		if reaches() {
			reached++
		}
		if reached > limit {
			return false
		}
	}
	s.p[at] = float64(reached) / float64(s.permutations+1)
	s.cuts = s.with(at)
	return true
}

// maxEpisodes is the largest number of cuts that are tried together.
const maxEpisodes = 4

// episodes adds the cuts of episodes to cuts. Without them an episode looks like correlation: in a
// series that became slower and then fast again, one cut leaves similar neighbours in both parts. A
// few cuts that halve the squares with each cut, on average, are not chance, whatever the
// correlation.
func (s *search) episodes(cuts []int) []int {
	for {
		more, goal := cuts, squares(s.x, cuts)
		for range maxEpisodes {
			at, _ := s.bestWithin(s.x, more)
			if at < 0 {
				return cuts
			}
			more, goal = insert(more, at), goal/2
			if squares(s.x, more) <= goal {
				break
			}
		}
		if len(more) == len(cuts) || squares(s.x, more) > goal {
			return cuts
		}
		cuts = more
	}
}

// best returns the best split over all segments of x, as an index of the series; −1 if there is
// none.
func (s *search) best(x []float64) (at int, q float64) { return s.bestWithin(x, s.cuts) }

func (s *search) bestWithin(x []float64, cuts []int) (at int, q float64) {
	at, q = -1, 0
	for i, from := range cuts[:len(cuts)-1] {
		if b := bestSplit(x[from:cuts[i+1]], MinSegment, s.work); b.q > q {
			at, q = from+b.at, b.q
		}
	}
	return at, q
}

// with returns the cuts and one more.
func (s *search) with(cut int) []int { return insert(s.cuts, cut) }

func insert(cuts []int, cut int) []int {
	i, _ := slices.BinarySearch(cuts, cut)
	return slices.Insert(slices.Clone(cuts), i, cut)
}
