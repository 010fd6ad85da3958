package gates_test

import (
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// A change of 3 % that a grid of 5 % shows as 5 % in every repeat is no regression at a
// margin of 5 %, and one of 20 % still is.
func TestRoundedValuesAreNotExact(t *testing.T) {
	for _, tt := range []struct {
		change, grid float64
		repeats      int
		red          bool
	}{
		{0.03, 0.05, 2, false},
		{0.03, 0.05, 4, false},
		{0.03, 0.05, 12, false},
		{0.03, 0.05, 40, false},
		{0.03, 0.001, 6, false},
		{0.20, 0.02, 6, true},
		{0.20, 0.001, 4, true},
	} {
		const files = 200
		s, red := newSimulator(9), 0
		for range files {
			f := gates.Family{Alpha: 0.05}
			for i := range 3 {
				c := s.comparison(i, tt.repeats, 0, 0)
				for k := range c.Pairs {
					round := func(v float64) float64 { return math.Round(v/tt.grid) * tt.grid }
					c.Pairs[k].Base = round(1 + 0.006*s.rng.NormFloat64())
					c.Pairs[k].Head = round(math.Pow(1+tt.change, worseIs(c.Metric)) * (1 + 0.006*s.rng.NormFloat64()))
				}
				f.Comparisons = append(f.Comparisons, c)
			}
			for _, d := range judge(t, f).Comparisons {
				if d.Verdict == gates.Regression {
					red++
					break
				}
			}
		}
		t.Logf("%+v: %d of %d", tt, red, files)
		if tt.red && red < files*9/10 || !tt.red && red > files/20 {
			t.Errorf("+%g on a grid of %g, %d repeats: %d of %d files are red", tt.change, tt.grid, tt.repeats, red, files)
		}
	}
	d := judge(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{comparison(t, "ttft.p99", ratios(1, 1.05, 1.05, 1.05, 1.05))}}).Comparisons[0]
	if text := strings.Join(d.Warnings, "\n"); !strings.Contains(text, "a step between them, of 5.0 %") {
		t.Errorf("warnings: %q", text)
	}
}
