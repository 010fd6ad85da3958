package gates

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

// crossing is the chance that the one-sided p value of the paired t-test is at most the
// level of at least one look, when the pairs are independent and normal with mean zero.
// Looks are taken after at[k] pairs, ascending, at the one-sided levels[k].
//
// After n pairs let sin φ = Σd/√(n·Σd²), so that t = √(n−1)·tan φ. Under the hypothesis
// Σd² is independent of all angles so far (D. Basu, Sankhyā 15, 1955), which makes the
// angle a Markov chain: the next pair lies at an angle χ of density ∝ cosⁿ⁻¹χ to the
// others, and
//
//	√(n+1)·sin φ′ = √n·sin φ·cos χ + sin χ
//
// The chance of no crossing is integrated backwards from the last look, one pair at a
// time, on a grid of φ. The relative error is below 0.003 with 512 intervals.
func crossing(at []int, levels []float64) float64 {
	limit := map[int]float64{} // of sin φ, by number of pairs
	for k, n := range at {
		t := tCritical(levels[k], float64(n-1))
		limit[n] = t / math.Sqrt(t*t+float64(n-1))
	}
	quiet := newGrid(func(float64) float64 { return 1 })
	for n := at[len(at)-1] - 1; n >= at[0]; n-- {
		next := quiet
		end, isLook := limit[n+1]
		if !isLook {
			end = 1
		}
		quiet = newGrid(func(phi float64) float64 { return step(n, phi, end, next) })
	}
	// The first look: the angle has density ∝ cosⁿ⁻²φ.
	n := at[0]
	stays := integrate(-math.Pi/2, math.Asin(limit[n]), func(phi float64) float64 {
		return math.Pow(math.Cos(phi), float64(n-2)) * quiet.at(phi)
	})
	return max(0, 1-stays/cosines(n-2))
}

// step is the chance that the pair after the n-th leaves sin φ at or below end and that
// nothing crosses afterwards.
func step(n int, phi, end float64, next *grid) float64 {
	root, after := math.Sqrt(float64(n)), math.Sqrt(float64(n+1))
	f := func(chi float64) float64 {
		sine := (root*math.Sin(phi)*math.Cos(chi) + math.Sin(chi)) / after
		return math.Pow(math.Cos(chi), float64(n-1)) * next.at(math.Asin(max(-1, min(sine, 1))))
	}
	// sin φ′ = radius·sin(χ + shift)/√(n+1) is above end for χ between from and to.
	radius, shift := math.Hypot(root*math.Sin(phi), 1), math.Atan(root*math.Sin(phi))
	low, high := -math.Pi/2, math.Pi/2
	if after*end >= radius {
		return integrate(low, high, f) / cosines(n-1)
	}
	from := math.Asin(after*end/radius) - shift
	to := math.Pi - math.Asin(after*end/radius) - shift
	return (integrate(low, min(from, high), f) + integrate(max(to, low), high, f)) / cosines(n-1)
}

// integrate is the integral of a smooth f by Gauss–Legendre, 0 where high ≤ low.
func integrate(low, high float64, f func(float64) float64) float64 {
	const points = 48
	if high <= low {
		return 0
	}
	return quad.Fixed(f, low, high, points, quad.Legendre{}, 0)
}

// cosines is the integral of cosᵏ from −π/2 to π/2.
func cosines(k int) float64 {
	a, _ := math.Lgamma(float64(k+1) / 2)
	b, _ := math.Lgamma(float64(k+2) / 2)
	return math.Sqrt(math.Pi) * math.Exp(a-b)
}

// grid is a function on [−π/2, π/2] by its values at equal distances.
type grid [513]float64

// newGrid samples f.
func newGrid(f func(float64) float64) *grid {
	var g grid
	for i := range g {
		g[i] = f(math.Pi * (float64(i)/float64(len(g)-1) - 0.5))
	}
	return &g
}

// at interpolates.
func (g *grid) at(x float64) float64 {
	at := (x/math.Pi + 0.5) * float64(len(g)-1)
	i := min(max(int(at), 0), len(g)-2)
	return g[i] + (at-float64(i))*(g[i+1]-g[i])
}

// sameLevel is crossing with one level for all looks.
func sameLevel(l Looks, level float64) float64 {
	levels := make([]float64, len(l))
	for k := range levels {
		levels[k] = level
	}
	return crossing(l, levels)
}

func TestJointLawOfOneLookIsItsLevel(t *testing.T) {
	for _, n := range []int{2, 3, 4, 12} {
		near(t, "crossing", sameLevel(Looks{n}, 0.0125), 0.0125, 1e-9)
	}
}

// The law is computed, the simulation draws pairs: they have nothing in common.
func TestJointLawAgreesWithSimulation(t *testing.T) {
	data, err := os.ReadFile("testdata/looks.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		At        []int
		Level     float64
		Crossed   int
		Sequences int
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("no simulations")
	}
	for _, c := range cases {
		n := float64(c.Sequences)
		rate := float64(c.Crossed) / n
		// Four standard errors, and the error of the grid.
		tolerance := 4*math.Sqrt(rate*(1-rate)/n) + 0.003*rate
		if got := sameLevel(c.At, c.Level); math.Abs(got-rate) > tolerance {
			t.Errorf("looks %v at %g: the law says %.6f, the simulation %.6f", c.At, c.Level, got, rate)
		}
	}
}

// Each row is valid down to the least overall level that it is for, and not wasteful: what
// is spent by the end, and with -full by every look, is alpha by the share of its repeats.
func TestSpendingFollowsFromTheJointLaw(t *testing.T) {
	for _, table := range spendings {
		for _, row := range table.rows {
			for looks := 2; looks <= len(row.byLooks); looks++ {
				testSpending(t, LooksBetween(table.from, table.from-2+2*looks), row.byLooks[looks-1], row.least)
			}
		}
	}
}

func testSpending(t *testing.T, at Looks, parts []float64, least float64) {
	t.Helper()
	var levels []float64
	for _, part := range parts {
		levels = append(levels, part*least)
	}
	if len(levels) != len(at) {
		t.Fatalf("%d levels for %d looks", len(levels), len(at))
	}
	for k := range at {
		last := k == len(at)-1
		if !*Full && (!last || len(at) > 1+at[0]) {
			continue
		}
		want, grid, waste := float64(at[k])/float64(at[len(at)-1]), 1.003, 0.97
		if last {
			grid = 1 // what all looks together spend must not exceed the level at all
		}
		if at[0] == 2 && least < 0.001 {
			grid, waste = 1.05, 0.93 // the angles of 2 pairs are too close to ±π/2 for the grid; shares hold by their sum
		}
		if spent := crossing(at[:k+1], levels[:k+1]) / least; spent > grid*want || spent < waste*want {
			t.Errorf("look %d of %v at %g: %.4f of the level is spent, want %.4f", k+1, at, least, spent, want)
		}
	}
}

// spentBy is the chance that a sequence crosses its own levels.
func spentBy(l Looks, alpha float64) float64 {
	levels := make([]float64, len(l))
	for k := range l {
		levels[k] = l.Level(k, alpha, 1)
	}
	return crossing(l, levels)
}

// What begins later or looks closer together is on the safe side of the table, and so is
// what the table does not hold.
func TestLevelsHoldForOtherSchedules(t *testing.T) {
	for _, l := range []Looks{{4, 5}, {5, 6, 7}, {6, 8, 10, 12, 14}, {8, 10, 12}, {4, 5, 6, 7, 8}, {10, 12}, {4, 12}, {2, 4, 6}, {4, 6, 20}} {
		for _, alpha := range []float64{0.05, 0.0025, 0.0001} {
			if spent := spentBy(l, alpha); spent > 1.003*alpha { // the error of the grid
				t.Errorf("looks %v at %g: %.3g is spent", l, alpha, spent)
			}
		}
	}
}

// What repeats cost that are added to an undecided sequence, once or twice, is in reserve.
func TestAddedLooksStayWithinAlpha(t *testing.T) {
	for _, s := range []Sequence{
		{Looks: LooksBetween(4, 16), Before: []Looks{LooksBetween(4, 12)}},
		{Looks: LooksBetween(4, 16), Before: []Looks{LooksBetween(4, 6), LooksBetween(4, 10)}},
		{Looks: LooksBetween(4, 12), Before: []Looks{LooksBetween(4, 8)}},
	} {
		for _, alpha := range []float64{0.05, 0.0025} {
			levels := make([]float64, len(s.Looks))
			for k, n := range s.Looks {
				levels[k] = s.stage(k, n).Level(alpha, 1)
			}
			if spent := crossing(s.Looks, levels); spent > alpha {
				t.Errorf("%v extended to %v at %g: %.4f of it is spent", s.Before, s.Looks, alpha, spent/alpha)
			}
		}
	}
}

func TestLevels(t *testing.T) {
	five := LooksBetween(4, 12)
	tests := []struct {
		looks   Looks
		look    int
		alpha   float64
		members int
		want    float64
	}{
		{five, 0, 0.05, 1, 0.05 * 0.92 * 0.333},
		{five, 1, 0.05, 1, 0.05 * 0.92 * 0.235},
		{five, 4, 0.05, 1, 0.05 * 0.92 * 0.354},
		{five, 1, 0.05, 20, 0.05 * 0.92 * 0.199},
		{five, 1, 0.05, 21, 0.05 * 0.92 * 0.188},
		{five, 4, 0.05, 1000, 0.0092},
		{Looks{5}, 0, 0.05, 500, 0.05},
		{Looks{2, 4, 6}, 1, 0.06, 1, 0.06 * 0.92 * 0.358},
		{Looks{4, 12}, 0, 0.06, 1, 0.92 * 0.03},
		{Looks{4, 7}, 0, 0.06, 1, 0.92 * 0.03},
		{Looks{3, 5}, 1, 0.06, 1, 0.06 * 0.92 * 0.546},
		{Looks{1, 3}, 1, 0.06, 1, 0.92 * 0.03},
	}
	for _, tt := range tests {
		near(t, "level", tt.looks.Level(tt.look, tt.alpha, tt.members), tt.want, 1e-15)
	}
	near(t, "last level", five.Last(0.05, 1), 0.05*0.92*0.354, 1e-15)
}
