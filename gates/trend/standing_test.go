package trend_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
)

// nights are values of levels with 1 % of noise, the same in every run.
func nights(levels ...float64) []float64 {
	rng := rand.New(rand.NewPCG(7, 7))
	out := make([]float64, len(levels))
	for i, l := range levels {
		out[i] = l * math.Exp(0.01*rng.NormFloat64())
	}
	return out
}

func repeat(level float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = level
	}
	return out
}

func concat(parts ...[]float64) []float64 {
	var out []float64
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// stand is where values stand, with the change points that are found in them.
func stand(t *testing.T, id string, values []float64, accepted int) trend.Standing {
	t.Helper()
	m, ok := metric.Lookup(id)
	if !ok {
		t.Fatal(id)
	}
	s, err := trend.Detect(m, values)
	if err != nil {
		t.Fatal(err)
	}
	got, err := trend.Stand(m, values, s, trend.Terms{Margin: 0.05, Accepted: accepted})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestStand(t *testing.T) {
	for name, tt := range map[string]struct {
		levels      []float64
		accepted    int
		want        trend.Condition
		since       int
		recovered   int
		regressions int
	}{
		"unchanged":                  {repeat(1, 30), -1, trend.Steady, -1, -1, 0},
		"too short":                  {[]float64{1, 1, 1, 2, 2}, -1, trend.Short, -1, -1, 0},
		"one outlier in the middle":  {concat(repeat(1, 15), repeat(1.5, 1), repeat(1, 15)), -1, trend.Steady, -1, -1, 0},
		"one outlier at the end":     {concat(repeat(1, 20), repeat(1.5, 1)), -1, trend.Suspicious, -1, -1, 0},
		"two in a row at the end":    {concat(repeat(1, 20), repeat(1.5, 2)), -1, trend.Regressed, 20, -1, 1},
		"one of the last two":        {concat(repeat(1, 20), []float64{1.5, 1.01}), -1, trend.Steady, -1, -1, 0},
		"a step":                     {concat(repeat(1, 20), repeat(1.1, 8)), -1, trend.Regressed, 20, -1, 1},
		"a step for the better":      {concat(repeat(1, 20), repeat(0.9, 8)), -1, trend.Steady, -1, -1, 0},
		"the gain is lost":           {concat(repeat(1, 15), repeat(0.9, 12), repeat(1, 12)), -1, trend.Regressed, 27, -1, 1},
		"recovered":                  {concat(repeat(1, 15), repeat(1.2, 12), repeat(1, 12)), -1, trend.Steady, -1, 27, 1},
		"one good night is no cure":  {concat(repeat(1, 15), repeat(1.2, 15), repeat(1, 1)), -1, trend.Regressed, 15, -1, 1},
		"two good nights are":        {concat(repeat(1, 15), repeat(1.2, 15), repeat(1, 2)), -1, trend.Steady, -1, 30, 1},
		"small steps add up":         {concat(repeat(1, 20), repeat(1.035, 20), repeat(1.075, 20)), -1, trend.Regressed, 40, -1, 1},
		"worse and then worse still": {concat(repeat(1, 15), repeat(1.2, 15), repeat(1.5, 15)), -1, trend.Regressed, 15, -1, 1},
		"twice": {concat(repeat(1, 15), repeat(1.2, 12), repeat(1, 12), repeat(1.2, 12)), -1,
			trend.Regressed, 39, 27, 2},
		"accepted":                           {concat(repeat(1, 20), repeat(1.2, 12)), 25, trend.Steady, -1, -1, 0},
		"accepted before the change is seen": {concat(repeat(1, 20), repeat(1.2, 12)), 19, trend.Regressed, 20, -1, 1},
		"worse than what was accepted":       {concat(repeat(1, 15), repeat(1.2, 15), repeat(1.5, 15)), 20, trend.Regressed, 30, -1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := stand(t, "ttft.p99", nights(tt.levels...), tt.accepted)
			if got.Condition != tt.want || got.Since != tt.since || got.Recovered != tt.recovered || got.Regressions != tt.regressions {
				t.Errorf("got %+v, want %s since %d, recovered %d, %d regressions", got, tt.want, tt.since, tt.recovered, tt.regressions)
			}
		})
	}
}

// What is accepted is a value: a change point that is found one value late does not bring
// the old level back.
func TestStandAcceptsTheLevelOfTheValue(t *testing.T) {
	m, _ := metric.Lookup("ttft.p99")
	values := concat(repeat(1, 10), repeat(1.2, 10))
	late := trend.Series{ChangePoints: []trend.ChangePoint{{Index: 11, State: trend.Confirmed}}}
	got, err := trend.Stand(m, values, late, trend.Terms{Margin: 0.05, Accepted: 10})
	if err != nil || got.Condition != trend.Steady || math.Abs(got.Reference-1.2) > 1e-9 || got.Start != 11 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestStandStatesChangesAsPeopleDo(t *testing.T) {
	slower := stand(t, "output_throughput.mean", nights(concat(repeat(1000, 20), repeat(800, 10))...), -1)
	if slower.Condition != trend.Regressed || slower.Change > -0.18 || slower.Change < -0.22 || math.Abs(slower.Threshold+1-1/1.05) > 1e-9 {
		t.Errorf("throughput: %+v", slower)
	}
	noisy := stand(t, "ttft.p99", concat(repeat(1, 10), []float64{1.2, 0.85, 1.1, 0.9, 1.15, 0.8, 1.2, 0.9, 1.1, 0.85}), -1)
	if noisy.Threshold < 0.1 || noisy.Condition != trend.Steady {
		t.Errorf("twice the noise is the threshold: %+v", noisy)
	}
	failing := stand(t, "success.rate", concat(repeat(1, 15), []float64{0.8, 0.81, 0.79, 0.8, 0.82, 0.8}), -1)
	if failing.Condition != trend.Regressed || failing.Since != 15 || failing.Threshold >= 0 {
		t.Errorf("success: %+v", failing)
	}
}

func TestStandRefuses(t *testing.T) {
	m, _ := metric.Lookup("ttft.p99")
	for name, do := range map[string]func() error{
		"no margin": func() error {
			_, err := trend.Stand(m, repeat(1, 9), trend.Series{}, trend.Terms{Accepted: -1})
			return err
		},
		"no logarithm": func() error {
			_, err := trend.Stand(m, []float64{1, 0}, trend.Series{}, trend.Terms{Margin: 0.05, Accepted: -1})
			return err
		},
		"beyond the end": func() error {
			_, err := trend.Stand(m, repeat(1, 9), trend.Series{}, trend.Terms{Margin: 0.05, Accepted: 9})
			return err
		},
	} {
		if do() == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// Whatever the series: a regression has a beginning and is beyond the threshold, and what
// is mirrored (1/x of a metric of which more is better) stands in the same condition.
func TestStandProperties(t *testing.T) {
	lower, _ := metric.Lookup("ttft.p99")
	higher, _ := metric.Lookup("output_throughput.mean")
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(rt, "n")
		values, mirrored := make([]float64, n), make([]float64, n)
		for i := range values {
			values[i] = rapid.SampledFrom([]float64{0.8, 0.97, 1, 1.02, 1.04, 1.3, 2}).Draw(rt, "v")
			mirrored[i] = 1 / values[i]
		}
		accepted := rapid.IntRange(-1, n-1).Draw(rt, "accepted")
		s, err := trend.Detect(lower, values)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := trend.Stand(lower, values, s, trend.Terms{Margin: 0.05, Accepted: accepted})
		if err != nil {
			rt.Fatal(err)
		}
		if (got.Condition == trend.Regressed) != (got.Since >= 0) && got.Condition != trend.Short {
			rt.Fatalf("%+v", got)
		}
		if got.Condition == trend.Regressed && (got.Change < got.Threshold-1e-9 || got.Regressions < 1) {
			rt.Fatalf("%+v", got)
		}
		other, err := trend.Stand(higher, mirrored, s, trend.Terms{Margin: 0.05, Accepted: accepted})
		if err != nil {
			rt.Fatal(err)
		}
		if other.Condition != got.Condition || other.Since != got.Since || other.Recovered != got.Recovered {
			rt.Fatalf("%+v and mirrored %+v", got, other)
		}
	})
}
