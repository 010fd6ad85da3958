package trend_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates/trend"
)

// oracle knows what a detector has to find out: the correlation, the spread, and, if it is
// told, the level before the step. It scans all places with the likelihood ratio of a step
// of unknown size, which no test at the same level beats by much.
type oracle struct {
	phi, innovation float64
	// level before the step is known.
	level bool
}

// best is the place of the likeliest step of a series, and how many standard errors large
// it is.
func (o oracle) best(x []float64) (at int, z float64) {
	a, start := 1-o.phi, 1-o.phi*o.phi
	mw, mm := start*x[0], start
	for t := 1; t < len(x); t++ {
		mw += a * (x[t] - o.phi*x[t-1])
		mm += a * a
	}
	later := 0.0
	for t := len(x) - 1; t >= trend.MinSegment; t-- {
		w, after := x[t]-o.phi*x[t-1], float64(len(x)-1-t)
		step, norm, overlap := w+a*later, 1+a*a*after, a*(1+a*after)
		later += w
		if !o.level {
			step, norm = step-overlap*mw/mm, norm-overlap*overlap/mm
		}
		if here := math.Abs(step) / math.Sqrt(norm) / o.innovation; len(x)-t >= trend.MinSegment && here > z {
			at, z = t, here
		}
	}
	return at, z
}

// draw is a series of logarithms about 0.
func (o oracle) draw(rng *rand.Rand, n int) []float64 {
	x := history(rng, n, o.innovation/math.Sqrt(1-o.phi*o.phi), o.phi)
	for i := range x {
		x[i] = math.Log(x[i] / 0.4)
	}
	return x
}

// threshold is what a share of 90 unchanged points exceed somewhere.
func (o oracle) threshold(rng *rand.Rand, share float64) float64 {
	most := make([]float64, 4000)
	for i := range most {
		_, most[i] = o.best(o.draw(rng, 90))
	}
	slices.Sort(most)
	return most[int(float64(len(most))*(1-share))]
}

// finds is how often a step after 60 points is found within one place.
func (o oracle) finds(rng *rand.Rand, threshold, ratio float64, points int) float64 {
	const trials = 4000
	found := 0
	for range trials {
		x := o.draw(rng, 60+points)
		for t := 60; t < len(x); t++ {
			x[t] += math.Log(ratio)
		}
		if at, z := o.best(x); z > threshold && at >= 59 && at <= 61 {
			found++
		}
	}
	return float64(found) / trials
}

// TestAgainstTheOracle prints how often a step can be found at all where neighbours have a
// correlation of 0.5 and at most one of ten unchanged series of 90 points alarms, and holds
// the detector to a share of it.
func TestAgainstTheOracle(t *testing.T) {
	const phi, alarms = 0.5, 0.10
	trials := 100
	if *full {
		trials = 300
	}
	ttft := lookup(t, "ttft.p99")
	for _, tt := range []struct {
		ratio  float64
		points int
		// innovation is set where 2 % is the spread of the innovations, not of the values.
		innovation bool
		share      float64 // of the oracle that does not know the level
	}{
		{1.05, 5, false, 0.80}, {1.10, 3, false, 0.95}, {1.05, 5, true, 0.75}, {1.10, 3, true, 0.90},
	} {
		sd := 0.02
		if tt.innovation {
			sd /= math.Sqrt(1 - phi*phi)
		}
		var bound [2]float64 // level unknown, level known
		for i := range bound {
			rng := rand.New(rand.NewPCG(83, 0))
			o := oracle{phi, sd * math.Sqrt(1-phi*phi), i == 1}
			bound[i] = o.finds(rng, o.threshold(rng, alarms), tt.ratio, tt.points)
		}
		rng := rand.New(rand.NewPCG(84, 0))
		found := 0
		for range trials {
			x := step(history(rng, 60+tt.points, sd, phi), 60, tt.ratio)
			if slices.ContainsFunc(confirmed(detect(t, ttft, x, 199)), func(i int) bool { return i >= 59 && i <= 61 }) {
				found++
			}
		}
		rate := float64(found) / float64(trials)
		what := fmt.Sprintf("%+.0f %%, %d points, standard deviation %.2f %%", 100*(tt.ratio-1), tt.points, 100*sd)
		t.Logf("%s: the oracle finds %.1f %% (%.1f %% if it knows the level before), the detector %.1f %%", what, 100*bound[0],
			100*bound[1], 100*rate)
		if least := tt.share * bound[0]; rate < least-tolerance(least, trials) {
			t.Errorf("%s: found in %.1f %%, want %.0f %% of the oracle's %.1f %%", what, 100*rate, 100*tt.share, 100*bound[0])
		}
	}
}

// The oracle's own alarms are those that it is set to, so that its bound is one.
func TestOracleKeepsItsLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(85, 0))
	o := oracle{phi: 0.5, innovation: 0.0173}
	threshold, alarms := o.threshold(rng, 0.10), 0
	const trials = 2000
	for range trials {
		if _, z := o.best(o.draw(rng, 90)); z > threshold {
			alarms++
		}
	}
	if rate := float64(alarms) / trials; math.Abs(rate-0.10) > 1.5*tolerance(0.10, trials) {
		t.Errorf("%.1f %% of unchanged series alarm the oracle, want 10 %%", 100*rate)
	}
}
