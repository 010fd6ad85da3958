package trend_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates/trend"
)

// A regression that was mended is no correlation: both of its ends are found, and so is the
// next one.
func TestEpisodesAreFound(t *testing.T) {
	const trials = 60
	ttft := lookup(t, "ttft.p99")
	for _, tt := range []struct {
		before, during, after, again int
		ratio, phi, least            float64
	}{
		{15, 12, 12, 0, 1.2, 0, 0.95}, {15, 12, 12, 12, 1.2, 0, 0.95}, {40, 10, 20, 5, 1.1, 0, 0.95}, {60, 7, 20, 0, 1.1, 0, 0.9},
		{15, 12, 12, 12, 1.2, 0.5, 0.9}, {40, 10, 20, 3, 1.25, 0.5, 0.9},
	} {
		rng := rand.New(rand.NewPCG(78, 0))
		found := 0
		ends := []int{tt.before, tt.before + tt.during, tt.before + tt.during + tt.after}
		for range trials {
			x := history(rng, ends[2]+tt.again, 0.01, tt.phi)
			step(step(step(x, ends[0], tt.ratio), ends[1], 1/tt.ratio), ends[2], tt.ratio)
			at := confirmed(detect(t, ttft, x, 199))
			near := func(want int) bool {
				return want == len(x) || slices.ContainsFunc(at, func(i int) bool { return i >= want-1 && i <= want+1 })
			}
			if near(ends[0]) && near(ends[1]) && near(ends[2]) {
				found++
			}
		}
		t.Logf("%+v: found in %d of %d", tt, found, trials)
		if rate := float64(found) / trials; rate < tt.least-tolerance(tt.least, trials) {
			t.Errorf("%+v: found in %.0f %%", tt, 100*rate)
		}
	}
}

// What is reported as a regression, in a series in which nothing changes: rarer than a
// change point, since the margin and the noise must be exceeded as well.
func TestStandWithoutAChange(t *testing.T) {
	const trials = 200
	ttft := lookup(t, "ttft.p99")
	for _, tt := range []struct{ sd, phi, most float64 }{{0.02, 0, 0.005}, {0.02, 0.5, 0.01}, {0.03, 0.5, 0.02}} {
		rng := rand.New(rand.NewPCG(79, 0))
		alarms := 0
		for range trials {
			x := history(rng, 60, tt.sd, tt.phi)
			s, err := trend.Stand(ttft, x, detect(t, ttft, x, 199), trend.Terms{Margin: 0.05, Accepted: -1})
			if err != nil {
				t.Fatal(err)
			}
			if s.Condition == trend.Regressed {
				alarms++
			}
		}
		t.Logf("%+v: %d of %d regressed", tt, alarms, trials)
		if rate := float64(alarms) / trials; rate > tt.most+tolerance(tt.most, trials) {
			t.Errorf("%+v: %.1f %% of unchanged series regressed", tt, 100*rate)
		}
	}
}
