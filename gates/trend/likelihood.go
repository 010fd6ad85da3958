package trend

import "math"

// The grid of correlations φ on which the likelihood is maximized.
const (
	correlationStep = 0.05
	correlations    = 19 // up to maxCorrelation
)

// likelihood compares a step in the newest segment with none.
type likelihood struct {
	at    int     // the most likely place, −1 if there is none
	phi   float64 // the most likely correlation with it
	ratio float64 // twice the logarithm of the ratio
}

// likelihood finds the most likely step of a series in its newest segment. The other segments
// contribute to the estimates of correlation and spread.
func (s *search) likelihood(x []float64) likelihood {
	found := likelihood{at: -1}
	last := len(s.cuts) - 2
	points, starts := float64(len(x)), float64(last+1)
	without, with := math.Inf(-1), math.Inf(-1)
	for i := range correlations {
		phi := float64(i) * correlationStep
		older := 0.0
		for k, from := range s.cuts[:last] {
			older += squaresAbout(x[from:s.cuts[k+1]], phi)
		}
		newest, gain, at := bestStep(x[s.cuts[last]:], phi)
		if newest+older <= 0 {
			continue
		}
		starting := starts / 2 * math.Log1p(-phi*phi)
		without = math.Max(without, starting-points/2*math.Log(older+newest))
		if l := starting - points/2*math.Log(math.Max(older+newest-gain, math.SmallestNonzeroFloat64)); l > with && at > 0 {
			with, found.at, found.phi = l, s.cuts[last]+at, phi
		}
	}
	if found.at >= 0 {
		found.ratio = 2 * (with - without)
	}
	return found
}

// squaresAbout returns the sum of squares of the innovations of a segment about its mean, by
// generalized least squares.
func squaresAbout(x []float64, phi float64) float64 {
	ww, mw, mm := sums(x, phi)
	return ww - mw*mw/mm
}

// sums returns the sums of w², w·m and m² over a segment, for its innovations w and the innovations
// m of a constant 1.
func sums(x []float64, phi float64) (ww, mw, mm float64) {
	level, start := 1-phi, 1-phi*phi // m of a later point, and m² of the first one
	ww, mw, mm = start*x[0]*x[0], start*x[0], start
	for t := 1; t < len(x); t++ {
		w := x[t] - phi*x[t-1]
		ww += w * w
		mw += level * w
		mm += level * level
	}
	return ww, mw, mm
}

// bestStep returns the sum of squares of the innovations of a segment about its mean, and the
// largest reduction by a step. at is 0 if there is no place for a step.
func bestStep(x []float64, phi float64) (squares, gain float64, at int) {
	level := 1 - phi // innovation of a mean of 1
	ww, mw, mm := sums(x, phi)
	mean, scale := mw/mm, 1/mm
	later, part, norm := 0.0, 0.0, 1.0 // the gain is part/norm; comparing products saves a division for each place
	for t := len(x) - 1; t >= MinSegment; t-- {
		w := x[t] - phi*x[t-1]
		product := w + level*later
		later += w
		if len(x)-t < MinSegment {
			continue
		}
		after := level * level * float64(len(x)-1-t)
		overlap := level + after
		rest := product - overlap*mean
		if p, n := rest*rest, 1+after-overlap*overlap*scale; p*norm > part*n {
			part, norm, at = p, n, t
		}
	}
	return ww - mw*mean, part / norm, at
}

// whitened returns the innovations of residuals; each segment starts anew.
func whitened(r []float64, cuts []int, phi float64) []float64 {
	white := make([]float64, len(r))
	for i, from := range cuts[:len(cuts)-1] {
		white[from] = math.Sqrt(1-phi*phi) * r[from]
		for t := from + 1; t < cuts[i+1]; t++ {
			white[t] = r[t] - phi*r[t-1]
		}
	}
	return white
}

// recolour makes a series from innovations. It is the inverse of whitened.
func recolour(x, innovations []float64, cuts []int, phi float64) {
	for i, from := range cuts[:len(cuts)-1] {
		x[from] = innovations[from] / math.Sqrt(1-phi*phi)
		for t := from + 1; t < cuts[i+1]; t++ {
			x[t] = phi*x[t-1] + innovations[t]
		}
	}
}
