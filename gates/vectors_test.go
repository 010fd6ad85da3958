package gates

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// vectors are the reference values of testdata/vectors.py.
type vectors struct {
	TTest []struct {
		D                              []float64
		T, Greater, Less, Lower, Upper float64
	} `json:"t_test"`
	TCritical []struct{ DF, Alpha, T float64 } `json:"t_critical"`
	Power     []struct {
		N                        int
		Alpha, Effect, SD, Power float64
	}
	Detectable []struct {
		N                        int
		Alpha, Power, SD, Change float64
	}
	Fisher []struct {
		X1, N1, X2, N2 int
		P              float64
	}
	ClopperPearson []struct {
		X, N                int
		Alpha, Lower, Upper float64
	} `json:"clopper_pearson"`
	Adjust   []struct{ P, Holm, BH []float64 }
	Quantile []struct{ Sorted, Q, Value []float64 }
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// near checks got to a relative error, and to the same absolute error below it.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Max(math.Abs(want), 1e-30)) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}

func TestPairedTAgainstSciPy(t *testing.T) {
	v := readVectors(t)
	if len(v.TTest) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.TTest {
		r, err := PairedT(c.D)
		if err != nil {
			t.Fatal(err)
		}
		lower, upper := r.bounds(tCritical(0.05, r.DF))
		near(t, "t", r.T, c.T, 1e-9)
		near(t, "greater", r.Greater, c.Greater, 1e-9)
		near(t, "less", r.Less, c.Less, 1e-9)
		near(t, "lower", lower, c.Lower, 1e-9)
		near(t, "upper", upper, c.Upper, 1e-9)
	}
}

func TestTCriticalAgainstSciPy(t *testing.T) {
	v := readVectors(t)
	if len(v.TCritical) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.TCritical {
		near(t, "t", tCritical(c.Alpha, c.DF), c.T, 1e-11)
	}
}

func TestPowerAgainstSciPy(t *testing.T) {
	v := readVectors(t)
	if len(v.Power) == 0 || len(v.Detectable) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.Power {
		if got := PowerPairedT(c.N, c.Effect, c.SD, c.Alpha); math.Abs(got-c.Power) > 1e-9 {
			t.Errorf("power of %+v = %.12g", c, got)
		}
	}
	for _, c := range v.Detectable {
		near(t, "detectable change", DetectableChange(c.N, c.SD, c.Alpha, c.Power), c.Change, 1e-9)
	}
}

func TestFisherAgainstExactArithmetic(t *testing.T) {
	v := readVectors(t)
	if len(v.Fisher) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.Fisher {
		p, err := FisherExact(c.X1, c.N1, c.X2, c.N2)
		if err != nil {
			t.Fatal(err)
		}
		if c.P > 1e-290 {
			near(t, "p", p, c.P, 1e-10)
		} else if p > 1e-280 {
			t.Errorf("p of %+v = %g", c, p)
		}
	}
}

func TestClopperPearsonAgainstSciPy(t *testing.T) {
	v := readVectors(t)
	if len(v.ClopperPearson) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.ClopperPearson {
		lower, upper, err := ClopperPearson(c.X, c.N, c.Alpha)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "lower", lower, c.Lower, 1e-9)
		near(t, "upper", upper, c.Upper, 1e-9)
	}
}

func TestHolmAndBenjaminiHochbergAreExact(t *testing.T) {
	v := readVectors(t)
	if len(v.Adjust) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.Adjust {
		holm, bh := Holm(c.P), BenjaminiHochberg(c.P)
		for i := range c.P {
			if holm[i] != c.Holm[i] {
				t.Errorf("Holm(%v)[%d] = %v, want %v", c.P, i, holm[i], c.Holm[i])
			}
			near(t, "BH", bh[i], c.BH[i], 1e-15)
		}
	}
}

func TestQuantileIsNumpys(t *testing.T) {
	v := readVectors(t)
	if len(v.Quantile) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.Quantile {
		for i, q := range c.Q {
			if got := Quantile(c.Sorted, q); got != c.Value[i] {
				t.Errorf("quantile %g of %d values = %.17g, want %.17g", q, len(c.Sorted), got, c.Value[i])
			}
		}
	}
}

// Figures of SciPy 1.17 and of a power table that were typed in, not generated, so that
// a mistake in vectors.py cannot hide one in the code.
func TestKnownFigures(t *testing.T) {
	base := []float64{101.2, 99.8, 100.5, 100.1, 99.4}
	head := []float64{105.9, 104.2, 106.1, 103.8, 105.0}
	d := make([]float64, len(base))
	for i := range d {
		d[i] = math.Log(head[i]) - math.Log(base[i])
	}
	r, err := PairedT(d)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "t", r.T, 13.366317855806246, 1e-11)
	near(t, "two-sided p", 2*r.Greater, 1.8116308249988e-04, 1e-11)
	lower, upper := r.bounds(tCritical(0.025, r.DF))
	near(t, "lower ratio", math.Exp(lower), 1.037753223, 1e-9)
	near(t, "upper ratio", math.Exp(upper), 1.058115715, 1e-9)

	p, err := FisherExact(6, 1000, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Fisher", p, 0.015507929980893996, 1e-11)

	low, high, err := ClopperPearson(6, 1000, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Clopper–Pearson lower", low, 0.0022049824851513773, 1e-9)
	near(t, "Clopper–Pearson upper", high, 0.01301342327097445, 1e-9)

	// Detectable change in percent, one-sided 0.05, 80 % power, SD of pairs 1 % and 2 %.
	for _, c := range []struct {
		n        int
		sd, want float64
	}{{3, .01, 2.3}, {4, .01, 1.7}, {5, .01, 1.4}, {6, .01, 1.2}, {8, .01, 1.0}, {10, .01, 0.9}, {3, .02, 4.7}, {4, .02, 3.4}, {5, .02, 2.8}, {10, .02, 1.7}} {
		percent := 100 * math.Expm1(DetectableChange(c.n, c.sd, 0.05, Power))
		if math.Abs(percent-c.want) > 0.05+1e-9 {
			t.Errorf("n = %d, SD %g: detectable change %.3f %%, want %.1f %%", c.n, c.sd, percent, c.want)
		}
	}
}
