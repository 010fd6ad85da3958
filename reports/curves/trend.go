package curves

import (
	"cmp"
	"math"
	"slices"
)

// TrendPoint is the mean curve of a line's launches at one load.
type TrendPoint struct {
	Load float64
	Estimate
}

// trendLoads is the number of loads at which a trend is computed.
const trendLoads = 24

// Trend returns the mean over launches of each launch's curve, interpolated linearly on log scales,
// at loads that at least Fewest launches reach. It shows searches, whose launches tried different
// loads. It returns nil if there are too few launches.
func (l Line) Trend(f Figure) []TrendPoint {
	if len(l.Points) == 0 {
		return nil
	}
	byRepeat := map[int][]place{}
	for _, p := range l.Points {
		for _, launch := range p.Launches {
			if v, ok := f.value(launch, p.GPUs); ok && v > 0 && p.Load > 0 {
				byRepeat[launch.Repeat] = append(byRepeat[launch.Repeat], place{math.Log(p.Load), math.Log(v)})
			}
		}
	}
	for _, places := range byRepeat {
		slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.x, b.x) })
	}
	lo, hi := math.Log(l.Points[0].Load), math.Log(l.Points[len(l.Points)-1].Load)
	var out []TrendPoint
	for i := range trendLoads {
		x := lo + (hi-lo)*float64(i)/(trendLoads-1)
		var values []float64
		for _, places := range byRepeat {
			if y, ok := between(places, x); ok {
				values = append(values, math.Exp(y))
			}
		}
		slices.Sort(values) // sum in a fixed order, independent of the map
		if e, ok := estimate(values); ok && e.N >= Fewest {
			out = append(out, TrendPoint{math.Exp(x), e})
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// place is a load with a value, both as logarithms.
type place struct{ x, y float64 }

// between returns the value of a curve at x, false beyond its ends.
func between(places []place, x float64) (float64, bool) {
	const rounding = 1e-12
	for i, p := range places {
		switch {
		case math.Abs(p.x-x) <= rounding*math.Max(1, math.Abs(x)):
			return p.y, true
		case p.x < x:
			continue
		case i == 0:
			return 0, false
		}
		before := places[i-1]
		return before.y + (p.y-before.y)*(x-before.x)/(p.x-before.x), true
	}
	return 0, false
}
