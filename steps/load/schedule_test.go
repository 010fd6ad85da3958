package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// TestScheduleIsStable pins the generator: stored seeds must give the same arrivals in
// every version of this program.
func TestScheduleIsStable(t *testing.T) {
	tests := []struct {
		name string
		load steps.Load
		want []time.Duration // rounded to µs
	}{
		{"poisson", steps.Load{Arrival: Poisson, Rate: 10, Requests: 4}, []time.Duration{10932e3, 20911e3, 136254e3, 400e6}},
		{"gamma", steps.Load{Arrival: Gamma, Rate: 10, Burstiness: 0.5, Requests: 4}, []time.Duration{272650e3, 297632e3, 338516e3, 400e6}},
		{"constant", steps.Load{Arrival: Constant, Rate: 10, Requests: 3}, []time.Duration{100e6, 200e6, 300e6}},
		{"unlimited", steps.Load{Arrival: Unlimited, Requests: 2}, []time.Duration{0, 0}},
		{"closed", steps.Load{Arrival: Closed, Requests: 2, MaxConcurrency: 1}, nil},
		{"constant ramp", steps.Load{Arrival: Constant, Rate: 4, Requests: 5, Ramp: 2 * time.Second}, []time.Duration{1e9, 1414214e3,
			1732051e3, 2e9, 2250e6}},
		{"constant ramp down", steps.Load{Arrival: Constant, Rate: 1, RampFrom: 3, Requests: 5, Ramp: 2 * time.Second},
			[]time.Duration{354249e3, 763932e3, 1267949e3, 2e9, 3e9} /* 3−√7, 3−√5, 3−√3 */},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := AllArrivals().Check(tt.load); err != nil {
				t.Fatal(err)
			}
			got := AllArrivals().Schedule(tt.load, 0, 42)
			for i := range got {
				got[i] = got[i].Round(time.Microsecond)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("schedule %v, want %v", got, tt.want)
			}
		})
	}
}

func drawLoad(t *rapid.T) steps.Load {
	l := steps.Load{
		Arrival:  rapid.SampledFrom([]string{Poisson, Gamma, Constant}).Draw(t, "arrival"),
		Rate:     rapid.Float64Range(0.1, 1000).Draw(t, "rate"),
		Requests: rapid.IntRange(1, 300).Draw(t, "n"),
	}
	if l.Arrival == Gamma {
		l.Burstiness = rapid.Float64Range(0.05, 20).Draw(t, "burstiness")
	}
	return l
}

func TestScheduleEndsAtItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLoad(t)
		seed := rapid.Uint64().Draw(t, "seed")
		s := AllArrivals().Schedule(l, 0, seed)
		if !slices.IsSorted(s) || s[0] < 0 {
			t.Fatalf("not ascending: %v", s)
		}
		want := float64(l.Requests) / l.Rate
		if got := s[len(s)-1].Seconds(); math.Abs(got-want) > 2e-9+1e-12*want {
			t.Fatalf("last send at %v s, want %v", got, want)
		}
		if !slices.Equal(s, AllArrivals().Schedule(l, 0, seed)) {
			t.Fatal("the same seed gave another schedule")
		}
		if hashSchedule(s) != hashSchedule(slices.Clone(s)) {
			t.Fatal("the same schedule has two hashes")
		}
	})
}

// TestRampInverts: the number of arrivals expected by the time of the u-th is u.
func TestRampInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := steps.Load{
			Rate: rapid.Float64Range(0.1, 100).Draw(t, "rate"), RampFrom: rapid.Float64Range(0, 100).Draw(t, "from"),
			Ramp: time.Duration(rapid.Int64Range(1e6, 1e11).Draw(t, "ramp")),
		}
		u := rapid.Float64Range(1e-6, 1e4).Draw(t, "u")
		if got := arrivalsBy(l, timeOf(l, u)); math.Abs(got-u) > 1e-6*max(u, 1) {
			t.Fatalf("arrivals by %v s: %v, want %v", timeOf(l, u), got, u)
		}
	})
}

// TestGapsHaveTheirDistribution compares the first two moments of 20,000 gaps: the
// squared coefficient of variation of a gamma of shape b is 1/b.
func TestGapsHaveTheirDistribution(t *testing.T) {
	for _, tt := range []struct {
		load steps.Load
		cv2  float64
	}{
		{steps.Load{Arrival: Poisson, Rate: 5}, 1},
		{steps.Load{Arrival: Gamma, Rate: 5, Burstiness: 1}, 1},
		{steps.Load{Arrival: Gamma, Rate: 5, Burstiness: 0.25}, 4},
		{steps.Load{Arrival: Gamma, Rate: 5, Burstiness: 4}, 0.25},
		{steps.Load{Arrival: Constant, Rate: 5}, 0},
	} {
		s := AllArrivals().Schedule(tt.load, 20000, 7)
		var sum, sq float64
		prev := time.Duration(0)
		for _, at := range s {
			g := (at - prev).Seconds()
			sum, sq, prev = sum+g, sq+g*g, at
		}
		mean := sum / float64(len(s))
		cv2 := sq/float64(len(s))/(mean*mean) - 1
		if math.Abs(mean-0.2) > 1e-6 || math.Abs(cv2-tt.cv2) > 0.1*max(tt.cv2, 0.01) {
			t.Errorf("%s %v: mean gap %v, squared variation %v, want 0.2 and %v", tt.load.Arrival, tt.load.Burstiness, mean, cv2, tt.cv2)
		}
	}
}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		load steps.Load
		want int
	}{
		{steps.Load{Arrival: Poisson, Rate: 2.5, Duration: 10 * time.Second}, 25},
		{steps.Load{Arrival: Poisson, Rate: 2.5, Duration: 10 * time.Second, Requests: 7}, 7},
		{steps.Load{Arrival: Constant, Rate: 10, Duration: 10 * time.Second, Ramp: 4 * time.Second}, 80},
		{steps.Load{Arrival: Closed, MaxConcurrency: 3, Duration: time.Second}, 0},
		{steps.Load{Arrival: Unlimited, Requests: 9}, 9},
	} {
		if got := AllArrivals().Count(tt.load); got != tt.want {
			t.Errorf("Count(%+v) = %d, want %d", tt.load, got, tt.want)
		}
	}
}

func TestCheckLoad(t *testing.T) {
	bad := []steps.Load{
		{},
		{Arrival: Poisson, Rate: 1},
		{Arrival: Poisson, Requests: 1},
		{Arrival: Poisson, Rate: math.Inf(1), Requests: 1},
		{Arrival: Poisson, Rate: math.NaN(), Requests: 1},
		{Arrival: Poisson, Rate: 1, Burstiness: 2, Requests: 1},
		{Arrival: Poisson, Rate: 0.1, Duration: time.Second},
		{Arrival: Gamma, Rate: 1, Requests: 1},
		{Arrival: Constant, Rate: 1, RampFrom: 1, Requests: 1},
		{Arrival: Unlimited, Duration: time.Second},
		{Arrival: Unlimited, Rate: 3, Requests: 1},
		{Arrival: Closed, Requests: 1},
		{Arrival: "burst", Requests: 1},
		{Arrival: Poisson, Rate: 1, Requests: -1},
	}
	for _, l := range bad {
		if AllArrivals().Check(l) == nil {
			t.Errorf("accepted %+v", l)
		}
	}
}

// TestPoissonGapsAreExponential: the Kolmogorov–Smirnov distance of the gaps of a fast
// schedule from the exponential distribution stays below its 1 % point, and the last send
// is where the rate says, so that nothing drifts.
func TestPoissonGapsAreExponential(t *testing.T) {
	const n, rate = 20000, 2000.0
	for seed := range uint64(5) {
		s := AllArrivals().Schedule(steps.Load{Arrival: Poisson, Rate: rate, Requests: n}, n, seed)
		if s[n-1] != 10*time.Second {
			t.Errorf("seed %d: the last send is at %v, want 10s", seed, s[n-1])
		}
		gaps := make([]float64, n)
		before := time.Duration(0)
		for i, at := range s {
			gaps[i], before = (at - before).Seconds(), at
		}
		slices.Sort(gaps)
		worst := 0.0
		for i, g := range gaps {
			f := 1 - math.Exp(-rate*g)
			worst = max(worst, math.Abs(f-float64(i)/n), math.Abs(float64(i+1)/n-f))
		}
		if limit := 1.63 / math.Sqrt(n); worst > limit {
			t.Errorf("seed %d: distance %.4f, limit %.4f", seed, worst, limit)
		}
	}
}

// TestArgumentsHaveNoDefault: a default would set the argument for all models, and each other one would refuse it.
func TestArgumentsHaveNoDefault(t *testing.T) {
	for _, m := range AllArrivals() {
		for _, a := range m.Takes.Attrs {
			if a.Default != cty.NilVal {
				t.Errorf("arrival %q: the argument %s has a Default; set it in Fill", m.Name, a.Name)
			}
		}
	}
}
