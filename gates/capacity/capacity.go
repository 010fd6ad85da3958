package capacity

import (
	"fmt"
	"math"
	"slices"
)

// Range is the range of loads to search, and when to stop.
type Range struct {
	Min, Max float64
	// Whole is set if loads are numbers of users.
	Whole bool
	// Resolution is the half-width of the 95 % interval, as a share, at which a search ends.
	Resolution float64
	// Probes is the largest number of probes.
	Probes int
}

// Probe is the result at one load.
type Probe struct {
	Load     float64
	Headroom float64
	Held     bool
}

// Limits of a search.
const (
	// Clip is the headroom beyond which a probe only shows which side of the capacity it is on.
	Clip = 2
	// Growth is the largest ratio of a probe to the highest load that held.
	Growth = 4
	// LeastProbes is the least number of probes before an interval ends a search.
	LeastProbes = 4
	// FullProbes is the number of probes from which an interval may end a search at its resolution.
	// With fewer, some intervals are narrow by chance, so with n probes it must be narrower by
	// (n/FullProbes)⁴.
	FullProbes = 8
	// MaxRatio is the largest ratio of the ends of a range.
	MaxRatio = 1e4
)

// The grid of the posterior. A slope is the rise of latency over load. The grid reaches from almost
// flat, where the headroom hardly shows the capacity, to a cliff.
const (
	slopes, leastSlope, slopeRatio = 12, 0.054, 1.8
	noises, leastNoise, noiseRatio = 9, 0.005, 1.9
	// beyond is the largest distance of the capacity from the range, in logarithms.
	beyond = 0.4
	// curvature is the error of a line, as a share of its headroom.
	curvature = 0.26
	// freedom is the degrees of freedom of the noise; the exponents in likelihoods follow from it.
	freedom = 8
	// The most likely slope and noise, with the factors of their spread.
	usualSlope, slopeSpread = 4.0, 1.3
	usualNoise, noiseSpread = 0.08, 2.0
	maxGrid                 = 4000
	// negligible is the probability below which a capacity is excluded for good.
	negligible = 1e-9
)

// bend is a deviation from a straight line at the capacity.
type bend struct {
	// knee is the ratio of the slopes beyond and below the capacity; beyond it, a queue grows. The
	// ratio is below 1 if latencies only measure the length of the probe and stop rising.
	knee float64
	// jump is the sudden fall of the headroom just beyond the capacity; just below it the headroom
	// is higher by half as much. It models a cliff.
	jump float64
	// weight is the prior weight of the bend relative to no bend.
	weight float64
}

var bends = [...]bend{{1, 0, 1}, {4, 0, 0.1}, {15, 0, 0.05}, {1. / 3, 0, 0.2}, {1, 0.7, 0.05}, {1, 1.4, 0.05}}

// hypotheses is their number at each capacity of the grid.
const hypotheses = slopes * len(bends) * noises

// Search holds the state of a capacity search.
type Search struct {
	in     Range
	probes []Probe

	from, step float64   // of the logarithms of capacity on the grid
	weights    []float64 // by capacity, slope, bend and noise, with sum total
	total      float64
	density    []float64 // by capacity, with sum 1
	slope      [slopes]float64
	variance   [noises]float64
}

// New returns a search without probes.
func New(in Range) (*Search, error) {
	switch {
	case !(in.Min > 0) || !(in.Max > in.Min) || in.Max/in.Min > MaxRatio:
		return nil, fmt.Errorf("loads from %g to %g cannot be searched: they must rise, by at most %g times", in.Min, in.Max, float64(MaxRatio))
	case !(in.Resolution > 0) || in.Resolution >= 1 || in.Probes < 1:
		return nil, fmt.Errorf("a search needs a resolution between 0 and 1 and at least one probe, not %g and %d", in.Resolution, in.Probes)
	}
	s := &Search{in: in, from: math.Log(in.Min) - beyond}
	length := math.Log(in.Max/in.Min) + 2*beyond
	s.step = max(in.Resolution/4, length/maxGrid)
	n := int(length/s.step) + 1
	s.weights, s.density = make([]float64, n*hypotheses), make([]float64, n)
	for i := range s.slope {
		s.slope[i] = leastSlope * math.Pow(slopeRatio, float64(i))
	}
	for i := range s.variance {
		s.variance[i] = math.Pow(leastNoise*math.Pow(noiseRatio, float64(i)), 2)
	}
	prior := s.weights[:0]
	for _, b := range s.slope {
		for _, bend := range bends {
			for _, v := range s.variance {
				prior = append(prior, bend.weight*bell(math.Log(b/usualSlope)/slopeSpread)*bell(math.Log(math.Sqrt(v)/usualNoise)/noiseSpread))
			}
		}
	}
	each, total := 0.0, 0.0
	for _, w := range prior {
		each += w
	}
	for i := range s.density {
		copy(s.weights[i*hypotheses:], prior)
		s.density[i], total = each, total+each
	}
	s.normalise(total)
	return s, nil
}

func bell(z float64) float64 { return math.Exp(-z * z / 2) }

// Add includes a probe.
func (s *Search) Add(p Probe) {
	s.probes = append(s.probes, p)
	x, h := math.Log(p.Load), clip(p.Headroom)
	held, not := s.likelihoods(h, Clip), s.likelihoods(h, -Clip)
	scale, total := 1/s.total, 0.0
	for i, before := range s.density {
		if before < negligible {
			s.density[i] = 0 // its weights are not read again
			continue
		}
		sum, at := 0.0, i*hypotheses
		away := s.from + float64(i)*s.step - x
		for _, b := range s.slope {
			for _, bend := range bends {
				likely := &held
				if line := bend.headroom(b * away); line <= -Clip {
					likely = &not
				} else if line < Clip {
					own := s.likelihoods(h, line)
					likely = &own
				}
				weights := (*[noises]float64)(s.weights[at:])
				for j, w := range weights {
					w *= scale * likely[j]
					weights[j] = w
					sum += w
				}
				at += noises
			}
		}
		s.density[i], total = sum, total+sum
	}
	s.normalise(total)
}

// likelihoods returns the likelihoods of a headroom h if the line predicts another, by noise:
// Student's t with freedom degrees of freedom, because a draw may be far off. With t = r + freedom·v its density is
// v⁴/t⁴·⁵ but for a constant factor, which takes one division.
func (s *Search) likelihoods(h, line float64) (out [noises]float64) {
	r, wrong := (h-line)*(h-line), curvature*curvature*line*line
	for i, v := range s.variance {
		v += wrong
		t := r + freedom*v
		v2, t2 := v*v, t*t
		out[i] = v2 * v2 / (t2 * t2 * math.Sqrt(t))
	}
	return out
}

// headroom applies the bend to the headroom of a line.
func (b bend) headroom(line float64) float64 {
	if line < 0 {
		return line*b.knee - b.jump
	}
	return line + b.jump/2
}

func clip(h float64) float64 { return min(max(h, -Clip), Clip) }

// normalise divides the density by the sum of the weights, by which Add divides these.
func (s *Search) normalise(total float64) {
	s.total = total
	for i := range s.density {
		s.density[i] /= total
	}
}

// quantile returns a quantile of the capacity.
func (s *Search) quantile(p float64) float64 {
	sum := 0.0
	for i, d := range s.density {
		if sum+d >= p {
			part := 0.5
			if d > 0 {
				part = (p - sum) / d
			}
			return math.Exp(s.from + (float64(i)+part-0.5)*s.step)
		}
		sum += d
	}
	return math.Exp(s.from + float64(len(s.density))*s.step)
}

// Confidence of the interval of a capacity.
const Confidence = 0.95

// Estimate is a capacity with its interval.
type Estimate struct {
	Capacity, Lower, Upper float64
	// AtLeast and AtMost are set if the capacity is an end of the range and the true one lies
	// beyond it.
	AtLeast, AtMost bool
}

// Estimate returns the estimate from the probes so far.
func (s *Search) Estimate() Estimate {
	e := Estimate{Capacity: s.quantile(0.5), Lower: s.quantile((1 - Confidence) / 2), Upper: s.quantile((1 + Confidence) / 2)}
	switch {
	case e.Capacity >= s.in.Max:
		e.Capacity, e.AtLeast = s.in.Max, true
	case e.Capacity <= s.in.Min:
		e.Capacity, e.AtMost = s.in.Min, true
	}
	return e
}

// Step is the next action of a search.
type Step struct {
	// Load to try, 0 at the end.
	Load float64
	// Why the load is tried, or why the search ends: a part of a sentence.
	Why string
}

// Next returns the next load to try.
func (s *Search) Next() Step {
	if done := s.done(); done != "" {
		return Step{Why: done}
	}
	load, why := s.quantile(0.5), "the median of what the probes so far leave"
	if len(s.probes) == 0 {
		load, why = math.Sqrt(s.in.Min*s.in.Max), "the middle of the range"
	}
	if most := Growth * s.highestHeld(); load > most {
		load, why = most, fmt.Sprintf("%d times what has held: a server is not driven further into overload", Growth)
		if len(s.probes) == 0 {
			why = fmt.Sprintf("%d times the least load: a server is not driven further into overload", Growth)
		}
	}
	if s.in.Whole {
		load = math.Round(load)
		if beside := s.beside(load); beside != load {
			load, why = beside, "the next one on the other side"
		}
	}
	switch {
	case load >= s.in.Max:
		load, why = s.in.Max, "the end of the range"
	case load <= s.in.Min:
		load, why = s.in.Min, "the least load of the range"
	}
	return Step{Load: load, Why: why}
}

// highestHeld returns the highest load at which the SLO held, or the least load of the range.
func (s *Search) highestHeld() float64 {
	held := s.in.Min
	for _, p := range s.probes {
		if p.Held {
			held = max(held, p.Load)
		}
	}
	return held
}

// done returns why no further load is tried, "" if one is.
func (s *Search) done() string {
	if len(s.probes) == 0 {
		return ""
	}
	lower, upper := s.quantile((1-Confidence)/2), s.quantile((1+Confidence)/2)
	switch {
	case lower > s.in.Max && s.tried(s.in.Max, true):
		return "the SLO holds at the end of the range"
	case upper < s.in.Min && s.tried(s.in.Min, false):
		return "the SLO does not hold at the least load of the range"
	case len(s.probes) >= LeastProbes && math.Log(upper/lower) <= 2*s.narrowness()*math.Log1p(s.in.Resolution):
		return fmt.Sprintf("the interval is within ±%.3g %%", 100*s.in.Resolution)
	case s.between(lower, upper):
		return fmt.Sprintf("%g hold and %g do not", math.Floor(lower), math.Floor(lower)+1)
	case len(s.probes) >= s.in.Probes:
		return fmt.Sprintf("%d probes were made", len(s.probes))
	}
	return ""
}

// narrowness returns the share of the resolution that the interval must be within, at the present
// number of probes.
func (s *Search) narrowness() float64 {
	return math.Pow(min(1, float64(len(s.probes))/FullProbes), 4)
}

// beside returns a whole load or, if it was probed with one result, the next one on the other side
// of the capacity. The same load again would show nothing about the slope.
func (s *Search) beside(load float64) float64 {
	held, not := s.tried(load, true), s.tried(load, false)
	next := load + 1
	if not {
		next = load - 1
	}
	if held == not || next < s.in.Min || next > s.in.Max || s.tried(next, true) || s.tried(next, false) {
		return load
	}
	return next
}

// between reports whether a capacity lies between two numbers of users of which the lower one holds
// and the higher one does not.
func (s *Search) between(lower, upper float64) bool {
	n := math.Floor(lower)
	return s.in.Whole && upper <= n+1 && s.tried(n, true) && s.tried(n+1, false)
}

func (s *Search) tried(load float64, held bool) bool {
	return slices.ContainsFunc(s.probes, func(p Probe) bool { return p.Load == load && p.Held == held })
}

// ClearMiss is the least ratio of a latency to its limit for [Contrary]: below it the noise of a probe is too likely.
const ClearMiss = 1.05

// Contrary returns the indices of the probes that missed the SLO clearly below the interval of the capacity, whose
// lower end is given, although a higher load held. The model of a search, in which more load is never better, takes
// them for noise.
func Contrary(probes []Probe, lower float64) []int {
	held := 0.0
	for _, p := range probes {
		if p.Held {
			held = max(held, p.Load)
		}
	}
	var out []int
	for i, p := range probes {
		if !p.Held && p.Headroom < -math.Log(ClearMiss) && p.Load < min(lower, held) {
			out = append(out, i)
		}
	}
	return out
}
