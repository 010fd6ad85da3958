package gates_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// session is a family of one metric in several cells. Its differences have standard
// deviation sd(cell), of which the part rho is the launch's and common to all cells.
func (s *simulator) session(cells, n int, sd func(cell int) float64, rho, shift float64) gates.Family {
	f := gates.Family{Alpha: 0.05, Moderate: true}
	m, _ := metric.Lookup("ttft.p99")
	common := make([]float64, n)
	for k := range common {
		common[k] = s.rng.NormFloat64()
	}
	for i := range cells {
		c := gates.Comparison{ID: fmt.Sprint(i), Gate: "gate.g", Metric: m, Claim: gates.Claim{Margin: 0.05}, CanFail: true}
		spread := sd(i)
		for k := range n {
			noise := math.Sqrt(rho)*common[k] + math.Sqrt(1-rho)*s.rng.NormFloat64()
			c.Pairs = append(c.Pairs, gates.Pair{Repeat: k, Base: 1, Head: math.Exp(shift + spread*noise)})
		}
		f.Comparisons = append(f.Comparisons, c)
	}
	return f
}

// constant is the same standard deviation for all cells.
func constant(sd float64) func(int) float64 { return func(int) float64 { return sd } }

func TestModerationHoldsTheLevel(t *testing.T) {
	trials := 40
	if *gates.Full {
		trials = 4000
	}
	s := newSimulator(780)
	tests := map[string]struct {
		sd  func(cell int) float64
		rho float64
	}{
		"equal variances":            {constant(0.03), 0},
		"variances of a prior":       {func(int) float64 { return 0.03 * math.Exp(0.3*s.rng.NormFloat64()) }, 0},
		"half of them noisier":       {func(cell int) float64 { return []float64{0.01, 0.04}[cell%2] }, 0},
		"one far noisier":            {func(cell int) float64 { return []float64{0.01, 0.08}[cell/11] }, 0},
		"one six times noisier":      {func(cell int) float64 { return []float64{0.01, 0.06}[cell/11] }, 0},
		"graded from 1 to 8":         {func(cell int) float64 { return 0.01 * math.Pow(8, float64(cell)/11) }, 0},
		"graded, cells share":        {func(cell int) float64 { return 0.01 * math.Pow(8, float64(cell)/11) }, 0.7},
		"cells share half":           {constant(0.03), 0.5},
		"cells share nearly all":     {constant(0.03), 0.95},
		"cells share, variances not": {func(int) float64 { return 0.03 * math.Exp(0.3*s.rng.NormFloat64()) }, 0.8},
	}
	for name, tt := range tests {
		for _, n := range []int{3, 4, 6, 10} {
			rejected, moderated := 0, 0
			for range trials {
				any := false
				for _, d := range judge(t, s.session(12, n, tt.sd, tt.rho, 0)).Comparisons {
					any = any || d.Outcome.PHolm <= d.Level
					if d.Outcome.Moderated != nil {
						moderated++
					}
				}
				if any {
					rejected++
				}
			}
			t.Logf("%s, %d repeats: %d %% moderated", name, n, 100*moderated/12/trials)
			atMost(t, fmt.Sprintf("%s, %d repeats: families with a false rejection", name, n), rejected, trials, 0.05)
		}
	}
}

func TestModerationFindsMore(t *testing.T) {
	s := newSimulator(32)
	found := map[bool]int{}
	for range 50 {
		f := s.session(20, 4, constant(0.02), 0, math.Log(1.06))
		for _, f.Moderate = range []bool{false, true} {
			for _, d := range judge(t, f).Comparisons {
				if d.Verdict == gates.Regression {
					found[f.Moderate]++
				}
			}
		}
	}
	t.Logf("of 1000 slow-downs by 6 %%, SD 2 %%, 4 repeats, 20 cells: %v", found)
	if found[true] < found[false]+100 {
		t.Errorf("moderated tests find %d, others %d", found[true], found[false])
	}
}

func TestModerationIsRefusedWhereItWouldMislead(t *testing.T) {
	s := newSimulator(33)
	tests := map[string]struct {
		family  gates.Family
		warning string
	}{
		"7 cells":   {s.session(7, 4, constant(0.02), 0, 0), ""},
		"2 repeats": {s.session(12, 2, constant(0.02), 0, 0), "2 repeats are too few"},
	}
	for name, tt := range tests {
		for _, d := range judge(t, tt.family).Comparisons {
			if strings.Contains(fmt.Sprint(d.Warnings), "variance") != (tt.warning != "") {
				t.Errorf("%s: warnings %q", name, d.Warnings)
			}
			if d.Outcome.Moderated != nil || d.Outcome.DF != float64(d.N-1) || !strings.Contains(strings.Join(d.Warnings, "\n"), tt.warning) {
				t.Errorf("%s: df %g, %+v, warnings %q", name, d.Outcome.DF, d.Outcome.Moderated, d.Warnings)
			}
		}
	}
	// A wild cell leaves the others next to nothing to share.
	wild := s.session(12, 8, func(cell int) float64 { return []float64{0.001, 0.3}[cell/11] }, 0, 0)
	for _, d := range judge(t, wild).Comparisons {
		if d.Outcome.Moderated == nil || d.Outcome.Moderated.PriorDF > 1 || d.Outcome.DF > 7.4 {
			t.Errorf("df %g, %+v", d.Outcome.DF, d.Outcome.Moderated)
		}
	}
	// The same data in two gates are one cell.
	f := s.session(5, 4, constant(0.02), 0, 0)
	for _, c := range f.Comparisons {
		c.ID += " again"
		f.Comparisons = append(f.Comparisons, c)
	}
	if d := judge(t, f).Comparisons[0]; d.Outcome.Moderated != nil {
		t.Error("5 cells were counted twice")
	}
}

func TestModerationSaysWhatItDid(t *testing.T) {
	d := judge(t, newSimulator(34).session(12, 4, constant(0.02), 0, 0)).Comparisons[0]
	m := d.Outcome.Moderated
	if m == nil || m.PriorSD < 0.01 || m.PriorSD > 0.04 || !(m.PriorDF > 0) || !(d.Outcome.DF > 3) {
		t.Errorf("df %g, %+v", d.Outcome.DF, m)
	}
	if d.Outcome.T != d.Outcome.D/d.Outcome.SE || d.Outcome.DF > 3+m.PriorDF {
		t.Errorf("%+v", d)
	}
}

// TestWhatIsModerated: the variance of a cell that comes from elsewhere is its own, and the others share theirs.
func TestWhatIsModerated(t *testing.T) {
	for name, change := range map[string]func(*gates.Comparison){
		"known": func(c *gates.Comparison) { c.Known = &gates.Known{SD: 0.02, DF: 20, Within: 1.5} },
		"rounded": func(c *gates.Comparison) {
			c.Step = 0.1
			for k := range c.Pairs {
				c.Pairs[k].Head = 1
			}
		},
		"drawn": func(c *gates.Comparison) { c.Clusters = gates.Clusters{SE: 0.01, DF: 20, Drawn: true} },
		"exact": func(c *gates.Comparison) {
			c.Unrounded, c.Pairs = true, everywhere(4, 1.1)
			for k := range c.Pairs {
				c.Pairs[k].Repeat = k
			}
		},
	} {
		f := newSimulator(34).session(12, 4, constant(0.02), 0, 0)
		change(&f.Comparisons[0])
		j := judge(t, f)
		if j.Comparisons[0].Outcome.Moderated != nil || j.Comparisons[1].Outcome.Moderated == nil {
			t.Errorf("%s: %+v, another %+v", name, j.Comparisons[0].Outcome.Moderated, j.Comparisons[1].Outcome.Moderated)
		}
	}
	f := newSimulator(34).session(12, 4, constant(0.02), 0, 0)
	for i := range f.Comparisons {
		f.Comparisons[i].Metric.Quality = true
	}
	if d := judge(t, f).Comparisons[0]; d.Outcome.Moderated != nil {
		t.Errorf("answers: %+v", d.Outcome.Moderated)
	}
}

// TestArithmeticOfModeration: degrees of freedom, p values of both directions and the bounds of the cell's own variance.
func TestArithmeticOfModeration(t *testing.T) {
	for _, rho := range []float64{0, 0.95} {
		f := newSimulator(34).session(12, 4, constant(0.02), rho, 0)
		d := judge(t, f).Comparisons[0]
		for i := range f.Comparisons {
			for k, p := range f.Comparisons[i].Pairs {
				f.Comparisons[i].Pairs[k].Base, f.Comparisons[i].Pairs[k].Head = p.Head, p.Base
			}
		}
		mirrored := judge(t, f).Comparisons[0]
		f.Moderate = false
		own := judge(t, f).Comparisons[0]
		m := d.Outcome.Moderated
		if want := min(m.PriorDF/3+3, 3*m.Effective); math.Abs(d.Outcome.DF-want) > 1e-12 {
			t.Errorf("%g degrees of freedom, want %g of %+v", d.Outcome.DF, want, m)
		}
		if math.Abs(d.Outcome.P-mirrored.Outcome.PBetter) > 1e-9 || math.Abs(d.Outcome.PBetter-mirrored.Outcome.P) > 1e-9 {
			t.Errorf("p %g and %g, mirrored %g and %g", d.Outcome.P, d.Outcome.PBetter, mirrored.Outcome.P, mirrored.Outcome.PBetter)
		}
		if math.Abs(own.Outcome.Interval.Upper-mirrored.Outcome.Interval.Upper) > 1e-12 {
			t.Errorf("upper bound %g, by its own variance %g", mirrored.Outcome.Interval.Upper, own.Outcome.Interval.Upper)
		}
	}
}
