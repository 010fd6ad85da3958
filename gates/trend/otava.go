package trend

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// OtavaOptions are those of Apache Otava. The zero value is its defaults.
type OtavaOptions struct {
	// Window of the search in points; 0 means 50.
	Window int
	// MaxP is the largest p value of a change point; 0 means 0.001.
	MaxP float64
	// MinMagnitude is the smallest relative change.
	MinMagnitude float64
	// Corrected takes the standard deviation of a sample (divisor n − 1) in the t-test.
	// Otava takes the divisor n, so that its p values are too small.
	Corrected bool
}

// OtavaPoint is a change point of Otava's.
type OtavaPoint struct {
	Index int
	// P is that of Student's t-test of the neighbouring segments.
	P float64
	// Magnitude is the larger of |after/before − 1| and |before/after − 1|.
	Magnitude float64
}

// Otava finds change points as Apache Otava 0.8.0 does (M. Fleming et al., Hunter: Using
// Change Point Detection to Hunt for Performance Regressions, ICPE 2023), for people who
// move a history here and ask why it changed its mind: E-divisive splits in sliding
// windows are kept as weak change points at ten times MaxP by a t-test, then the weakest
// are merged away until all have MaxP and MinMagnitude.
//
// The t-test takes a split that was chosen to be extreme for one that was not, and
// neighbours for independent: in 90 points without a change Otava's defaults find one in
// 6 of 100 series, with a correlation of 0.5 in 68. [Detect] is for alarms.
func Otava(values []float64, opt OtavaOptions) ([]OtavaPoint, error) {
	if opt.Window == 0 {
		opt.Window = 50
	}
	if opt.MaxP == 0 {
		opt.MaxP = 0.001
	}
	switch {
	case opt.Window < 2:
		return nil, fmt.Errorf("a window of %d points cannot be split; use at least 2", opt.Window)
	case !(opt.MaxP > 0 && opt.MaxP <= 1):
		return nil, fmt.Errorf("the largest p value is %g; it must be between 0 and 1, for example 0.001", opt.MaxP)
	case slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }):
		return nil, errors.New("a value is not a finite number; leave the session out")
	}
	o := otava{values, opt}
	return o.merge(o.weak()), nil
}

type otava struct {
	x []float64
	OtavaOptions
}

// weak are the change points of all windows, ascending. A window begins half a window
// after the one before, or at its last change point.
func (o otava) weak() []int {
	limit := o.MaxP
	switch {
	case limit < 0.05:
		limit *= 10
	case limit < 0.5:
		limit *= 2
	}
	var found []int
	for start := 0; start < len(o.x); {
		end := min(start+o.Window, len(o.x))
		last := 0
		for _, at := range o.divide(o.x[start:end], limit) {
			last = start + at
			if !slices.Contains(found, last) {
				found = append(found, last)
			}
		}
		start = max(last, start+max(o.Window/2, 1))
	}
	slices.Sort(found)
	return found
}

// divide splits one window until the best split is not significant.
func (o otava) divide(x []float64, limit float64) []int {
	cuts := []int{0, len(x)}
	for {
		best, segment := split{q: math.Inf(-1)}, -1
		for i, from := range cuts[:len(cuts)-1] {
			if to := cuts[i+1]; to-from > 1 {
				if b := otavaSplit(x[from:to]); b.q > best.q {
					best, segment = split{from + b.at, b.q}, i
				}
			}
		}
		if segment < 0 || best.at >= cuts[segment+1] {
			return cuts[1 : len(cuts)-1]
		}
		if p := o.compare(x[cuts[segment]:best.at], x[best.at:cuts[segment+1]]).P; !(p <= limit) {
			return cuts[1 : len(cuts)-1]
		}
		cuts = slices.Insert(cuts, segment+1, best.at)
	}
}

// otavaSplit is the split of x with the largest Q over all parts x[:τ] and x[τ:κ], of one
// point and more. Of equals the first is taken, by τ and then by κ; where all are
// negative, Otava's matrix of Q still has a zero at τ = 2.
func otavaSplit(x []float64) split {
	best := split{q: math.Inf(-1)}
	if len(x) > 2 {
		best = split{2, 0}
	}
	within := make([]float64, len(x)+1) // Σ|x_i − x_k| over i < k < n
	for n, v := range x {
		within[n+1] = within[n]
		for _, w := range x[:n] {
			within[n+1] += math.Abs(v - w)
		}
	}
	for t := 1; t < len(x); t++ {
		between := 0.0
		for k := t + 1; k <= len(x); k++ {
			for _, w := range x[:t] {
				between += math.Abs(w - x[k-1])
			}
			n, m := float64(t), float64(k-t)
			q := between
			if t > 1 {
				q -= m / (n - 1) * within[t]
			}
			if k-t > 1 {
				q -= n / (m - 1) * (within[k] - within[t] - between)
			}
			if q *= 2 / (n + m); q > best.q {
				best = split{t, q}
			}
		}
	}
	return best
}

// merge removes weak change points, the weakest first, until all are strong. As in Otava
// the change points from the removed one on are compared anew, and the one before it,
// whose segment grew as well, is not.
func (o otava) merge(cuts []int) []OtavaPoint {
	ends := slices.Concat([]int{0}, cuts, []int{len(o.x)})
	measure := func(i int) OtavaPoint {
		p := o.compare(o.x[ends[i]:ends[i+1]], o.x[ends[i+1]:ends[i+2]])
		p.Index = ends[i+1]
		return p
	}
	points := make([]OtavaPoint, len(cuts))
	for i := range points {
		points[i] = measure(i)
	}
	for {
		weakest := o.weakest(points)
		if weakest < 0 {
			return points
		}
		points = slices.Delete(points, weakest, weakest+1)
		ends = slices.Delete(ends, weakest+1, weakest+2)
		for i := weakest; i < min(weakest+2, len(points)); i++ {
			points[i] = measure(i)
		}
	}
}

// weakest is the point to remove: that of the largest p value if it is too large, then
// that of the smallest change if it is too small; −1 if all are strong.
func (o otava) weakest(points []OtavaPoint) int {
	if len(points) == 0 {
		return -1
	}
	largest, smallest := 0, 0
	for i, p := range points {
		if p.P > points[largest].P {
			largest = i
		}
		if p.Magnitude < points[smallest].Magnitude {
			smallest = i
		}
	}
	switch {
	case points[largest].P >= o.MaxP:
		return largest
	case points[smallest].Magnitude <= o.MinMagnitude:
		return smallest
	}
	return -1
}

// compare is Student's two-sided t-test of two segments with equal variances.
func (o otava) compare(left, right []float64) OtavaPoint {
	n, m := float64(len(left)), float64(len(right))
	l, r := mean(left), mean(right)
	p := OtavaPoint{P: 1, Magnitude: math.Max(relative(l, r), relative(r, l))}
	if n+m <= 2 {
		return p
	}
	variance := ((n-1)*o.variance(left, l) + (m-1)*o.variance(right, r)) / (n + m - 2)
	switch se := math.Sqrt(variance * (1/n + 1/m)); {
	case se > 0:
		p.P = 2 * distuv.StudentsT{Sigma: 1, Nu: n + m - 2}.CDF(-math.Abs(l-r)/se)
	case l != r:
		p.P = 0
	}
	return p
}

// variance of a segment, 0 for one point.
func (o otava) variance(x []float64, centre float64) float64 {
	if len(x) < 2 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		sum += (v - centre) * (v - centre)
	}
	if o.Corrected {
		return sum / float64(len(x)-1)
	}
	return sum / float64(len(x))
}

// relative is |b/a − 1|, 0 where a is.
func relative(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return math.Abs(b/a - 1)
}
