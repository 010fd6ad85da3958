package gates_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// requests draws runs of lognormal latencies whose launches differ by cv.
func requests(rng *rand.Rand, runs, each int, shift, cv float64) [][]float64 {
	side := make([][]float64, runs)
	for i := range side {
		launch := shift + cv*rng.NormFloat64()
		side[i] = make([]float64, each)
		for k := range side[i] {
			side[i][k] = math.Exp(launch + 0.5*rng.NormFloat64())
		}
	}
	return side
}

func TestBootstrapCoversAboutWhatItSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 0))
	const trials, shift = 100, 0.05
	covered := 0
	for i := range trials {
		b := gates.Bootstrap{Quantile: 0.99, Confidence: 0.90, Resamples: 1000, Seed: uint64(i)}
		r, err := b.Ratio(requests(rng, 15, 400, 0, 0.02), requests(rng, 15, 400, shift, 0.02))
		if err != nil {
			t.Fatal(err)
		}
		if r.Lower <= math.Exp(shift) && math.Exp(shift) <= r.Upper {
			covered++
		}
		if !(r.Lower < r.Ratio && r.Ratio < r.Upper) {
			t.Errorf("%+v", r)
		}
	}
	if covered < 80 || covered == trials {
		t.Errorf("covered in %d of %d", covered, trials)
	}
}

// The order-statistic shortcut has the distribution of drawing every request.
func TestBootstrapShortcutIsTheNaiveBootstrap(t *testing.T) {
	rng := rand.New(rand.NewPCG(62, 0))
	base, head := requests(rng, 5, 200, 0, 0.03), requests(rng, 5, 200, 0.1, 0.03)
	const resamples = 4000
	naive := make([]float64, resamples)
	percentile := func(run []float64) float64 {
		drawn := make([]float64, len(run))
		for k := range drawn {
			drawn[k] = run[rng.IntN(len(run))]
		}
		slices.Sort(drawn)
		return math.Log(drawn[189]) // ⌈0.95·200⌉ = 190
	}
	for i := range naive {
		for range base {
			naive[i] += (percentile(head[rng.IntN(5)]) - percentile(base[rng.IntN(5)])) / 5
		}
	}
	slices.Sort(naive)
	for _, confidence := range []float64{0.5, 0.9, 0.98} {
		r, err := gates.Bootstrap{Quantile: 0.95, Confidence: confidence, Resamples: 40_000}.Ratio(base, head)
		if err != nil {
			t.Fatal(err)
		}
		width := gates.Quantile(naive, 0.75) - gates.Quantile(naive, 0.25)
		for _, c := range []struct{ got, q float64 }{{r.Lower, (1 - confidence) / 2}, {r.Upper, (1 + confidence) / 2}} {
			if want := gates.Quantile(naive, c.q); math.Abs(math.Log(c.got)-want) > 0.1*width {
				t.Errorf("quantile %g: %g, naive %g (quartiles %g apart)", c.q, math.Log(c.got), want, width)
			}
		}
	}
}

func TestPairedBootstrapUsesThePairing(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 0))
	base, head := make([][]float64, 10), make([][]float64, 10)
	for i := range base {
		launch := math.Exp(0.2 * rng.NormFloat64()) // shared by both sides
		for range 300 {
			base[i] = append(base[i], launch*(1+0.01*rng.Float64()))
			head[i] = append(head[i], 1.1*launch*(1+0.01*rng.Float64()))
		}
	}
	b := gates.Bootstrap{Quantile: 0.5, Confidence: 0.9}
	apart, err := b.Ratio(base, head)
	if err != nil {
		t.Fatal(err)
	}
	b.Paired = true
	together, err := b.Ratio(base, head)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(together.Ratio-1.1) > 0.001 || together.Ratio != apart.Ratio || together.Upper-together.Lower > (apart.Upper-apart.Lower)/20 {
		t.Errorf("paired %+v, apart %+v", together, apart)
	}
	again, err := b.Ratio(base, head)
	if err != nil {
		t.Fatal(err)
	}
	if again != together {
		t.Error("the same seed gives another interval")
	}
}

func TestBootstrapIsRefused(t *testing.T) {
	one := [][]float64{{1, 2}}
	for name, tt := range map[string]struct {
		b          gates.Bootstrap
		base, head [][]float64
	}{
		"quantile":   {gates.Bootstrap{Quantile: 1, Confidence: 0.9}, one, one},
		"confidence": {gates.Bootstrap{Quantile: 0.5, Confidence: 1}, one, one},
		"no runs":    {gates.Bootstrap{Quantile: 0.5, Confidence: 0.9}, nil, one},
		"no pairs":   {gates.Bootstrap{Quantile: 0.5, Confidence: 0.9, Paired: true}, [][]float64{{1}, {2}}, one},
		"empty run":  {gates.Bootstrap{Quantile: 0.5, Confidence: 0.9}, one, [][]float64{{}}},
		"zero":       {gates.Bootstrap{Quantile: 0.5, Confidence: 0.9}, [][]float64{{0}}, one},
	} {
		if _, err := tt.b.Ratio(tt.base, tt.head); err == nil {
			t.Errorf("%s: resampled", name)
		}
	}
}

// BenchmarkBootstrap10000OfP99 resamples two sides of 10 runs with 1,000 requests each.
func BenchmarkBootstrap10000OfP99(b *testing.B) {
	rng := rand.New(rand.NewPCG(64, 0))
	base, head := requests(rng, 10, 1000, 0, 0.02), requests(rng, 10, 1000, 0, 0.02)
	for b.Loop() {
		if _, err := (gates.Bootstrap{Quantile: 0.99, Confidence: 0.9}).Ratio(base, head); err != nil {
			b.Fatal(err)
		}
	}
}
