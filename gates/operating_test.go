package gates_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// files is the number of simulated files.
func files() int {
	if *gates.Full {
		return 2000
	}
	return 100
}

var fiveLooks = gates.LooksBetween(4, 12)

// outcome is what became of simulated files.
type outcome struct {
	files, red, better, green int
	first                     map[gates.Verdict]int // of the first comparison
	pairs                     int                   // measured until the sequence stopped
}

// mean number of pairs.
func (o outcome) meanPairs() float64 { return float64(o.pairs) / float64(o.files) }

// simulate judges files drawn by draw, each with 12 repeats, by sequences of five looks.
func simulate(tb testing.TB, draw func(i int) gates.Family) outcome {
	tb.Helper()
	o := outcome{files: files(), first: map[gates.Verdict]int{}}
	for i := range o.files {
		p, err := gates.Sequence{Family: draw(i), Looks: fiveLooks}.Judge()
		if err != nil {
			tb.Fatal(err)
		}
		if !p.Stop {
			tb.Fatal("twelve repeats did not end the sequence")
		}
		o.pairs += p.Taken[len(p.Taken)-1]
		seen := map[gates.Verdict]int{}
		for _, d := range p.Judgement.Comparisons {
			seen[d.Verdict]++
		}
		if seen[gates.Regression] > 0 {
			o.red++
		}
		if seen[gates.Improvement] > 0 {
			o.better++
		}
		if seen[gates.Pass]+seen[gates.Improvement] == len(p.Judgement.Comparisons) {
			o.green++
		}
		o.first[p.Judgement.Comparisons[0].Verdict]++
	}
	return o
}

// atLeast checks a rate against its bound with three binomial standard errors of room.
func atLeast(t *testing.T, what string, hits, trials int, bound float64) {
	t.Helper()
	rate := float64(hits) / float64(trials)
	t.Logf("%s: %d of %d (%.2f %%)", what, hits, trials, 100*rate)
	if rate < bound-3*math.Sqrt(bound*(1-bound)/float64(trials)) {
		t.Errorf("%s: %.2f %% of %d, want at least %.0f %%", what, 100*rate, trials, 100*bound)
	}
}

// pairsAtMost checks a mean number of pairs.
func pairsAtMost(t *testing.T, o outcome, bound float64) {
	t.Helper()
	t.Logf("mean pairs: %.2f", o.meanPairs())
	if o.meanPairs() > bound {
		t.Errorf("mean pairs: %.2f, want at most %g", o.meanPairs(), bound)
	}
}

// quiet is a file of comparisons without a difference: in one gate, or in several that
// share alpha.
func (s *simulator) quiet(members, inGates int, sd float64) gates.Family {
	f := gates.Family{Alpha: 0.05}
	for i := range members {
		c := s.comparison(i, 12, 0, sd)
		if inGates > 1 {
			c.Gate, c.Alpha = fmt.Sprint("gate.", i%inGates), f.Alpha/float64(inGates)
		}
		f.Comparisons = append(f.Comparisons, c)
	}
	return f
}

func TestOperatingCharacteristicsFalseAlarms(t *testing.T) {
	for i, cv := range []float64{0.01, 0.02, 0.03, 0.05} {
		for _, inGates := range []int{1, 2, 4} {
			if !*gates.Full && inGates != 2 {
				continue
			}
			s := newSimulator(uint64(1100 + 10*i + inGates)) // each row draws its own files
			o := simulate(t, func(int) gates.Family { return s.quiet(20, inGates, math.Sqrt2*cv) })
			what := fmt.Sprintf("A/A, CV %g %%, 20 metrics in %d gates: ", 100*cv, inGates)
			atMost(t, what+"files with a false alarm", o.red, o.files, 0.05)
			atMost(t, what+"files with a false improvement", o.better, o.files, 0.05)
		}
	}
}

// A comparison exactly at the margin among others that are far from it: the file must
// not be green.
func TestOperatingCharacteristicsGreenAtTheMargin(t *testing.T) {
	for i, sd := range []float64{0.01, 0.02, 0.03} {
		for _, others := range []int{0, 4} {
			s := newSimulator(uint64(1200 + 10*i + others))
			o := simulate(t, func(int) gates.Family {
				f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.comparison(0, 12, math.Log(1.05), sd)}}
				for i := range others {
					f.Comparisons = append(f.Comparisons, s.comparison(1+i, 12, 0, 0.002))
				}
				return f
			})
			atMost(t, fmt.Sprintf("one at the margin, SD %g %%, %d others: green files", 100*sd, others), o.green, o.files, 0.05)
		}
	}
}

func TestOperatingCharacteristicsSlowDownsAreFound(t *testing.T) {
	tests := []struct {
		change, least, pairs float64
		members              int
	}{
		{0.08, 0.95, 5, 1}, {0.10, 0.99, 5, 1}, {0.08, 0.95, 7, 20}, {0.10, 0.99, 7, 20},
	}
	for i, tt := range tests {
		s := newSimulator(uint64(1300 + i))
		o := simulate(t, func(int) gates.Family {
			f := s.quiet(tt.members-1, 1, 0.02)
			f.Comparisons = append([]gates.Comparison{s.comparison(tt.members, 12, math.Log1p(tt.change), 0.02)}, f.Comparisons...)
			return f
		})
		what := fmt.Sprintf("%+g %%, SD 2 %%, 1 of %d metrics moved: ", 100*tt.change, tt.members)
		atLeast(t, what+"found", o.first[gates.Regression], o.files, tt.least)
		pairsAtMost(t, o, tt.pairs)
	}
}

func TestOperatingCharacteristicsQuietFilesPass(t *testing.T) {
	tests := []struct{ sd, least, pairs float64 }{{0.02, 0.99, 7}, {0.03, 0.93, 12}}
	for _, tt := range tests {
		s := newSimulator(14)
		o := simulate(t, func(int) gates.Family { return s.quiet(20, 1, tt.sd) })
		atLeast(t, fmt.Sprintf("A/A, 20 metrics, SD %g %%: all pass", 100*tt.sd), o.green, o.files, tt.least)
		pairsAtMost(t, o, tt.pairs)
	}
}

// What is printed and promises nothing: the curve of regression verdicts, and files too
// noisy for their margin.
func TestOperatingCharacteristicsPrinted(t *testing.T) {
	if !*gates.Full {
		t.Skip("prints only; run with -full")
	}
	for _, change := range []float64{0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.10} {
		s := newSimulator(15)
		o := simulate(t, func(int) gates.Family {
			return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.comparison(0, 12, math.Log1p(change), 0.02)}}
		})
		t.Logf("%+3g %%, SD 2 %%, one metric: %4.1f %% regression, %4.1f %% pass, mean pairs %.2f", 100*change,
			100*float64(o.first[gates.Regression])/float64(o.files), 100*float64(o.green)/float64(o.files), o.meanPairs())
	}
	for _, sd := range []float64{0.04, 0.07} {
		s := newSimulator(16)
		o := simulate(t, func(int) gates.Family { return s.quiet(20, 1, sd) })
		t.Logf("A/A, 20 metrics, SD %.0f %%: %.1f %% all pass, mean pairs %.2f", 100*sd, 100*float64(o.green)/float64(o.files), o.meanPairs())
	}
}

// Metrics of one run move together, and noise has tails.
func TestOperatingCharacteristicsOtherNoise(t *testing.T) {
	draws := map[string]func(s *simulator, common float64) float64{
		"correlated 0.8": func(s *simulator, common float64) float64 {
			return math.Sqrt(0.8)*common + math.Sqrt(0.2)*s.rng.NormFloat64()
		},
		"contaminated": func(s *simulator, _ float64) float64 {
			if s.rng.Float64() < 0.05 {
				return 4 * s.rng.NormFloat64()
			}
			return s.rng.NormFloat64()
		},
	}
	for name, draw := range draws {
		s := newSimulator(17)
		o := simulate(t, func(int) gates.Family {
			f := s.quiet(20, 1, 0)
			for k := range 12 {
				common := s.rng.NormFloat64()
				for _, c := range f.Comparisons {
					c.Pairs[k].Head = c.Pairs[k].Base * math.Exp(0.05*draw(s, common))
				}
			}
			return f
		})
		atMost(t, "A/A, 20 metrics, SD 5 %, "+name+": files with a false alarm", o.red, o.files, 0.05)
	}
}

// Cells of one metric that share what they know of their variances, at five looks: equal
// variances, variances that differ, and one cell much noisier than the others, which is
// the one at the margin.
func TestOperatingCharacteristicsModerated(t *testing.T) {
	spreads := []struct {
		name string
		sd   func(s *simulator, cell int) float64
	}{
		{"equal SDs", func(*simulator, int) float64 { return 0.02 }},
		{"SDs that differ", func(s *simulator, _ int) float64 { return 0.02 * math.Exp(0.4*s.rng.NormFloat64()) }},
		{"one cell three times as noisy", func(_ *simulator, cell int) float64 {
			if cell == 0 {
				return 0.03
			}
			return 0.01
		}},
	}
	for i, tt := range spreads {
		for _, first := range []float64{0, math.Log(1.05)} {
			s := newSimulator(uint64(1800 + i))
			o := simulate(t, func(int) gates.Family {
				f := gates.Family{Alpha: 0.05, Moderate: true}
				for cell := range 12 {
					shift := 0.0
					if cell == 0 {
						shift = first
					}
					f.Comparisons = append(f.Comparisons, s.sameMetric(cell, 12, shift, tt.sd(s, cell)))
				}
				return f
			})
			if first == 0 {
				atMost(t, "moderated, "+tt.name+": files with a false alarm", o.red, o.files, 0.05)
				continue
			}
			atMost(t, "moderated, "+tt.name+": the one at the margin passes", o.first[gates.Pass]+o.first[gates.Improvement], o.files, 0.05)
		}
	}
}

// sameMetric is comparison with the metric of the first cell.
func (s *simulator) sameMetric(cell, n int, shift, sd float64) gates.Comparison {
	c := s.comparison(0, n, shift, sd)
	c.ID = fmt.Sprint("cell ", cell)
	return c
}
