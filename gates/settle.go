package gates

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Settled reports whether no further repeat can change the verdict of a gate: each comparison that
// waits for more belongs to a gate that has a regression already. Stopping loses nothing:
// regressions stay, and what waits stays undecided.
func (p Progress) Settled() bool {
	return p.Stop || len(p.Open) > 0 && len(p.unsettled()) == 0
}

// unsettled returns the decisions that wait for more and can change the verdict of their gate.
func (p Progress) unsettled() []Decision {
	all := slices.Concat(p.Judgement.Comparisons, p.Judgement.Success)
	red := map[string]bool{}
	for _, d := range all {
		red[d.Gate] = red[d.Gate] || d.Verdict == Regression
	}
	return slices.DeleteFunc(all, func(d Decision) bool { return !slices.Contains(p.Open, d.ID) || red[d.Gate] })
}

// A comparison whose probability of a decision is below hopeless is given up. hopelessDraws is the
// number of simulated futures for the estimate.
const (
	hopeless      = 0.05
	hopelessDraws = 400
)

// Hopeless reports whether every comparison that a gate's verdict waits for is unlikely to be
// decided by the remaining looks: each with a probability below 5 %, given the data. It only ends a
// sequence earlier and decides nothing, so it makes no wrong verdict more frequent.
func (s Sequence) Hopeless(p Progress) bool {
	open := p.unsettled()
	if p.Stop || len(open) == 0 {
		return false
	}
	return !slices.ContainsFunc(open, func(d Decision) bool { return s.chance(p, d) >= hopeless })
}

// chance returns the probability that the remaining looks decide d, simulated from the true
// differences and spreads that its pairs allow. It returns 1 if that is unknown.
func (s Sequence) chance(p Progress, d Decision) float64 {
	i := slices.IndexFunc(s.Family.Comparisons, func(c Comparison) bool { return c.ID == d.ID })
	taken := p.Taken[len(p.Taken)-1]
	if i < 0 || d.Outcome == nil || d.Outcome.SE == 0 || d.N < 2 {
		return 1
	}
	c := s.Family.Comparisons[i]
	if c.Expect != NoRegression || c.test() != PairedTTest || c.Relative != nil {
		return 1
	}
	in := NewProspect(s.Looks, s.Family.Alpha, s.Family.passAlpha(), d.GroupSize, c.Rule)
	in.Known = c.Known
	critical, bound := in.criticals(taken, d.N)
	margin, n, df := c.Margin.On(c.Metric.Scale), float64(d.N), float64(d.N-1)
	if c.Known != nil {
		df = d.Outcome.DF
	}
	rng := rand.New(rand.NewPCG(20261123, uint64(taken))) //nolint:gosec // a simulation
	spread := distuv.ChiSquared{K: df, Src: rng}
	decided := 0
	for range hopelessDraws {
		sd := d.Outcome.SE * math.Sqrt(n) * math.Sqrt(df/spread.Rand())
		truth := d.Outcome.D + sd/math.Sqrt(n)*rng.NormFloat64()
		if in.decidedAfter(rng, d, taken, truth, sd, margin, critical, bound) {
			decided++
		}
	}
	return float64(decided) / hopelessDraws
}

// criticals returns the critical t values for "worse" and for the bounds at the looks after taken
// repeats, of which the comparison has n.
func (p Prospect) criticals(taken, n int) (critical, bound []float64) {
	critical, bound = make([]float64, len(p.Looks)), make([]float64, len(p.Looks))
	for k, look := range p.Looks {
		if df := float64(n + look - taken - 1); look > taken {
			critical[k], bound[k] = p.critical(p.Levels[k], df), p.critical(p.PassLevels[k], df)
		}
	}
	return critical, bound
}

// decidedAfter draws one future of a comparison and reports whether one of its looks decides.
func (p Prospect) decidedAfter(rng *rand.Rand, d Decision, taken int, truth, sd, margin float64, critical, bounds []float64) bool {
	n, mean := d.N, d.Outcome.D
	squares := d.Outcome.SE * d.Outcome.SE * float64(n*(n-1))
	for k, look := range p.Looks {
		if look <= taken {
			continue
		}
		for range look - taken {
			n++
			off := truth + sd*rng.NormFloat64() - mean
			mean += off / float64(n)
			squares += off * off * float64(n-1) / float64(n)
		}
		taken = look
		se := p.error(math.Sqrt(squares/float64(n-1)), n)
		bound := bounds[k] * se
		worse := max(margin, critical[k]*se)
		if p.Strict {
			worse = max(worse, margin+bound)
		}
		if mean+bound < margin || mean >= worse {
			return true
		}
	}
	return false
}
