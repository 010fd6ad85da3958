package gates

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The law of the known spread is what a simulation of both measurements finds, and becomes that of
// Student's t where the spread is known with hardly any weight.
func TestLawOfAKnownSpread(t *testing.T) {
	for _, tt := range []struct {
		k    Known
		d, t float64
	}{{Known{1, 20, 1.5}, 3, 3}, {Known{1, 10, 2}, 1, 4}, {Known{1, 40, 1.5}, 11, 2.5}} {
		const draws = 400_000
		rng := rand.New(rand.NewPCG(1, uint64(tt.d)))
		then, now := distuv.ChiSquared{K: tt.k.DF, Src: rng}, distuv.ChiSquared{K: tt.d, Src: rng}
		w, above := tt.k.Weight(), 0
		for range draws {
			s0 := then.Rand() / tt.k.DF / (tt.k.Within * tt.k.Within)
			if rng.NormFloat64() > tt.t*math.Sqrt((w*s0+now.Rand())/(w+tt.d)) {
				above++
			}
		}
		rate := float64(above) / draws
		if got := tt.k.tail(tt.t, tt.d); math.Abs(got-rate) > 4*math.Sqrt(rate/draws) {
			t.Errorf("%+v, %g degrees of freedom: P(T > %g) is %.5f, simulated %.5f", tt.k, tt.d, tt.t, got, rate)
		}
	}
	nearly := Known{SD: 1, DF: 1e-9, Within: 1.5}
	near(t, "Student's tail", nearly.tail(3, 3), tSurvival(3, 3), 1e-4)
	near(t, "the normal tail", Known{SD: 1, DF: 1e12, Within: 1 + 1e-6}.tail(2, 3), distuv.UnitNormal.Survival(2), 1e-4)
}

func TestCriticalValuesOfAKnownSpread(t *testing.T) {
	k := Known{SD: 0.02, DF: 10, Within: 1.5}
	for _, alpha := range []float64{0.05, 0.0076, 1e-4, 1e-8} {
		for _, d := range []float64{1, 3, 11} {
			c := k.critical(alpha, d)
			near(t, "P(T > critical)", k.tail(c, d)/alpha, 1, 1e-9)
			if d == 1 && c >= tCritical(alpha, d) {
				t.Errorf("at %g with 2 pairs a known spread demands t > %g, and none %g", alpha, c, tCritical(alpha, d))
			}
		}
	}
	near(t, "both tails", k.survival(1, 3)+k.survival(-1, 3), 1, 1e-12)
}

// What is known has a bounded weight, and today's spread always has its own.
func TestKnownSpreadIsBesideTodays(t *testing.T) {
	d := []float64{0.01, 0.03, 0.02, 0.05}
	own, err := PairedT(d)
	if err != nil {
		t.Fatal(err)
	}
	test := func(k Known) Statistic {
		s, err := PairedTTest.Run(Sample{Differences: d, Known: &k}, Settings{Alpha: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	endless := test(Known{SD: 0.017, DF: 1e9, Within: 1.5})
	if w := endless.Noise.Prior; w > 6.1 {
		t.Errorf("a calibration has a weight of %g degrees of freedom, however long it was", w)
	}
	few := test(Known{SD: 0.017, DF: 3, Within: 1.5})
	if few.Noise.Prior > 2.1 || few.Upper <= endless.Upper || few.Greater <= endless.Greater {
		t.Errorf("three pairs say as much as endless ones: %g and %g", few.Upper, endless.Upper)
	}
	if endless.Upper >= own.Shift+tCritical(0.05, 3)*own.SE {
		t.Errorf("what is known makes the bound no better: %g", endless.Upper)
	}
	tiny := test(Known{SD: 1e-5, DF: 20, Within: 1.5})
	if !tiny.Contradicted || tiny.Greater < own.Greater || tiny.Upper < own.Shift+tCritical(0.05, 3)*own.SE {
		t.Errorf("a spread that today's contradicts has made the test easier: %+v", tiny)
	}
}

// Pairs without any spread have that of the calibration.
func TestKnownSpreadOfEqualPairs(t *testing.T) {
	k := Known{SD: 0.02, DF: 20, Within: 1.5}
	s, err := PairedTTest.Run(Sample{Differences: []float64{0.01, 0.01, 0.01}, Known: &k}, Settings{Alpha: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	if s.Exact || s.SE == 0 || s.Greater < 0.01 || s.Upper <= s.Shift {
		t.Errorf("three equal pairs were taken as exact: %+v", s)
	}
}

func TestKnownSpreadsAreRefused(t *testing.T) {
	for _, k := range []Known{{0, 10, 1.5}, {math.NaN(), 10, 1.5}, {0.02, 0, 1.5}, {0.02, 10, 1}, {0.02, 10, 5}} {
		if k.check() == nil {
			t.Errorf("%+v was accepted", k)
		}
	}
}

// TestKnownSpreadHidesNoDigits: what the digits of equal pairs leave open stays open.
func TestKnownSpreadHidesNoDigits(t *testing.T) {
	k := Known{SD: 0.02, DF: 20, Within: 1.5}
	x := Sample{Differences: []float64{0.01, 0.01, 0.01, 0.01}, Known: &k, Rounding: Rounding{Bias: 0.01, SD: 0.004, Printed: true}}
	if s, err := PairedTTest.Run(x, Settings{Alpha: 0.05}); err != nil || s.Greater < 0.4 {
		t.Errorf("p = %g, %v", s.Greater, err)
	}
	x.Known = nil
	s, err := PairedTTest.Run(x, Settings{Alpha: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the upper bound with what digits hide", s.Upper, 0.01+0.01+tCritical(0.05, 3)*0.004/2, 1e-12)
}

// TestAFamilyOverrulesItsKnownSpreads: spreads that have grown in the mean of the family are trusted in none, however little each shows.
// What is not judged does not count.
func TestAFamilyOverrulesItsKnownSpreads(t *testing.T) {
	for name, tt := range map[string]struct {
		ratio, df float64 // of today's spread to the largest allowed
		wild      bool    // an invalid comparison spreads far more
		want      bool
	}{
		"as allowed": {0.9, 1e6, false, true}, "less": {0.7, 1e6, false, false}, "beside what is invalid": {0.7, 1e6, true, false},
		"little known": {0.9, 3, false, false},
	} {
		f := Family{Alpha: 0.05}
		for i := range 3 {
			c := Comparison{Known: &Known{SD: 0.02, DF: tt.df, Within: 1.5}}
			c.Metric.ID, c.Metric.Scale, c.Margin = "m", "log", 0.05
			c.ID, c.Gate = string(rune('a'+i)), "g"
			spread := tt.ratio * 0.03
			if tt.wild && i == 2 {
				spread, c.Invalid = 1, "other work"
			}
			for k, sign := range []float64{1, 0, -1} { // of standard deviation 1
				c.Pairs = append(c.Pairs, Pair{Repeat: k, Base: 1, Head: math.Exp(sign * spread)})
			}
			f.Comparisons = append(f.Comparisons, c)
		}
		j, err := Judge(f)
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Comparisons[0].Outcome.Contradicted; got != tt.want {
			t.Errorf("%s: contradicted %v", name, got)
		}
	}
}
