package trend_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates/trend"
)

func otava(tb testing.TB, x []float64, opt trend.OtavaOptions) []int {
	tb.Helper()
	points, err := trend.Otava(x, opt)
	if err != nil {
		tb.Fatal(err)
	}
	var at []int
	for _, p := range points {
		at = append(at, p.Index)
	}
	return at
}

// The change points that Otava documents for 365 nightly results of TigerBeetle.
func TestOtavaOnTigerBeetle(t *testing.T) {
	data, err := os.ReadFile("testdata/tigerbeetle.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Series []float64
		Cases  []struct {
			Window       int
			MaxP         float64 `json:"max_p"`
			MinMagnitude float64 `json:"min_magnitude"`
			Indexes      []int
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Series) != 365 || len(file.Cases) != 10 {
		t.Fatalf("%d values and %d cases", len(file.Series), len(file.Cases))
	}
	for _, c := range file.Cases {
		got := otava(t, file.Series, trend.OtavaOptions{Window: c.Window, MaxP: c.MaxP, MinMagnitude: c.MinMagnitude})
		if !slices.Equal(got, c.Indexes) {
			t.Errorf("p %g, magnitude %g: %v, want %v", c.MaxP, c.MinMagnitude, got, c.Indexes)
		}
	}
}

// From Otava's analysis_test.py and series_test.py (Apache License 2.0).
func TestOtavaOnItsSmallSeries(t *testing.T) {
	tests := []struct {
		x    []float64
		opt  trend.OtavaOptions
		want []int
	}{
		{[]float64{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49},
			trend.OtavaOptions{Window: 10, MaxP: 0.0001}, []int{10}},
		{[]float64{1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55}, trend.OtavaOptions{}, []int{6}},
		{[]float64{2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78}, trend.OtavaOptions{}, []int{4}},
		{[]float64{2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78}, trend.OtavaOptions{MinMagnitude: 0.2}, nil},
		{slices.Repeat([]float64{5}, 60), trend.OtavaOptions{}, nil},
		{nil, trend.OtavaOptions{}, nil},
	}
	for _, tt := range tests {
		if got := otava(t, tt.x, tt.opt); !slices.Equal(got, tt.want) {
			t.Errorf("%v with %+v: %v, want %v", tt.x, tt.opt, got, tt.want)
		}
	}
}

// The corrected variance makes p values larger, as its name says.
func TestOtavaCorrected(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 0))
	x := step(history(rng, 40, 0.02, 0), 20, 1.1)
	plain, err := trend.Otava(x, trend.OtavaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	corrected, err := trend.Otava(x, trend.OtavaOptions{Corrected: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(plain) != 1 || len(corrected) != 1 || !(corrected[0].P > plain[0].P) || math.Abs(plain[0].Magnitude-0.1) > 0.02 {
		t.Errorf("%+v, corrected %+v", plain, corrected)
	}
}

func TestOtavaRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		x   []float64
		opt trend.OtavaOptions
	}{
		"window": {[]float64{1, 2}, trend.OtavaOptions{Window: 1}},
		"p":      {[]float64{1, 2}, trend.OtavaOptions{MaxP: 2}},
		"NaN":    {[]float64{1, math.NaN()}, trend.OtavaOptions{}},
	} {
		if _, err := trend.Otava(tt.x, tt.opt); err == nil {
			t.Errorf("%s: searched", name)
		}
	}
}
