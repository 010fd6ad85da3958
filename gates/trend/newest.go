package trend

import "math"

// doubledFrom and doubledAt are the correlations between which the significance of a scan rises to twice its size. The
// more correlated points are, the less information they hold, and a change is found later in any case.
const doubledFrom, doubledAt = 0.2, 0.5

// scanSignificance returns the significance of a scan of a series with a correlation.
func scanSignificance(phi float64) float64 {
	return significance * (1 + math.Max(0, math.Min((phi-doubledFrom)/(doubledAt-doubledFrom), 1)))
}

// leastScanned is the least number of points of a newest segment that is scanned: enough history
// before the fewest points that can be new.
const leastScanned = leastHistory + MinSegment

// scan looks for a step in the newest segment, and adds it if it is significant.
//
// It uses the likelihood ratio of a step in a first-order autoregressive series against none, each
// with the best-fitting correlation φ. A step is not only a level but also one innovation of its
// whole size, which the distances between values do not show. The ratio is compared with those of
// series without a step, made of the same innovations in another order, with the φ that remains
// after the step.
func (s *search) scan() bool {
	if !s.scannable() {
		return false
	}
	found := s.likelihood(s.x)
	if found.at < 0 {
		return false
	}
	phi := unbiased(found.phi, len(s.x), len(s.cuts))
	innovations := whitened(residuals(s.x, s.with(found.at)), s.cuts, phi)
	made := make([]float64, len(s.x))
	return s.add(found.at, scanSignificance(phi), func() bool {
		s.rng.Shuffle(len(innovations), func(a, b int) {
			innovations[a], innovations[b] = innovations[b], innovations[a]
		})
		recolour(made, innovations, s.cuts, phi)
		return s.likelihood(made).ratio >= found.ratio
	})
}

// scannable reports whether the newest segment is long enough for a scan.
func (s *search) scannable() bool {
	return len(s.x)-s.cuts[len(s.cuts)-2] >= leastScanned
}

// unbiased corrects a correlation, to first order, for the bias from the means of segments. It uses
// the bias of the found correlation; [search.correlation] uses that of the corrected one.
func unbiased(phi float64, points, segments int) float64 {
	return math.Max(0, math.Min(phi+float64(segments)*(1+3*phi)/float64(points), maxCorrelation))
}
