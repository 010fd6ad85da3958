package curves

import (
	"math"
	"sync"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Point holds the measurements at one load.
type Point struct {
	Load     float64
	GPUs     int // serving GPUs, 0 if unknown
	Launches []Launch

	cell       *result.Cell
	objectives []result.Objective
}

// Launch is the unit of a point: one start of a server.
type Launch struct {
	Repeat       int
	Sent, Failed int
	Overloaded   bool // more load than the server could answer

	passes []map[string]float64
}

// Overloaded reports whether the server fell behind in a launch. Waiting times then grow with the
// length of the run.
func (p Point) Overloaded() bool {
	for _, l := range p.Launches {
		if l.Overloaded {
			return true
		}
	}
	return false
}

// Launches returns the number of launches in the points of a line.
func (l Line) Launches() int {
	repeats := map[int]bool{}
	for _, p := range l.Points {
		for _, launch := range p.Launches {
			repeats[launch.Repeat] = true
		}
	}
	return len(repeats)
}

// Estimate is a figure at a load: its mean over launches and, if there are enough, the interval of
// that mean.
type Estimate struct {
	Value float64
	// Lower to Upper is the 95 % interval; NaN for fewer than Fewest launches.
	Lower, Upper float64
	N            int // launches
}

// Interval reports whether there is one.
func (e Estimate) Interval() bool { return e.Lower <= e.Upper }

// Fewest is the least number of launches for an interval. With three, it would be more than four
// standard errors wide on either side.
const Fewest = 4

// Confidence of intervals.
const Confidence = 0.95

// Estimate returns the mean of a figure over the point's launches: geometric, with Student's
// interval on the log scale; arithmetic if a value has no logarithm.
func (p Point) Estimate(f Figure) (Estimate, bool) {
	var values []float64
	for _, l := range p.Launches {
		if v, ok := f.value(l, p.GPUs); ok {
			values = append(values, v)
		}
	}
	return estimate(values)
}

func estimate(values []float64) (Estimate, bool) {
	if len(values) == 0 {
		return Estimate{}, false
	}
	onto, back := func(x float64) float64 { return x }, func(x float64) float64 { return x }
	if positiveAll(values) {
		onto, back = math.Log, math.Exp
	}
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = onto(v)
	}
	mean, sd := stat.MeanStdDev(scaled, nil)
	e := Estimate{Value: back(mean), Lower: math.NaN(), Upper: math.NaN(), N: len(values)}
	if len(values) == 1 {
		e.Value = values[0] // exact
	}
	if n := float64(len(values)); len(values) >= Fewest {
		half := quantile(len(values)) * sd / math.Sqrt(n)
		if lower, upper := back(mean-half), back(mean+half); !math.IsInf(upper, 0) && !math.IsNaN(half) {
			e.Lower, e.Upper = lower, upper
		}
	}
	return e, !math.IsInf(e.Value, 0) && !math.IsNaN(e.Value)
}

// quantile returns the quantile of Student's t for an interval of n values. Those of usual numbers
// of launches are computed once, because a page has thousands of points.
func quantile(n int) float64 {
	if n < len(quantiles()) {
		return quantiles()[n]
	}
	return quantileOf(n)
}

var quantiles = sync.OnceValue(func() []float64 {
	table := make([]float64, 50)
	for n := 2; n < len(table); n++ {
		table[n] = quantileOf(n)
	}
	return table
})

func quantileOf(n int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.5 + Confidence/2)
}

func positiveAll(values []float64) bool {
	for _, v := range values {
		if v <= 0 {
			return false
		}
	}
	return true
}

// meanOf returns the mean of passes: geometric if all have a logarithm.
func meanOf(values []float64) float64 {
	if positiveAll(values) {
		return metric.Metric{Scale: metric.Log}.Mean(values)
	}
	return metric.Mean(values)
}

// Capacity is the load that searches found: an estimate over launches, or a bound if one of them
// did not find the limit of the server.
type Capacity struct {
	Estimate
	// Bound is the side of the estimate on which the true value is.
	Bound result.Bound
	// OneLaunch is set if the interval comes from the fit of the only launch.
	OneLaunch bool
}

// capacityOf returns the result of the searches behind points, nil if there were none.
func capacityOf(samples []sample) *Capacity {
	var values []float64
	var only *result.Search
	bounds := map[result.Bound]bool{}
	seen := map[*result.Cell]bool{}
	for _, s := range samples {
		if seen[s.cell] {
			continue
		}
		seen[s.cell] = true
		for _, r := range s.cell.Current() {
			if r.Search == nil || r.Search.Capacity == nil || r.Status != result.RunOK {
				continue
			}
			values, only = append(values, *r.Search.Capacity), r.Search
			if r.Search.Bound != "" {
				bounds[r.Search.Bound] = true
			}
		}
	}
	e, ok := estimate(values)
	if !ok || len(bounds) > 1 {
		return nil
	}
	c := &Capacity{Estimate: e}
	for b := range bounds {
		c.Bound, c.Lower, c.Upper = b, math.NaN(), math.NaN()
	}
	if len(values) == 1 && c.Bound == "" && only.Lower != nil && only.Upper != nil {
		c.Lower, c.Upper, c.OneLaunch = *only.Lower, *only.Upper, true
	}
	return c
}

// OperatorOf returns the operator of a limit on a metric.
func OperatorOf(id string) result.Operator {
	if m, ok := metric.Lookup(id); ok && m.Direction == metric.HigherIsBetter {
		return ">="
	}
	return "<="
}
