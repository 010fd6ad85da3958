package trend_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
)

func lookup(tb testing.TB, id string) metric.Metric {
	tb.Helper()
	m, ok := metric.Lookup(id)
	if !ok {
		tb.Fatalf("no metric %s", id)
	}
	return m
}

// history draws n lognormal values with standard deviation sd and correlation phi.
func history(rng *rand.Rand, n int, sd, phi float64) []float64 {
	x := make([]float64, n)
	state := rng.NormFloat64()
	for i := range x {
		if i > 0 {
			state = phi*state + math.Sqrt(1-phi*phi)*rng.NormFloat64()
		}
		x[i] = 0.4 * math.Exp(sd*state)
	}
	return x
}

// step multiplies the values from an index on.
func step(x []float64, at int, ratio float64) []float64 {
	for i := at; i < len(x); i++ {
		x[i] *= ratio
	}
	return x
}

func detect(tb testing.TB, m metric.Metric, x []float64, permutations int) trend.Series {
	tb.Helper()
	s, err := trend.DetectBy(m, x, permutations)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// confirmed are the indices of confirmed change points.
func confirmed(s trend.Series) []int {
	var at []int
	for _, c := range s.ChangePoints {
		if c.State == trend.Confirmed {
			at = append(at, c.Index)
		}
	}
	return at
}

// tolerance is three binomial standard errors.
func tolerance(rate float64, trials int) float64 { return 3 * math.Sqrt(rate*(1-rate)/float64(trials)) }

func TestSeriesWithoutAChange(t *testing.T) {
	const trials = 400
	ttft := lookup(t, "ttft.p99")
	for _, tt := range []struct{ phi, most float64 }{{0, 0.05}, {0.5, 0.10}} {
		rng := rand.New(rand.NewPCG(71, 0))
		alarms, suspected := 0, 0
		for range trials {
			s := detect(t, ttft, history(rng, 90, 0.02, tt.phi), 199)
			if len(confirmed(s)) > 0 {
				alarms++
			}
			if len(s.ChangePoints) > len(confirmed(s)) {
				suspected++
			}
		}
		t.Logf("correlation %g: %d of %d series alarm, %d are suspected", tt.phi, alarms, trials, suspected)
		if rate := float64(alarms) / trials; rate > tt.most+tolerance(tt.most, trials) {
			t.Errorf("correlation %g: %.1f %% of unchanged series alarm", tt.phi, 100*rate)
		}
		if suspected > trials/20 {
			t.Errorf("correlation %g: %d of %d series are suspected", tt.phi, suspected, trials)
		}
	}
}

func TestStepsAreFound(t *testing.T) {
	trials := 80
	if *full {
		trials = 200
	}
	ttft := lookup(t, "ttft.p99")
	tests := []struct {
		ratio  float64
		points int // after the step
		phi    float64
		least  float64
	}{
		{1.05, 5, 0, 0.85}, {1.10, 3, 0, 0.95},
		// Correlated points hold less information: the bound for five of them is in oracle_test.go.
		{1.05, 5, 0.5, 0.60}, {1.10, 3, 0.5, 0.95}, {1.10, 10, 0.5, 0.98},
	}
	for _, tt := range tests {
		rng := rand.New(rand.NewPCG(72, 0))
		found := 0
		for range trials {
			x := step(history(rng, 60+tt.points, 0.02, tt.phi), 60, tt.ratio)
			at := confirmed(detect(t, ttft, x, 199))
			if slices.ContainsFunc(at, func(i int) bool { return i >= 59 && i <= 61 }) {
				found++
			}
		}
		what := fmt.Sprintf("%+.0f %%, %d points, correlation %g", 100*(tt.ratio-1), tt.points, tt.phi)
		t.Logf("%s: found within one place in %d of %d", what, found, trials)
		if rate := float64(found) / float64(trials); rate < tt.least-tolerance(tt.least, trials) {
			t.Errorf("%s: found in %.1f %%, want %.0f %%", what, 100*rate, 100*tt.least)
		}
	}
}

func TestChangePointsAreDescribed(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 0))
	x := step(step(history(rng, 90, 0.01, 0), 30, 1.2), 60, 1/1.3)
	for _, tt := range []struct {
		id    string
		worse []bool
	}{{"ttft.p99", []bool{true, false}}, {"output_throughput.mean", []bool{false, true}}} {
		s := detect(t, lookup(t, tt.id), x, 199)
		if !slices.Equal(confirmed(s), []int{30, 60}) || len(s.ChangePoints) != 2 {
			t.Fatalf("%s: %+v", tt.id, s.ChangePoints)
		}
		for i, want := range []float64{0.2, 1/1.3 - 1} {
			c := s.ChangePoints[i]
			if math.Abs(c.Change-want) > 0.01 || c.Worse != tt.worse[i] || c.P > 0.05 || math.Abs(c.After/c.Before-1-c.Change) > 1e-12 {
				t.Errorf("%s: %+v", tt.id, c)
			}
		}
		if math.Abs(s.Noise-0.01) > 0.003 {
			t.Errorf("noise %g", s.Noise)
		}
	}
}

func TestOneOutlierIsNoChangePoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(74, 0))
	for range 50 {
		x := history(rng, 60, 0.01, 0)
		x[rng.IntN(50)] *= 1.5
		if at := confirmed(detect(t, lookup(t, "ttft.p99"), x, 199)); len(at) > 1 {
			t.Errorf("change points at %v", at)
		}
	}
}

func TestTheLastPointsAreSuspectedFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(75, 0))
	ttft := lookup(t, "ttft.p99")
	x := step(history(rng, 64, 0.01, 0), 60, 1.10)
	for points, want := range map[int]struct {
		state trend.State
		none  bool
	}{0: {none: true}, 1: {state: trend.Suspected}, 2: {state: trend.Suspected}, 3: {state: trend.Confirmed}, 4: {state: trend.Confirmed}} {
		s := detect(t, ttft, x[:60+points], 199)
		if want.none {
			if len(s.ChangePoints) > 0 {
				t.Errorf("before the step: %+v", s.ChangePoints)
			}
			continue
		}
		if len(s.ChangePoints) != 1 || s.ChangePoints[0].State != want.state || s.ChangePoints[0].Index != 60 || !s.ChangePoints[0].Worse {
			t.Errorf("%d points after the step: %+v", points, s.ChangePoints)
		}
	}
}

func TestDegenerateSeries(t *testing.T) {
	ttft := lookup(t, "ttft.p99")
	for name, x := range map[string][]float64{
		"one":       {1},
		"five":      {1, 2, 3, 4, 5},
		"constant":  slices.Repeat([]float64{1}, 50),
		"two kinds": slices.Repeat([]float64{1, 2}, 25),
	} {
		if s := detect(t, ttft, x, 199); len(s.ChangePoints) > 0 || math.IsNaN(s.Noise) || math.IsNaN(s.Correlation) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	exact := slices.Concat(slices.Repeat([]float64{1}, 20), slices.Repeat([]float64{2}, 20))
	if s := detect(t, ttft, exact, 199); !slices.Equal(confirmed(s), []int{20}) || s.ChangePoints[0].Change != 1 {
		t.Errorf("an exact step: %+v", s)
	}
}

func TestDetectRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		x    []float64
		want string
	}{
		"nothing": {nil, "no values"},
		"zero":    {[]float64{1, 0}, "value 1 is 0, which has no logarithm"},
		"NaN":     {[]float64{math.NaN()}, "not a finite number"},
	} {
		if _, err := trend.Detect(lookup(t, "ttft.p99"), tt.x); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Units do not matter, and the same series has the same change points.
func TestPropertyScale(t *testing.T) {
	ttft := lookup(t, "ttft.p99")
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		x := step(history(rng, 40, 0.02, 0), rapid.IntRange(0, 39).Draw(rt, "at"), rapid.Float64Range(0.7, 1.4).Draw(rt, "ratio"))
		opt := 39
		before := confirmed(detect(t, ttft, x, opt))
		for i := range x {
			x[i] *= 1024
		}
		if after := confirmed(detect(t, ttft, x, opt)); !slices.Equal(before, after) {
			rt.Errorf("%v in seconds, %v in other units", before, after)
		}
	})
}

func BenchmarkDetect500(b *testing.B) {
	for name, ratio := range map[string]float64{"unchanged": 1, "changed": 1.1} {
		rng := rand.New(rand.NewPCG(77, 0))
		x := step(step(history(rng, 500, 0.02, 0), 200, ratio), 400, ratio)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				detect(b, lookup(b, "ttft.p99"), x, 199)
			}
		})
	}
}
