package trend

import "math"

var EndOnly = true

// split is a change between two neighbouring parts of a segment.
type split struct {
	at int // first index of the right part, within the segment
	q  float64
}

// scanner finds best splits; it keeps its memory from series to series.
type scanner struct {
	least   int       // smallest part
	between []float64 // by τ: Σ|x_i − x_j| over i < τ ≤ j < κ
	within  []float64 // by τ: Σ|x_i − x_j| over i < j < τ
	inverse []float64 // 1/n, 0 for n = 0
}

func newScanner(points, least int) *scanner {
	s := &scanner{least: least, between: make([]float64, points+1), within: make([]float64, points+1), inverse: make([]float64, points+1)}
	for n := 1; n <= points; n++ {
		s.inverse[n] = 1 / float64(n)
	}
	return s
}

// best is the split of x with the largest Q over all τ and κ: the left part is x[:τ], the
// right part x[τ:κ], both of at least the least size; q is −Inf if there is none. With
// n and m points
//
//	Q = 2/(n+m)·ΣΣ|x_i − y_j| − 2m/((n+m)(n−1))·Σ|x_i − x_k| − 2n/((n+m)(m−1))·Σ|y_j − y_k|
//
// which is nm/(n+m) times the energy distance of the parts (D. Matteson and N. James, J.
// Am. Statist. Assoc. 109, 2014, with exponent 1). It is found in O(T²).
func (s *scanner) best(x []float64) split {
	best := split{q: math.Inf(-1)}
	clear(s.between[:len(x)+1])
	s.within[0] = 0
	for c, v := range x { // the right part ends with c
		k := c + 1
		sum := 0.0
		for t, w := range x[:c] {
			sum += math.Abs(w - v)
			s.between[t+1] += sum
		}
		s.within[k] = s.within[c] + sum
		if k < 2*s.least || EndOnly && k < len(x) {
			continue
		}
		top := math.Inf(-1)
		for n := s.least; n <= k-s.least; n++ {
			m := k - n
			xy, xx := s.between[n], s.within[n]
			yy := s.within[k] - xx - xy
			q := xy - float64(m)*s.inverse[n-1]*xx - float64(n)*s.inverse[m-1]*yy
			if q > top {
				top = q
				if q := 2 * s.inverse[k] * q; q > best.q {
					best = split{n, q}
				}
			}
		}
	}
	return best
}
