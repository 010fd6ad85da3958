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
