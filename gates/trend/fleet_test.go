package trend_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
)

var full = flag.Bool("full", false, "simulate many more quarters of nights")

// nightsWatched is a quarter of a year.
const nightsWatched = 90

// watch judges a series anew after each night from the tenth on, as a nightly job does, and
// returns how many regressions were found to begin and the nights on which one stood.
func watch(tb testing.TB, m metric.Metric, x []float64, together int) (begun int, red map[int]bool) {
	tb.Helper()
	red = map[int]bool{}
	before := false
	for n := 10; n <= len(x); n++ {
		found := detect(tb, m, x[:n], 39)
		s, err := trend.Stand(m, x[:n], found, trend.Terms{Margin: 0.05, Accepted: -1, Together: together})
		if err != nil {
			tb.Fatal(err)
		}
		now := s.Condition == trend.Regressed
		if now {
			red[n-1] = true
		}
		if now && !before {
			begun++
		}
		before = now
	}
	return begun, red
}

// A nightly job that watches many series opens an issue for each that is found regressed:
// where nothing changed, that has to be rare over all of them.
func TestFleetWithoutAChange(t *testing.T) {
	const series = 30
	fleets := 2
	if *full {
		fleets = 40
	}
	ttft := lookup(t, "ttft.p99")
	for _, tt := range []struct{ sd, phi, most float64 }{{0.03, 0, 0.5}, {0.03, 0.5, 2}} {
		t.Run(fmt.Sprintf("SD %g, correlation %g", tt.sd, tt.phi), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(81, 0))
			issues := 0
			for range fleets * series {
				n, _ := watch(t, ttft, history(rng, nightsWatched, tt.sd, tt.phi), series)
				issues += n
			}
			t.Logf("%d issues in %d quarters of %d series", issues, fleets, series)
			if rate := float64(issues) / float64(fleets); rate > tt.most {
				t.Errorf("%.2f issues a quarter where nothing changed, want at most %g", rate, tt.most)
			}
		})
	}
}

// A loss of 0.3 % a night, and one of +8 % at once, are found, and stay found.
func TestLossesStayFound(t *testing.T) {
	series := 8
	if *full {
		series = 300
	}
	ttft := lookup(t, "ttft.p99")
	creep := func(n int) float64 { return 1 + 0.003*float64(max(0, min(n-20, 60))) }
	step := func(n int) float64 { return 1 + 0.10*min(1, float64(n/30)) }
	for name, tt := range map[string]struct {
		loss    func(night int) float64
		sd, phi float64
		silent  float64 // share of the nights more than 8 % slower
	}{
		"creep of 0.3 % a night":             {creep, 0.02, 0, 0.05},
		"creep, SD 3 %":                      {creep, 0.03, 0, 0.15},
		"creep with a correlation of 0.5":    {creep, 0.02, 0.5, 0.40},
		"many pull requests of 2 % each":     {func(n int) float64 { return 1 + 0.02*float64(max(0, (n-20)/8)) }, 0.02, 0, 0.05},
		"a step of 10 %":                     {step, 0.02, 0, 0.05},
		"a step of 10 %, SD 3 %":             {step, 0.03, 0, 0.15},
		"a step of 10 %, correlated, SD 3 %": {step, 0.03, 0.5, 0.45},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(82, 0))
			silent, slow := 0, 0
			for range series {
				x := history(rng, nightsWatched, tt.sd, tt.phi)
				for n := range x {
					x[n] *= tt.loss(n)
				}
				_, red := watch(t, ttft, x, 30)
				for n := range x {
					if tt.loss(n) > 1.08 {
						slow++
						if !red[n] {
							silent++
						}
					}
				}
			}
			share := float64(silent) / float64(slow)
			t.Logf("silent on %.1f %% of %d nights more than 8 %% slower", 100*share, slow)
			if share > tt.silent {
				t.Errorf("silent on %.1f %% of the nights more than 8 %% slower, want at most %.0f %%", 100*share, 100*tt.silent)
			}
		})
	}
}

// quarter is a quarter of nights of 30 cells on one machine, and what befalls it.
type quarter struct {
	// begins is the probability that a neighbour comes in a night, stays its length in nights and slow what it costs.
	begins float64
	stays  int
	slow   float64
	// worse is a change of the code from a night on: of the first cell, or of all.
	worse   float64
	from    int
	all     bool
	sd, phi float64
}

// draw returns the values of each cell.
func (q quarter) draw(rng *rand.Rand, cells int) [][]float64 {
	left, slow := 0, make([]float64, nightsWatched)
	for n := range slow {
		if left == 0 && rng.Float64() < q.begins {
			left = q.stays
		}
		slow[n] = 1
		if left > 0 {
			slow[n] += q.slow
			left--
		}
	}
	out := make([][]float64, cells)
	for i := range out {
		out[i] = history(rng, nightsWatched, q.sd, q.phi)
		for n := range out[i] {
			out[i][n] *= slow[n]
			if n >= q.from && (q.all || i == 0) {
				out[i][n] *= 1 + q.worse
			}
		}
	}
	return out
}

// watchFleet judges the cells of a machine anew after each night, without the nights that were the machine's. It
// returns how many regressions began, and whether the first cell's began within ten nights of from.
func watchFleet(tb testing.TB, m metric.Metric, cells [][]float64, from int, held bool) (begun int, found bool) {
	tb.Helper()
	before := make([]bool, len(cells))
	for n := 10; n <= nightsWatched; n++ {
		f := trend.Fleet{Sessions: n}
		for i, x := range cells {
			values := map[int]float64{}
			for k, v := range x[:n] {
				values[k] = v
			}
			f.Series = append(f.Series, trend.Member{Unit: fmt.Sprint(i), Metric: m, Values: values, Margin: 0.05})
		}
		without := map[int]bool{}
		for _, move := range trend.SharedMoves(f) {
			for k := move.From; held && k < move.To; k++ {
				without[k] = true
			}
		}
		for i, x := range cells {
			var kept []float64
			for k, v := range x[:n] {
				if !without[k] {
					kept = append(kept, v)
				}
			}
			s, err := trend.Stand(m, kept, detect(tb, m, kept, 39), trend.Terms{Margin: 0.05, Accepted: -1, Together: len(cells)})
			if err != nil {
				tb.Fatal(err)
			}
			now := s.Condition == trend.Regressed
			if now && !before[i] {
				begun++
			}
			before[i] = now
			found = found || now && i == 0 && n > from && n <= from+10
		}
	}
	return begun, found
}

// A machine that is slow for some nights opens no issue on the code, and hides no change of it.
func TestNeighbours(t *testing.T) {
	cells, quarters, fewer := 8, 1, 1
	if *full {
		cells, quarters, fewer = 30, 20, 0
	}
	ttft := lookup(t, "ttft.p99")
	for name, tt := range map[string]struct {
		quarter
		most, least float64 // issues a quarter, share of changes found in ten nights
	}{
		"nothing but noise":              {quarter{sd: 0.02}, 1, 0},
		"a neighbour":                    {quarter{sd: 0.02, begins: 1.0 / 30, stays: 3, slow: 0.08}, 1, 0},
		"a neighbour, SD 3 %":            {quarter{sd: 0.03, begins: 1.0 / 30, stays: 3, slow: 0.08}, 1, 0},
		"a neighbour, one cell +10 %":    {quarter{sd: 0.02, begins: 1.0 / 30, stays: 3, slow: 0.08, worse: 0.10, from: 40}, 0, 0.9},
		"a neighbour, all cells +10 %":   {quarter{sd: 0.02, begins: 1.0 / 30, stays: 3, slow: 0.08, worse: 0.10, from: 40, all: true}, 0, 0.9},
		"one night in ten 20 % slower":   {quarter{sd: 0.02, begins: 0.1, stays: 1, slow: 0.20}, 1, 0},
		"such nights and one cell +10 %": {quarter{sd: 0.02, begins: 0.1, stays: 1, slow: 0.20, worse: 0.10, from: 40}, 0, 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, held := range []bool{false, true}[fewer:] {
				rng := rand.New(rand.NewPCG(83, 0))
				issues, found := 0, 0
				for range quarters {
					n, ok := watchFleet(t, ttft, tt.draw(rng, cells), tt.from, held)
					issues += n
					if ok {
						found++
					}
				}
				rate, share := float64(issues)/float64(quarters), float64(found)/float64(quarters)
				t.Logf("held %v: %.2f issues a quarter, the first cell found in %.0f %% of %d", held, rate, 100*share, quarters)
				if held && tt.most > 0 && rate > tt.most {
					t.Errorf("%.2f issues a quarter, want at most %g", rate, tt.most)
				}
				if held && share < tt.least {
					t.Errorf("found in %.0f %%, want %.0f %%", 100*share, 100*tt.least)
				}
			}
		})
	}
}

// A machine that is faster for some nights opens no issue when it is as slow as before. The loss of gains that ten sessions
// showed opens one, whether they came at once or each a week after the other.
func TestGainsOfAWeek(t *testing.T) {
	series := 20
	if *full {
		series = 300
	}
	ttft := lookup(t, "ttft.p99")
	for name, tt := range map[string]struct {
		weeks       []gain
		most, least float64 // of the series, with an issue
	}{
		"three nights":                 {[]gain{{3, 0.92}}, 0.01, 0},
		"a week":                       {[]gain{{7, 0.92}}, 0.01, 0},
		"a week, twice":                {[]gain{{7, 0.92}, {7, 1}, {7, 0.92}}, 0.05, 0},
		"twenty nights":                {[]gain{{20, 0.92}}, 1, 0.9},
		"8 % in each of two weeks":     {[]gain{{8, 0.92}, {8, 0.84}}, 1, 0.9},
		"16 %, then 8 %, a week each":  {[]gain{{7, 0.84}, {9, 0.92}}, 1, 0.9},
		"ever faster, for three weeks": {[]gain{{9, 0.92}, {9, 0.84}, {9, 0.77}}, 1, 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(84, 0))
			found := 0
			for range series {
				x := history(rng, nightsWatched, 0.02, 0)
				n := 40
				for _, w := range tt.weeks {
					for range w.nights {
						x[n] *= w.ratio
						n++
					}
				}
				if begun, _ := watch(t, ttft, x, 30); begun > 0 {
					found++
				}
			}
			share := float64(found) / float64(series)
			t.Logf("%d of %d series have an issue", found, series)
			if share > tt.most || share < tt.least {
				t.Errorf("%.0f %% of the series have an issue, want %.0f to %.0f %%", 100*share, 100*tt.least, 100*tt.most)
			}
		})
	}
}

// gain is a level of some nights.
type gain struct {
	nights int
	ratio  float64
}
