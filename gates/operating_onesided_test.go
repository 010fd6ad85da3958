package gates_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/servegate/pipeline/gates"
)

// onesided is noise that one side has and the other has not.
type onesided struct {
	label string
	// base and head draw the noise of ln of a run, with mean 0.
	base, head func(s *simulator) float64
	bounded    float64
}

// oneSided: what pairs cannot know is whether a side that was quiet in all of its launches is so at all.
func oneSided() chart {
	normal := func(sd float64) func(*simulator) float64 {
		return func(s *simulator) float64 { return sd * s.rng.NormFloat64() }
	}
	// skewed runs have an exponential delay: most are a little faster than the mean, a few far slower.
	skewed := func(sd float64) func(*simulator) float64 {
		return func(s *simulator) float64 { return sd * (s.rng.ExpFloat64() - 1) }
	}
	c := chart{
		title: "**Noise of one side**, one metric, margin 5 %, % of files. SD is that of ln of a run; the quiet side has 1 %. Skewed runs have " +
			"an exponential delay.",
		columns: []string{"the noisy side", "no change: regression", "no change: improvement", "at the margin: it passes", "10 % slower: found"},
	}
	for _, tt := range []onesided{
		{"head, normal, SD 4 %", normal(0.01), normal(0.04), 5},
		{"base, normal, SD 4 %", normal(0.04), normal(0.01), 5},
		{"head, skewed, SD 2 %", normal(0.01), skewed(0.02), 0},
		{"head, skewed, SD 4 %", normal(0.01), skewed(0.04), 0},
		{"base, skewed, SD 4 %", skewed(0.04), normal(0.01), 0},
		{"both, skewed, SD 4 %", skewed(0.04), skewed(0.04), 5},
	} {
		sc := func(shift float64, what string) *scenario {
			return looked("one side, "+tt.label+what, func(s *simulator) gates.Family {
				x := gates.Comparison{ID: "0", Gate: "gate.g", Metric: s.lowerIsBetter(), Claim: gates.Claim{Margin: 0.05}, CanFail: true}
				for k := range 12 {
					x.Pairs = append(x.Pairs, gates.Pair{Repeat: k, Base: math.Exp(tt.base(s)), Head: math.Exp(shift + tt.head(s))})
				}
				return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{x}}
			})
		}
		same := sc(0, "")
		c.lines = append(c.lines, line{tt.label, []cell{{same, isRed, atMostPercent(tt.bounded)}, {same, isBetter, atMostPercent(tt.bounded)},
			{sc(math.Log(1.05), ", at the margin"), isPassed, atMostPercent(tt.bounded)}, {sc(math.Log(1.10), ", 10 % slower"), isFound, bound{}}}})
	}
	return c
}

// namedSpreads counts passes in which reports name that the head spreads more than the base: it does not change the verdict.
func namedSpreads() chart {
	c := chart{
		title: "**Spreads that reports name** beside a pass, where the head spreads more than the base by an F test at 1 %, and by more than " +
			"in 95 % of the swaps of sides in pairs: one metric, margin 5 %, % of files. SD is that of ln of a run; the base has 1 %, normal, " +
			"unless both are as said.",
		columns: []string{"the head", "no change: it passes", "it passes, and the spread is named", "at the margin: it passes",
			"it passes, and the spread is named"},
	}
	normal := func(sd float64) func(*simulator) float64 {
		return func(s *simulator) float64 { return sd * s.rng.NormFloat64() }
	}
	skewed := func(sd float64) func(*simulator) float64 {
		return func(s *simulator) float64 { return sd * (s.rng.ExpFloat64() - 1) }
	}
	sometimesSlow := func(s *simulator) float64 {
		if s.rng.Float64() < 0.3 {
			return math.Log(1.04) + 0.005*s.rng.NormFloat64()
		}
		return 0.005 * s.rng.NormFloat64()
	}
	pareto := func(s *simulator) float64 { return math.Log1p(0.005 * (1/(1-s.rng.Float64()) - 1)) }
	for _, tt := range []struct {
		label      string
		base, head func(s *simulator) float64
		most       float64
	}{
		{"normal, SD 1 %", normal(0.01), normal(0.01), 2},
		{"normal, SD 4 %", normal(0.01), normal(0.04), 0},
		{"skewed, SD 2 %", normal(0.01), skewed(0.02), 0},
		{"skewed, SD 4 %", normal(0.01), skewed(0.04), 0},
		{"both skewed, SD 2 %", skewed(0.02), skewed(0.02), 5},
		{"3 launches of 10 of both are 4 % slower", sometimesSlow, sometimesSlow, 5},
		{"both have a Pareto tail of exponent 1", pareto, pareto, 5},
	} {
		sc := func(shift float64) *scenario {
			return &scenario{fmt.Sprintf("spread, %s, %.3f", tt.label, shift), func(s *simulator) (ending, error) {
				x := gates.Comparison{ID: "0", Gate: "gate.g", Metric: s.lowerIsBetter(), Claim: gates.Claim{Margin: 0.05}, CanFail: true}
				var base, head []float64
				for k := range fiveLooks[len(fiveLooks)-1] {
					base, head = append(base, tt.base(s)), append(head, shift+tt.head(s))
					x.Pairs = append(x.Pairs, gates.Pair{Repeat: k, Base: math.Exp(base[k]), Head: math.Exp(head[k])})
				}
				p, err := gates.Sequence{Family: gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{x}}, Looks: fiveLooks}.Judge()
				if err != nil {
					return ending{}, err
				}
				n := p.Taken[len(p.Taken)-1]
				_, level, ok := gates.SpreadTest(base[:n], head[:n])
				return ending{Judgement: p.Judgement, named: ok && level <= gates.SpreadLevel}, nil
			}}
		}
		same, marginal := sc(0), sc(math.Log(1.05))
		named := func(e ending) bool { return isPassed(e) && e.named }
		c.lines = append(c.lines, line{tt.label, []cell{{same, isPassed, bound{}}, {same, named, atMostPercent(tt.most)},
			{marginal, isPassed, bound{}}, {marginal, named, bound{}}}})
	}
	return c
}

// exponentialCritical returns the critical values of t at the levels of five looks if runs have an exponential delay:
// quantiles of −t in many draws.
var exponentialCritical = sync.OnceValue(func() []float64 {
	const draws = 100_000
	rng := rand.New(rand.NewPCG(11, 37))
	t := make([][]float64, len(fiveLooks))
	delays := make([]float64, fiveLooks[len(fiveLooks)-1])
	for range draws {
		for i := range delays {
			delays[i] = rng.ExpFloat64() - 1
		}
		for k, n := range fiveLooks {
			mean, sd := stat.MeanStdDev(delays[:n], nil)
			t[k] = append(t[k], -mean/(sd/math.Sqrt(float64(n))))
		}
	}
	out := make([]float64, len(fiveLooks))
	for k := range out {
		slices.Sort(t[k])
		out[k] = stat.Quantile(1-fiveLooks.Level(k, 0.05, 1), stat.Empirical, t[k], nil)
	}
	return out
})

// stricter is a pass whose bound holds for an exponential delay, too, where the head's runs spread more than the base's at
// a level of the F test: at 0 never, at 0.5 where they do so in the sample, at 1 always.
type stricter struct {
	label string
	level float64
}

// stricterPasses are rules that the program does not have, and what they would cost.
func stricterPasses() chart {
	c := chart{
		title: "**What a stricter pass would do** against a head with skewed noise, and what it would cost, margin 5 %, % of files. The " +
			"program has the first rule. Four runs of an exponential delay are all below its mean in 16 % of files (0.632⁴), and then " +
			"look like those of a quiet head, so that no test of the spreads sees them. A bound that holds for such runs needs so much " +
			"more room after few repeats that it would be paid for by all files.",
		columns: []string{"bound", "head skewed, SD 2 %, at the margin: it passes", "head skewed, SD 4 %, at the margin: it passes",
			"no change, 20 metrics, SD of pairs 2 %: mean pairs", "no change, 20 metrics, SD of pairs 3 %: all pass", "the same: mean pairs"},
	}
	skewed := func(sd float64) func(*simulator) (base, head float64) {
		return func(s *simulator) (base, head float64) {
			return 0.01 * s.rng.NormFloat64(), math.Log(1.05) + sd*(s.rng.ExpFloat64()-1)
		}
	}
	normal := func(sd float64) func(*simulator) (base, head float64) {
		return func(s *simulator) (base, head float64) {
			return sd / math.Sqrt2 * s.rng.NormFloat64(), sd / math.Sqrt2 * s.rng.NormFloat64()
		}
	}
	for _, r := range []stricter{
		{"Student's", 0},
		{"that of exponential runs where the head spreads more by an F test at 5 %", 0.05},
		{"that of exponential runs where the head spreads more in the sample", 0.5},
		{"that of exponential runs always", 1},
	} {
		sc := func(what string, members int, draw func(*simulator) (base, head float64)) *scenario {
			return &scenario{"stricter pass, " + r.label + what, func(s *simulator) (ending, error) { return r.judge(s, members, draw) }}
		}
		quiet, noisy := sc(", SD 2 %", 20, normal(0.02)), sc(", SD 3 %", 20, normal(0.03))
		c.lines = append(c.lines, line{r.label, []cell{
			{sc(", skewed, SD 2 %", 1, skewed(0.02)), ending.isRight, bound{}}, {sc(", skewed, SD 4 %", 1, skewed(0.04)), ending.isRight, bound{}},
			{quiet, nil, bound{}}, {noisy, ending.isRight, bound{}}, {noisy, nil, bound{}},
		}})
	}
	return c
}

// judge a file by its passes alone: right if all of its metrics pass.
func (r stricter) judge(s *simulator, members int, draw func(*simulator) (base, head float64)) (ending, error) {
	out := ending{right: true}
	for range members {
		var base, head, differences []float64
		for range fiveLooks[len(fiveLooks)-1] {
			b, h := draw(s)
			base, head, differences = append(base, b), append(head, h), append(differences, h-b)
		}
		passed := false
		for k, n := range fiveLooks {
			t, err := gates.PairedT(differences[:n])
			if err != nil {
				return ending{}, err
			}
			df := float64(n - 1)
			critical := distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(1 - fiveLooks.Level(k, 0.05, 1))
			f := distuv.F{D1: df, D2: df}.Survival(stat.Variance(head[:n], nil) / stat.Variance(base[:n], nil))
			if f < r.level {
				critical = exponentialCritical()[k]
			}
			out.pairs = max(out.pairs, n)
			if passed = t.Shift+critical*t.SE < math.Log(1.05); passed {
				break
			}
		}
		out.right = out.right && passed
	}
	return out, nil
}
