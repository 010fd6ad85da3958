package gates

import (
	"math"
	"slices"
)

// Cycle is a period with which values of runs rise and fall.
type Cycle struct {
	// Period in the unit of the times. If runs are longer than half of the true one, it is another one
	// that they cannot distinguish from it.
	Period float64
	// Swing is the difference between the highest and the lowest value of the cycle.
	Swing float64
	// P is the probability of as clear a cycle at any period without one, if the values are
	// independent and normal about the mean of their side and a linear drift.
	P float64
}

// CycleLevel is the probability up to which a cycle is reported, over all metrics of a session.
const CycleLevel = 0.01

const (
	// cycleRuns is the least number of runs that are searched for a cycle.
	cycleRuns = 8
	// cyclesSeen is the number of times that a cycle must be seen: less is a drift.
	cyclesSeen = 2
	// cycleSteps is the number of frequencies that are tried in the width of one peak.
	cycleSteps = 4
	// mostCycles limits the number of frequencies.
	mostCycles = 4000
)

// FindCycle returns the clearest cycle of values that were measured at some times, each on a side. It fits a
// sine of each frequency by least squares, together with the mean of each side and a linear drift
// (J. D. Scargle, Astrophysical Journal 263, 1982). It returns false for too few values or for values
// without spread.
func FindCycle(at []float64, side []int, values []float64) (Cycle, bool) {
	n := len(values)
	if n < cycleRuns || len(at) != n || len(side) != n {
		return Cycle{}, false
	}
	begin, end := slices.Min(at), slices.Max(at)
	span := end - begin
	sorted := slices.Sorted(slices.Values(at))
	gaps := make([]float64, 0, n-1)
	for i, t := range sorted[1:] {
		gaps = append(gaps, t-sorted[i])
	}
	slices.Sort(gaps)
	gap := gaps[len(gaps)/2]
	if span <= 0 || gap <= 0 {
		return Cycle{}, false
	}
	beside := known(at, side, begin, span)
	x := slices.Clone(values)
	beside.remove(x)
	all := dot(x, x)
	if all <= rounding*rounding*dot(values, values) {
		return Cycle{}, false
	}
	var best Cycle
	tried, most := 0, 0.0
	for cycles := float64(cyclesSeen); cycles/span <= 1/(2*gap) && tried < mostCycles; cycles += 1.0 / cycleSteps {
		tried++
		cosine, sine := make([]float64, n), make([]float64, n)
		for i, t := range at {
			sine[i], cosine[i] = math.Sincos(2 * math.Pi * cycles * (t - begin) / span)
		}
		wave := beside
		explained := 0.0
		for _, column := range [][]float64{cosine, sine} {
			next := wave.with(column)
			if len(next) > len(wave) {
				part := dot(next[len(next)-1], x)
				explained += part * part
			}
			wave = next
		}
		if explained > most {
			most = explained
			// The variance of a sine is half the square of its amplitude.
			best.Period, best.Swing = span/cycles, 2*math.Sqrt(2*explained/float64(n))
		}
	}
	free := float64(n - len(beside) - 2)
	if tried == 0 || free < 1 {
		return Cycle{}, false
	}
	best.P = min(1, float64(tried)*math.Pow(max(0, 1-most/all), free/2))
	return best, true
}

// basis holds orthonormal columns.
type basis [][]float64

// known returns the basis of the means of sides and of a linear drift.
func known(at []float64, side []int, begin, span float64) basis {
	var b basis
	for _, s := range slices.Compact(slices.Sorted(slices.Values(side))) {
		column := make([]float64, len(side))
		for i := range side {
			if side[i] == s {
				column[i] = 1
			}
		}
		b = b.with(column)
	}
	drift := make([]float64, len(at))
	for i, t := range at {
		drift[i] = (t - begin) / span
	}
	return b.with(drift)
}

// with returns the basis with a column, or without it if the others express it.
func (b basis) with(column []float64) basis {
	column = slices.Clone(column)
	before := math.Sqrt(dot(column, column))
	b.remove(column)
	length := math.Sqrt(dot(column, column))
	if length <= 1e-9*before || length == 0 {
		return b
	}
	for i := range column {
		column[i] /= length
	}
	return append(slices.Clip(b), column)
}

// remove subtracts from x what the basis expresses.
func (b basis) remove(x []float64) {
	for range 2 { // the second time for the rounding of the first
		for _, column := range b {
			part := dot(column, x)
			for i := range x {
				x[i] -= part * column[i]
			}
		}
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
