package gates

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates/metric"
)

// worse returns the sign that makes a difference head − base positive if it is for the worse.
func worse(m metric.Metric) float64 {
	if m.Direction == metric.HigherIsBetter {
		return -1
	}
	return 1
}

// beyondMeasure is larger than any measured value in any unit. Values below it keep sums, squares
// and quotients finite.
const beyondMeasure = 1e100

// usable returns an error for values that are not on the scale of a metric.
func usable(m metric.Metric, v float64) error {
	switch {
	case math.IsNaN(v) || math.Abs(v) > beyondMeasure:
		return fmt.Errorf("is %g, not a finite number", v)
	case m.Scale == metric.Log && v < 1/beyondMeasure && m.Group == metric.DeclaredGroup:
		return fmt.Errorf("is %g, which has no logarithm; a measure that can be 0 or less needs compare = \"difference\"", v)
	case m.Scale == metric.Log && v < 1/beyondMeasure:
		return fmt.Errorf("is %g, which has no logarithm", v)
	}
	return nil
}

// differences returns d of each pair on the scale of the test, worse positive. floor is the size of
// float64 rounding in them. The error names the first pair that has no d.
func differences(m metric.Metric, pairs []Pair) (d []float64, floor float64, err error) {
	d = make([]float64, len(pairs))
	floor = rounding
	if m.Scale != metric.Log {
		floor = 0
	}
	for i, p := range pairs {
		for _, side := range []struct {
			name  string
			value float64
		}{{"base", p.Base}, {"head", p.Head}} {
			if err := usable(m, side.value); err != nil {
				return nil, 0, fmt.Errorf("the %s's value of repeat %d %w", side.name, p.Repeat, err)
			}
		}
		if m.Scale == metric.Log {
			// The logarithm of the quotient, because the difference of two logarithms loses the
			// digits of a small change.
			d[i] = worse(m) * math.Log(p.Head/p.Base)
			continue
		}
		d[i] = worse(m) * (p.Head - p.Base)
		floor = max(floor, rounding*math.Abs(p.Base), rounding*math.Abs(p.Head))
	}
	return d, floor, nil
}

// Differences returns the difference of each pair on the scale of the test, worse positive: of
// logarithms for times and rates. The error names the first pair that has none.
func Differences(m metric.Metric, pairs []Pair) ([]float64, error) {
	d, _, err := differences(m, pairs)
	return d, err
}
