package gates_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// simulator draws files of comparisons with a fixed seed.
type simulator struct {
	rng     *rand.Rand
	metrics []metric.Metric
}

func newSimulator(seed uint64) *simulator {
	s := &simulator{rng: rand.New(rand.NewPCG(seed, 1))}
	for _, m := range metric.All() {
		if m.Scale == metric.Log && !m.Informational {
			s.metrics = append(s.metrics, m)
		}
	}
	return s
}

// comparison draws n lognormal pairs whose logarithms differ by shift (worse positive)
// with standard deviation sd.
func (s *simulator) comparison(i, n int, shift, sd float64) gates.Comparison {
	m := s.metrics[i%len(s.metrics)]
	c := gates.Comparison{ID: fmt.Sprint(i), Gate: "gate.g", Metric: m, Claim: gates.Claim{Margin: 0.05}, CanFail: true,
		Pairs: make([]gates.Pair, n)}
	if m.Direction == metric.HigherIsBetter {
		shift = -shift
	}
	for k := range c.Pairs {
		base := math.Exp(0.02 * s.rng.NormFloat64())
		c.Pairs[k] = gates.Pair{Repeat: k, Base: base, Head: base * math.Exp(shift+sd*s.rng.NormFloat64())}
	}
	return c
}

// atMost checks a rate against its bound with three binomial standard errors of room: a
// true rate at the bound fails one seed in a thousand, and the seed is fixed.
func atMost(t *testing.T, what string, hits, trials int, bound float64) {
	t.Helper()
	rate := float64(hits) / float64(trials)
	t.Logf("%s: %d of %d (%.2f %%)", what, hits, trials, 100*rate)
	if rate > bound+3*math.Sqrt(bound*(1-bound)/float64(trials)) {
		t.Errorf("%s: %.2f %% of %d, want at most %.0f %%", what, 100*rate, trials, 100*bound)
	}
}

// simulatedFiles are the files behind each rate: those of the short version show what is
// wrong by more than a few percent.
func simulatedFiles() int {
	if *gates.Full {
		return 2000
	}
	return 400
}

func TestFalseAlarmsAreHeldToAlphaOverTheFile(t *testing.T) {
	s := newSimulator(1)
	alarms, improvements := 0, 0
	for range simulatedFiles() {
		n, sd := 4+s.rng.IntN(5), math.Sqrt2*(0.01+0.04*s.rng.Float64())
		f := gates.Family{Alpha: 0.05}
		for i := range 20 {
			f.Comparisons = append(f.Comparisons, s.comparison(i, n, 0, sd))
		}
		seen := map[gates.Verdict]bool{}
		for _, d := range judge(t, f).Comparisons {
			seen[d.Verdict] = true
		}
		if seen[gates.Regression] {
			alarms++
		}
		if seen[gates.Improvement] {
			improvements++
		}
	}
	atMost(t, "files with a false alarm", alarms, simulatedFiles(), 0.05)
	atMost(t, "files with a false improvement", improvements, simulatedFiles(), 0.05)
	if alarms == 0 {
		t.Error("no false alarm at all: the simulation tests nothing")
	}
}

func TestGreenAtTheMarginIsHeldToAlpha(t *testing.T) {
	s := newSimulator(2)
	green := 0
	for range simulatedFiles() {
		n := 4 + s.rng.IntN(5)
		f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.comparison(0, n, math.Log(1.05), 0.02)}}
		for i := range 4 {
			f.Comparisons = append(f.Comparisons, s.comparison(1+i, n, 0, 0.002))
		}
		all := true
		for _, d := range judge(t, f).Comparisons {
			all = all && (d.Verdict == gates.Pass || d.Verdict == gates.Improvement)
		}
		if all {
			green++
		}
	}
	atMost(t, "green files with a comparison at the margin", green, simulatedFiles(), 0.05)
	if green < simulatedFiles()/50 {
		t.Errorf("only %d green files: the bound is meant to be reached here", green)
	}
}

func TestSlowDownsAreFoundAndQuietOnesPass(t *testing.T) {
	tests := map[string]struct {
		shift, least float64
		want         gates.Verdict
	}{
		"+10 %":     {math.Log(1.10), 0.99, gates.Regression},
		"+8 %":      {math.Log(1.08), 0.95, gates.Regression},
		"no change": {0, 0.98, gates.Pass},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSimulator(3)
			hits := 0
			for i := range simulatedFiles() {
				f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.comparison(i, 6, tt.shift, 0.02)}}
				if judge(t, f).Comparisons[0].Verdict == tt.want {
					hits++
				}
			}
			t.Logf("%s in %d of %d", tt.want, hits, simulatedFiles())
			if float64(hits) < tt.least*float64(simulatedFiles()) {
				t.Errorf("%s in %d of %d, want %.0f %%", tt.want, hits, simulatedFiles(), 100*tt.least)
			}
		})
	}
}

// The detectable change that a decision states is what its test really finds.
func TestDetectableChangeHasItsPower(t *testing.T) {
	s := newSimulator(4)
	const n, sd, alpha, trials = 5, 0.02, 0.05, 4000
	shift := gates.DetectableChange(n, sd, alpha, gates.Power)
	found := 0
	for range trials {
		d := make([]float64, n)
		for i := range d {
			d[i] = shift + sd*s.rng.NormFloat64()
		}
		r, err := gates.PairedT(d)
		if err != nil {
			t.Fatal(err)
		}
		if r.Greater <= alpha {
			found++
		}
	}
	if power := float64(found) / trials; math.Abs(power-gates.Power) > 0.02 {
		t.Errorf("power %.3f, want %.1f", power, gates.Power)
	}
}

func BenchmarkJudge500(b *testing.B) {
	s := newSimulator(5)
	f := gates.Family{Alpha: 0.05}
	for i := range 500 {
		f.Comparisons = append(f.Comparisons, s.comparison(i, 6, 0.1*s.rng.NormFloat64()*s.rng.Float64(), 0.03))
	}
	for b.Loop() {
		judge(b, f)
	}
}

func BenchmarkFisherExact(b *testing.B) {
	for b.Loop() {
		if _, err := gates.FisherExact(300, 100_000, 240, 100_000); err != nil {
			b.Fatal(err)
		}
	}
}
