package trend

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
)

// MinSegment is the least number of points on each side of a change point, so that one
// or two outliers are none.
const MinSegment = 3

// Options of a search. The zero value is usable.
type Options struct {
	// Significance is the chance that a series without a change has a change point, up to
	// twice as much where neighbours are correlated; 0 means 0.05.
	Significance float64
	// MinMagnitude is the smallest change reported: a ratio less one on the log scale,
	// in the metric's unit otherwise. Twice Series.Noise is a good choice where people
	// are woken up; 0 reports all.
	MinMagnitude float64
	// MinSegment is the least number of points on each side; 0 means [MinSegment].
	MinSegment int
	// Permutations for each change point; 0 means 199.
	Permutations int
	Seed         uint64
}

// State is how far a change point can be trusted.
type State string

// The states of a change point.
const (
	// Suspected: the last one or two points are outside what the segment before them
	// predicts. More points will show.
	Suspected State = "suspected"
	// Confirmed: significant, with at least MinSegment points after it.
	Confirmed State = "confirmed"
)

// ChangePoint is a change between the values at Index−1 and Index.
type ChangePoint struct {
	Index int
	State State
	// Before and After are the means of the segments beside it: geometric on the log
	// scale, arithmetic otherwise. Change is After/Before − 1 or After − Before.
	Before, After, Change float64
	// Worse is true where the change is for the worse.
	Worse bool
	// P is the permutation p value of the change point when it was found; for a suspected
	// one, that of the prediction interval.
	P float64
}

// Series is a history with its change points.
type Series struct {
	// ChangePoints in their order; only the last can be suspected.
	ChangePoints []ChangePoint
	// Noise is the standard deviation of a point about its segment (divisor: points less
	// segments, and corrected for the correlation), a ratio less one on the log scale.
	Noise float64
	// Correlation of neighbouring points within segments, 0 or more.
	Correlation float64
}

// withDefaults fills in what is left out, and refuses what makes no sense.
func (o Options) withDefaults() (Options, error) {
	if o.Significance == 0 {
		o.Significance = 0.05
	}
	if o.MinSegment == 0 {
		o.MinSegment = MinSegment
	}
	if o.Permutations == 0 {
		o.Permutations = 199
	}
	switch {
	case !(o.Significance > 0 && o.Significance < 1):
		return o, fmt.Errorf("significance is %g; it must be between 0 and 1, for example 0.05", o.Significance)
	case o.MinSegment < 2:
		return o, fmt.Errorf("segments of %d points have no spread; use at least 2", o.MinSegment)
	case o.Permutations < 1 || 1/float64(o.Permutations+1) > o.Significance:
		return o, fmt.Errorf("%d permutations cannot reach a significance of %g; use at least %d", o.Permutations, o.Significance, int(math.Ceil(1/o.Significance))-1)
	case !(o.MinMagnitude >= 0):
		return o, fmt.Errorf("the smallest magnitude is %g; it must be 0 or more", o.MinMagnitude)
	}
	return o, nil
}

// Detect finds the change points of a series of a metric's values, oldest first. The
// same values and options give the same result. It refuses values that have no place on
// the metric's scale.
func Detect(m metric.Metric, values []float64, opt Options) (Series, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return Series{}, fmt.Errorf("trend of %s: %w", m.ID, err)
	}
	x, err := onScale(m.Scale, values)
	if err != nil {
		return Series{}, fmt.Errorf("trend of %s: %w", m.ID, err)
	}
	s := &search{Options: opt, x: x, cuts: []int{0, len(x)}, p: map[int]float64{}, work: make([]float64, 2*len(x)),
		rng: rand.New(rand.NewPCG(opt.Seed, uint64(len(x))))}
	for s.divide() || s.scan() {
	}
	s.drop(m.Scale)
	return s.series(m), nil
}

// onScale brings values to the scale of comparison.
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
		return nil, errors.New("there are no values")
	}
	return x, nil
}

// search is a series being divided.
type search struct {
	Options
	x    []float64
	cuts []int           // ends of the segments, 0 and len(x) included
	p    map[int]float64 // of each cut
	work []float64
	rng  *rand.Rand
}

// divide adds the best split of all segments by E-divisive if it is significant. In a
// series without change points it looks for episodes alone, so that scan has the whole
// significance for single changes.
func (s *search) divide() bool {
	candidate, _ := s.best(s.x)
	if candidate < 0 {
		return false
	}
	cuts := s.episodes(s.with(candidate))
	if len(cuts) == 3 && s.scannable() { // a single change, if there is one, is scan's
		return false
	}
	phi := s.correlation(cuts)
	white := s.whiten(phi)
	at, q := s.best(white)
	if at < 0 {
		return false
	}
	// Shuffled within segments; given up when significance is out of reach. A shuffle that
	// brings the same two sets counts as reached however its sums are rounded.
	const rounding = 1e-9
	limit := int(s.Significance*float64(s.Permutations+1) + 1e-9)
	reached := 1
	for range s.Permutations {
		for i, from := range s.cuts[:len(s.cuts)-1] {
			part := white[from:s.cuts[i+1]]
			s.rng.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
		}
		if _, shuffled := s.best(white); shuffled >= q*(1-rounding) {
			reached++
		}
		if reached > limit {
			return false
		}
	}
	s.p[at] = float64(reached) / float64(s.Permutations+1)
	s.cuts = s.with(at)
	return true
}

// maxEpisodes bounds the cuts that are tried together.
const maxEpisodes = 4

// episodes adds to cuts those without which an episode would be taken for correlation: a
// series that became slower and then as fast as before has neighbours that are alike, for
// one cut, in both of its parts. Cuts each of which halves the squares, on an average of a
// few, are no chance, whatever the correlation is.
func (s *search) episodes(cuts []int) []int {
	for {
		more, goal := cuts, s.squaresOf(cuts)
		for range maxEpisodes {
			at, _ := s.bestWithin(s.x, more)
			if at < 0 {
				return cuts
			}
			more, goal = insert(more, at), goal/2
			if s.squaresOf(more) <= goal {
				break
			}
		}
		if len(more) == len(cuts) || s.squaresOf(more) > goal {
			return cuts
		}
		cuts = more
	}
}

// squaresOf is the sum of squares about the means of the segments.
func (s *search) squaresOf(cuts []int) float64 {
	sum := 0.0
	for _, r := range residuals(s.x, cuts) {
		sum += r * r
	}
	return sum
}

// best is the best split over all segments of x, as an index of the series; −1 if there is
// none.
func (s *search) best(x []float64) (at int, q float64) { return s.bestWithin(x, s.cuts) }

func (s *search) bestWithin(x []float64, cuts []int) (at int, q float64) {
	at, q = -1, 0
	for i, from := range cuts[:len(cuts)-1] {
		if b := bestSplit(x[from:cuts[i+1]], s.MinSegment, s.work); b.q > q {
			at, q = from+b.at, b.q
		}
	}
	return at, q
}

// with are the cuts with one more.
func (s *search) with(cut int) []int { return insert(s.cuts, cut) }

func insert(cuts []int, cut int) []int {
	i, _ := slices.BinarySearch(cuts, cut)
	return slices.Insert(slices.Clone(cuts), i, cut)
}

// drop removes the change points below the smallest magnitude, the smallest first.
func (s *search) drop(scale metric.Scale) {
	least := s.MinMagnitude
	if scale == metric.Log {
		least = math.Log1p(least)
	}
	for len(s.cuts) > 2 {
		smallest, at := math.Inf(1), 0
		for i := 1; i < len(s.cuts)-1; i++ {
			step := math.Abs(mean(s.x[s.cuts[i]:s.cuts[i+1]]) - mean(s.x[s.cuts[i-1]:s.cuts[i]]))
			if step < smallest {
				smallest, at = step, i
			}
		}
		if smallest >= least {
			return
		}
		s.cuts = slices.Delete(s.cuts, at, at+1)
	}
}

// mean is the arithmetic mean.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
