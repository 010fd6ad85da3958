package trend_test

import (
	"cmp"
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

// creeping are n values that become worse by a share each time.
func creeping(n int, each float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Exp(each * float64(i))
	}
	return out
}

// ramp rises to a level in n steps.
func ramp(level float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = level * float64(i+1) / float64(n)
	}
	return out
}

// TestStandOfGivenSegments: where a series stands, by its change points, the last of which may be suspected.
func TestStandOfGivenSegments(t *testing.T) {
	for name, tt := range map[string]struct {
		metric   string // ttft.p99 if empty
		values   []float64
		cuts     []int
		tail     bool // the last cut is suspected
		noise    float64
		accepted int // plus 1
		margin   float64
		want     trend.Standing // what is 0 is not compared, but Since and Recovered are plus 1, and Start always is
	}{
		"a gain of nine": {values: concat(repeat(1, 15), repeat(0.9, 9), repeat(1, 12)), cuts: []int{15, 24},
			want: trend.Standing{Condition: trend.Steady, Reference: 1}},
		"a gain of ten": {values: concat(repeat(1, 15), repeat(0.9, 10), repeat(1, 12)), cuts: []int{15, 25},
			want: trend.Standing{Condition: trend.Regressed, Since: 26, Reference: 0.9}},
		"the worst of two gains": {values: concat(repeat(1, 10), repeat(0.8, 6), repeat(0.9, 6), repeat(1, 8)), cuts: []int{10, 16, 22},
			want: trend.Standing{Condition: trend.Regressed, Since: 23, Reference: 0.9}},
		"a gain that waits for more": {values: concat(repeat(1, 10), repeat(0.9, 9), repeat(0.85, 2)), cuts: []int{10, 19}, tail: true,
			want: trend.Standing{Condition: trend.Steady, Reference: 1}},
		"accepted where it begins": {values: concat(repeat(1, 15), repeat(1.2, 10)), cuts: []int{15}, accepted: 16,
			want: trend.Standing{Condition: trend.Steady, Start: 15, Reference: 1.2}},
		"accepted an outlier": {values: concat(repeat(1, 12), repeat(1.2, 1), repeat(1, 7), repeat(1.2, 10)), cuts: []int{20}, accepted: 13,
			want: trend.Standing{Condition: trend.Regressed, Since: 21}},
		"one good night": {values: concat(repeat(1, 10), repeat(1.2, 10), []float64{1.2, 1}), cuts: []int{10, 20}, tail: true,
			want: trend.Standing{Condition: trend.Regressed, Since: 11}},
		"one worse night": {values: concat(repeat(1, 10), repeat(1.2, 10), []float64{1.5}), cuts: []int{10, 20}, tail: true,
			want: trend.Standing{Condition: trend.Regressed, Since: 11}},
		"not significant, and over": {values: concat([]float64{1, 1.6, 0.7, 1.5, 0.6, 1.2}, repeat(1.3, 3), []float64{1, 1.6, 0.7, 1.5, 0.6}),
			cuts: []int{6, 9}, want: trend.Standing{Condition: trend.Steady}},
		"differences": {metric: "queue.mean", values: concat(repeat(2, 10), repeat(2.0625, 6)), cuts: []int{10}, noise: 0.01,
			want: trend.Standing{Condition: trend.Steady, Threshold: 0.1}},
		"noisy differences": {metric: "queue.mean", values: concat(repeat(2, 10), repeat(2.5, 6)), cuts: []int{10}, noise: 0.5,
			want: trend.Standing{Condition: trend.Steady, Threshold: 1}},
		"at the threshold": {metric: "queue.mean", values: concat(repeat(1, 10), repeat(1.25, 6)), cuts: []int{10}, margin: 0.25,
			want: trend.Standing{Condition: trend.Regressed, Since: 11}},
		"zero": {metric: "queue.mean", values: repeat(0, 30), want: trend.Standing{Condition: trend.Steady}},
		"zero, and a step that was none": {metric: "queue.mean", values: repeat(0, 30), cuts: []int{20},
			want: trend.Standing{Condition: trend.Steady}},
		"a ramp, and back": {metric: "queue.mean", values: concat(repeat(0, 10), ramp(1, 20), repeat(0, 10)),
			want: trend.Standing{Condition: trend.Steady, Regressions: 1}},
		"a ramp": {metric: "queue.mean", values: concat(repeat(0, 10), ramp(1, 20)),
			want: trend.Standing{Condition: trend.Regressed, Since: 15, Creep: true}},
		"six values":  {values: repeat(1, 6), want: trend.Standing{Condition: trend.Steady}},
		"five values": {values: repeat(1, 5), want: trend.Standing{Condition: trend.Short}},
		"a creep": {values: creeping(40, 0.003), noise: 0.2,
			want: trend.Standing{Condition: trend.Regressed, Since: 20, Creep: true, Regressions: 1, Threshold: 0.05}},
		"a creep that was accepted":     {values: creeping(40, 0.003), accepted: 31, want: trend.Standing{Condition: trend.Steady}},
		"a creep by less than a margin": {values: creeping(40, 0.0006), want: trend.Standing{Condition: trend.Steady}},
	} {
		m := lookup(t, cmp.Or(tt.metric, "ttft.p99"))
		s := trend.Series{Noise: tt.noise}
		for i, c := range tt.cuts {
			point := trend.ChangePoint{Index: c, State: trend.Confirmed}
			if tt.tail && i == len(tt.cuts)-1 {
				point.State = trend.Suspected
			}
			s.ChangePoints = append(s.ChangePoints, point)
		}
		got, err := trend.Stand(m, tt.values, s, trend.Terms{Margin: cmp.Or(tt.margin, 0.05), Accepted: tt.accepted - 1})
		same := func(got, want float64) bool { return want == 0 || math.Abs(got-want) < 1e-9 }
		if err != nil || got.Condition != tt.want.Condition || got.Since != tt.want.Since-1 || got.Start != tt.want.Start ||
			got.Creep != tt.want.Creep || !same(got.Reference, tt.want.Reference) || !same(got.Threshold, tt.want.Threshold) ||
			!same(float64(got.Regressions), float64(tt.want.Regressions)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestFindingsAreCorrected: a step that one series would show is chance among a thousand.
func TestFindingsAreCorrected(t *testing.T) {
	values := concat([]float64{1, 1.03, 0.97, 1.02, 0.98, 1, 1.03, 0.97, 1.02, 0.98, 1, 1}, []float64{1.07, 1.10, 1.08, 1.09})
	s := trend.Series{ChangePoints: []trend.ChangePoint{{Index: 12, State: trend.Confirmed}}, Noise: 0.02}
	for together, want := range map[int]trend.Condition{0: trend.Regressed, 1: trend.Regressed, 100_000: trend.Suspicious} {
		got, err := trend.Stand(lookup(t, "ttft.p99"), values, s, trend.Terms{Margin: 0.05, Accepted: -1, Together: together})
		if err != nil || got.Condition != want {
			t.Errorf("of %d series: %+v, %v", together, got, err)
		}
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
