package gates_test

import (
	"math"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/culprit"
)

// searched is a list of 64 commits after the good end, of which some make a metric worse.
type searched struct {
	label string
	// steps in the level, each at a commit that is drawn.
	steps []float64
	sd    float64 // of a pair
	// drift of the machine over 40 launches, and whether one in twenty pairs spreads four times as much.
	drift        float64
	contaminated bool
	// unusable is the share of commits that cannot be built.
	unusable float64
	// promises
	right, wrong, launches float64
}

const (
	searchedCommits = 64
	searchLaunches  = 100
	searchedAt      = 0.95
)

func culprits() chart {
	c := chart{
		title: "**The culprit among 64 commits** (`pipeline bisect`): the ends are judged as a file with a margin of 5 %, then single pairs " +
			"are searched at a confidence of 95 %, " +
			"with at most 100 launches. Right names every commit that changed something, or says that there is none; wrong names another. What is " +
			"left is a range.",
		columns: []string{"truth", "right, %", "wrong, %", "mean launches"},
	}
	for _, tt := range []searched{
		{label: "+8 %, SD of pairs 2 %", steps: []float64{0.08}, sd: 0.02, right: 95, wrong: 5, launches: 40},
		{label: "+8 %, SD of runs 2 %, so of pairs 2.8 %", steps: []float64{0.08}, sd: 0.02 * math.Sqrt2, right: 95, wrong: 5, launches: 40},
		{label: "+8 %, SD of pairs 2 %, the machine drifts by 4 %", steps: []float64{0.08}, sd: 0.02, drift: 0.04, right: 95,
			wrong: 5, launches: 40},
		{label: "+8 %, SD of pairs 2 %, one in 20 spreads 4 times as much", steps: []float64{0.08}, sd: 0.02, contaminated: true,
			right: 0, wrong: 5},
		{label: "+8 %, SD of pairs 2 %, a quarter cannot be built", steps: []float64{0.08}, sd: 0.02, unusable: 0.25, right: 95,
			wrong: 5, launches: 40},
		{label: "+20 %, SD of pairs 5 %", steps: []float64{0.20}, sd: 0.05, right: 95, wrong: 5, launches: 40},
		{label: "+8 % and +8 %, SD of pairs 2 %", steps: []float64{0.08, 0.08}, sd: 0.02},
		{label: "+16 %, later −8 %, SD of pairs 2 %", steps: []float64{0.16, -0.08}, sd: 0.02},
		{label: "no change, SD of pairs 2 %", sd: 0.02, right: 95, wrong: 5},
		{label: "no change, SD of pairs 5 %", sd: 0.05, wrong: 5},
	} {
		sc := &scenario{"culprit, " + tt.label, tt.search}
		c.lines = append(c.lines, line{tt.label, []cell{
			{sc, ending.isRight, atLeastPercent(tt.right)},
			{sc, ending.isWrong, atMostPercent(tt.wrong)},
			{sc, nil, bound{most: tt.launches}},
		}})
	}
	return c
}

// commits with their levels, and where those change.
func (x searched) commits(s *simulator) (levels []float64, at []int, unusable []int) {
	levels = make([]float64, searchedCommits+1)
	for len(at) < len(x.steps) {
		if c := 1 + s.rng.IntN(searchedCommits); !slices.Contains(at, c) {
			at = append(at, c)
		}
	}
	slices.Sort(at)
	for i, from := range at {
		for c := from; c < len(levels); c++ {
			levels[c] += math.Log1p(x.steps[i])
		}
	}
	for c := 1; c < searchedCommits; c++ {
		if s.rng.Float64() < x.unusable {
			unusable = append(unusable, c)
		}
	}
	return levels, at, unusable
}

// search as the program does: the ends by the gate's own sequence, then pair by pair.
func (x searched) search(s *simulator) (ending, error) {
	levels, at, unusable := x.commits(s)
	launches := 0
	pair := func(c int) float64 {
		sd := x.sd
		if x.contaminated && s.rng.IntN(20) == 0 {
			sd *= 4
		}
		late := x.drift * float64(1-2*s.rng.IntN(2)) / 40 // of the side that comes second, in an order that is drawn
		launches += 2
		return levels[c] + late + sd*s.rng.NormFloat64()
	}
	m := s.lowerIsBetter()
	ends := gates.Comparison{ID: "ends", Gate: "gate.g", Metric: m, Claim: gates.Claim{Margin: 0.05}, CanFail: true}
	for k := range 12 {
		ends.Pairs = append(ends.Pairs, gates.Pair{Repeat: k, Base: 1, Head: math.Exp(pair(searchedCommits))})
	}
	judged, err := gates.Sequence{Family: gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{ends}}, Looks: fiveLooks}.Judge()
	if err != nil {
		return ending{}, err
	}
	n := judged.Taken[len(judged.Taken)-1]
	out := ending{Judgement: judged.Judgement, pairs: 2 * n}
	switch judged.Judgement.Comparisons[0].Verdict {
	case gates.Regression:
	case gates.Inconclusive:
		return out, nil
	default:
		out.right, out.wrong = len(x.steps) == 0, len(x.steps) > 0
		return out, nil
	}
	e := culprit.Evidence{Candidates: searchedCommits, Rounding: 1e-9, Unusable: unusable}
	d, err := gates.Differences(m, ends.Pairs[:n])
	if err != nil {
		return out, err
	}
	for _, d := range d {
		e.Probes = append(e.Probes, culprit.Probe{Candidate: searchedCommits, D: d})
	}
	for launches = 2 * n; ; {
		p, err := e.Posterior()
		if err != nil {
			return out, err
		}
		a := p.Answer(searchedAt)
		out.pairs = launches
		if a.Done {
			out.right, out.wrong = x.compare(a, e, at)
			return out, nil
		}
		if launches >= searchLaunches {
			return out, nil
		}
		e.Probes = append(e.Probes, culprit.Probe{Candidate: a.Next, D: pair(a.Next)})
	}
}

// compare an answer with the truth: all that is named must be true, and all that is true named.
func (x searched) compare(a culprit.Answer, e culprit.Evidence, at []int) (right, wrong bool) {
	if a.None {
		return len(at) == 0, len(at) > 0
	}
	var want []culprit.Range
	for _, c := range at {
		if r := e.At(c); !slices.Contains(want, r) {
			want = append(want, r)
		}
	}
	for _, s := range a.Steps {
		wrong = wrong || !slices.Contains(want, s.Range)
	}
	return !wrong && len(a.Steps) == len(want), wrong
}
