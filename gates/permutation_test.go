package gates

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPermutationsAgainstSciPy(t *testing.T) {
	v := readVectors(t)
	if len(v.Permutations) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.Permutations {
		r, err := Permutations(c.Base, c.Head, 0.05, 0)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "shift", r.Shift, c.Shift, 1e-9)
		near(t, "greater", r.Greater, c.Greater, 1e-9)
		near(t, "less", r.Less, c.Less, 1e-9)
		if c.Bounds == nil {
			if !math.IsInf(r.Lower, -1) || !math.IsInf(r.Upper, 1) {
				t.Errorf("%d and %d values have bounds at 0.05: %+v", len(c.Base), len(c.Head), r)
			}
			continue
		}
		near(t, "lower", r.Lower, c.Bounds[0], 1e-9)
		near(t, "upper", r.Upper, c.Bounds[1], 1e-9)
	}
}

// All splits, each with its difference of means, ties included.
func TestPermutationsAgainstBruteForce(t *testing.T) {
	for _, c := range []struct{ base, head []float64 }{
		{[]float64{3, 4, 5, 5, 6}, []float64{1, 2, 3, 5, 4}},
		{[]float64{1, 1, 1, 2}, []float64{1, 2, 2}},
		{[]float64{0, 8}, []float64{1, 2, 3, 4, 5, 6}},
		{[]float64{2, 2}, []float64{2, 2, 2}},
		{[]float64{1}, []float64{2}},
	} {
		r, err := Permutations(c.base, c.head, 0.05, 0)
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Concat(c.base, c.head)
		observed, greater, less, total := 0.0, 0, 0, 0
		for _, h := range c.head {
			observed += h
		}
		for mask := range 1 << len(all) {
			if bits.OnesCount(uint(mask)) != len(c.head) {
				continue
			}
			sum := 0.0
			for i, x := range all {
				if mask>>i&1 == 1 {
					sum += x
				}
			}
			total++
			if sum >= observed {
				greater++
			}
			if sum <= observed {
				less++
			}
		}
		near(t, "greater", r.Greater, float64(greater)/float64(total), 0)
		near(t, "less", r.Less, float64(less)/float64(total), 0)
	}
}

// Random splits stand for all of them, and the same seed draws the same.
func TestRandomSplitsAreCloseToAllOfThem(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 0))
	base, head := make([]float64, 10), make([]float64, 10)
	for i := range base {
		base[i], head[i] = rng.NormFloat64(), 0.8+rng.NormFloat64()
	}
	exact, err := Permutations(base, head, 0.05, 1)
	if err != nil {
		t.Fatal(err)
	}
	random := randomExchanges(base, head, 1)
	reached := 1
	for _, d := range random {
		if d <= 0 {
			reached++
		}
	}
	p := float64(reached) / float64(len(random)+1)
	if se := math.Sqrt(exact.Greater * (1 - exact.Greater) / randomSplits); math.Abs(p-exact.Greater) > 4*se+2e-5 {
		t.Errorf("p = %g by random splits, %g by all", p, exact.Greater)
	}
	if lower := nth(random, randomSplits/20-1); math.Abs(lower-exact.Lower) > 0.01 {
		t.Errorf("lower bound %g by random splits, %g by all", lower, exact.Lower)
	}
	more := append(slices.Clone(head), 0.5)
	first, err := Permutations(base, more, 0.05, 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Permutations(base, more, 0.05, 1)
	if err != nil {
		t.Fatal(err)
	}
	if first != again {
		t.Errorf("%+v, again %+v", first, again)
	}
}

// A lower bound beyond zero and a p value at most α are the same statement, and swapping the
// sides mirrors both.
func TestPropertyPermutations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) []float64 {
			x := rapid.SliceOfN(rapid.IntRange(-20, 20), 1, 7).Draw(rt, name)
			out := make([]float64, len(x))
			for i, v := range x {
				out[i] = float64(v) + math.Ldexp(float64(rapid.IntRange(1, 1000).Draw(rt, "untie")), -12)
			}
			return out
		}
		base, head := draw("base"), draw("head")
		const alpha = 0.1
		r, err := Permutations(base, head, alpha, 0)
		if err != nil {
			rt.Fatal(err)
		}
		if (r.Greater <= alpha) != (r.Lower > 0) || (r.Less <= alpha) != (r.Upper < 0) || r.Lower > r.Shift || r.Upper < r.Shift {
			rt.Errorf("%+v", r)
		}
		back, err := Permutations(head, base, alpha, 0)
		if err != nil {
			rt.Fatal(err)
		}
		if back.Greater != r.Less || back.Less != r.Greater || math.Abs(back.Lower+r.Upper) > 1e-9 && !math.IsInf(r.Upper, 0) {
			rt.Errorf("%+v, swapped %+v", r, back)
		}
	})
}

func TestPropertyNthIsThatOfTheSorted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		whole := rapid.SliceOfN(rapid.IntRange(-5, 5), 1, 40).Draw(rt, "x")
		x := make([]float64, len(whole))
		for i, v := range whole {
			x[i] = float64(v)
		}
		k := rapid.IntRange(0, len(x)-1).Draw(rt, "k")
		if want, got := slices.Sorted(slices.Values(x))[k], nth(x, k); got != want {
			rt.Errorf("the %d-th of %v is %g, want %g", k, whole, got, want)
		}
	})
}

func TestPermutationsAreRefused(t *testing.T) {
	for name, x := range map[string][]float64{"no value": nil, "not a number": {math.NaN()}, "infinite": {math.Inf(1)}} {
		if _, err := Permutations([]float64{1, 2}, x, 0.05, 0); err == nil {
			t.Errorf("%s was tested", name)
		}
	}
	if _, err := SignFlips([]float64{1, math.NaN()}, 0.05, 0); err == nil {
		t.Error("NaN was flipped")
	}
}

// BenchmarkExactPermutation10v10 visits all 184,756 splits.
func BenchmarkExactPermutation10v10(b *testing.B) {
	rng := rand.New(rand.NewPCG(82, 0))
	base, head := make([]float64, 10), make([]float64, 10)
	for i := range base {
		base[i], head[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	for b.Loop() {
		if _, err := Permutations(base, head, 0.05, 0); err != nil {
			b.Fatal(err)
		}
	}
}
