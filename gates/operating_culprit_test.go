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
	// slow is the share of launches that are 15 % slower, and own the SD of what each commit differs by on its own account.
	slow, own float64
	// row puts the steps at consecutive commits.
	row bool
	// promises
	right, wrong, launches, several float64
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

// besideTheModel are lists in which no single commit explains the whole change.
func besideTheModel() chart {
	c := chart{
		title: "**Searches beside the model** (`pipeline bisect`): the same search where more than one commit of 64 changed something, or the " +
			"noise is none that the model knows. SD of pairs 2 %. Named is a commit, alone or beside others; wrong names one that changed " +
			"nothing, or another than the one of +8 %; all else ends as a range, or undecided. 1,000 files are behind each number.",
		files: 1000, checked: fewFiles,
		columns: []string{"truth", "names a commit, %", "wrong, %", "names all that changed, or a range with more than half of it, %",
			"says that several did, %", "mean launches"},
	}
	fifths := []float64{0.02, 0.02, 0.02, 0.02, 0.02}
	for _, tt := range []searched{
		{label: "+8 %", steps: []float64{0.08}, wrong: 5, several: 5},
		{label: "+8 %, one launch in ten is 15 % slower", steps: []float64{0.08}, slow: 0.1, wrong: 2.9, several: 5},
		{label: "+8 %, each commit differs by ± 2 % of its own", steps: []float64{0.08}, own: 0.02},
		{label: "+2 % in each of five commits", steps: fifths, wrong: 0.2},
		{label: "+2 % in each of five commits in a row", steps: fifths, row: true, wrong: 0.5},
		{label: "+4 % in each of two commits", steps: []float64{0.04, 0.04}, wrong: 3},
		{label: "+6 % and +3 %", steps: []float64{0.06, 0.03}, wrong: 4},
	} {
		tt.sd = 0.02
		sc := &scenario{"culprit beside the model, " + tt.label, tt.search}
		c.lines = append(c.lines, line{tt.label, []cell{
			{sc, func(e ending) bool { return e.named }, bound{}},
			{sc, ending.isWrong, atMostPercent(tt.wrong)},
			{sc, func(e ending) bool { return e.right || e.ranged }, bound{}},
			{sc, func(e ending) bool { return e.several }, atMostPercent(tt.several)},
			{sc, nil, bound{}},
		}})
	}
	return c
}

// commits with their levels, and where those change.
func (x searched) commits(s *simulator) (levels []float64, at []int, unusable []int) {
	levels = make([]float64, searchedCommits+1)
	for from := s.rng.IntN(searchedCommits - len(x.steps)); x.row && len(at) < len(x.steps); {
		at = append(at, from+1+len(at))
	}
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
	for c := 1; c < len(levels) && x.own > 0; c++ {
		levels[c] += x.own * s.rng.NormFloat64()
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
		if x.slow > 0 {
			for _, side := range []float64{-1, 1} {
				if s.rng.Float64() < x.slow {
					late += side * math.Log(1.15)
				}
			}
		}
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
		out.several = a.Several
		if a.Done || launches >= searchLaunches && len(a.Steps) > 0 && !a.Several {
			out.right, out.wrong = x.compare(a, e, at)
			out.named = slices.ContainsFunc(a.Steps, func(s culprit.Step) bool { return s.Single() })
			return out, nil
		}
		if launches >= searchLaunches {
			if r := p.Stretch(searchedAt).Range; a.Several && r.Single() {
				out.named, out.wrong = true, !slices.Contains(at, r.Bad)
			}
			out.ranged = a.Several && x.most(p.Stretch(searchedAt).Range, levels)
			return out, nil
		}
		e.Probes = append(e.Probes, culprit.Probe{Candidate: a.Next, D: pair(a.Next)})
	}
}

// most reports whether a range brings more than half of a change by several commits.
func (x searched) most(r culprit.Range, levels []float64) bool {
	return len(x.steps) > 1 && levels[r.Bad]-levels[r.Good] > levels[searchedCommits]/2
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
