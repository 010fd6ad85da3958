package culprit

import (
	"fmt"
	"math"
	"slices"
)

// Probe is the difference of one pair: how much worse a candidate was than the good end, on the
// scale of the metric.
type Probe struct {
	Candidate int     `json:"candidate"`
	D         float64 `json:"d"`
}

// Evidence holds all probes of a list of candidates.
type Evidence struct {
	// Candidates is their number after the good end. The last one is the bad end.
	Candidates int
	Probes     []Probe
	// Unusable candidates cannot be probed: they cannot be built, or do not serve.
	Unusable []int
	// Rounding is the least standard deviation of a difference; below it values are equal.
	Rounding float64
}

// Prior probabilities of hypotheses. A test at 5 % has distinguished the ends before a search
// begins, and a list with two culprits is rare.
const (
	priorNone = 0.05
	priorTwo  = 0.10
)

// MaxCandidates limits the number of pairs of steps.
const MaxCandidates = 2000

// minSpread is the least variance of a level, in variances of the noise.
const minSpread = 4

// Posterior holds the conclusions from the evidence.
type Posterior struct {
	// None is the probability that there is no step, Two that there are two.
	None, Two float64
	// Step is the probability of a step at each candidate: that it differs from the one before it.
	// Element 0 is always 0.
	Step []float64
	// Level is the expected difference of each candidate from the good end, disagreement its
	// variance over the hypotheses.
	Level        []float64
	disagreement []float64
	// SD is the standard deviation of a pair under the most probable hypothesis.
	SD float64

	evidence Evidence
}

// sums holds sums over the probes of the candidates before each index.
type sums struct {
	n, d   []float64
	square float64
	spread float64
}

func (e Evidence) sums() sums {
	s := sums{n: make([]float64, e.Candidates+2), d: make([]float64, e.Candidates+2)}
	for _, p := range e.Probes {
		s.n[p.Candidate+1]++
		s.d[p.Candidate+1] += p.D
		s.square += p.D * p.D
	}
	end := e.Candidates + 1
	m, squares := s.d[end]/max(s.n[end], 1), 0.0
	for _, p := range e.Probes {
		if p.Candidate == e.Candidates {
			squares += (p.D - m) * (p.D - m)
		}
	}
	s.spread = minSpread
	if n := s.n[end]; n > 1 {
		s.spread = max(s.spread, m*m/max(squares/(n-1), e.Rounding*e.Rounding, math.SmallestNonzeroFloat64))
	}
	for i := 1; i < len(s.n); i++ {
		s.n[i] += s.n[i-1]
		s.d[i] += s.d[i-1]
	}
	return s
}

// segment returns, for the candidates from up to but not including to: the reduction of the sum of
// squares by its level, the logarithm of the cost of that parameter, and the expected level.
func (s sums) segment(from, to int) (explained, cost, level float64) {
	n, d := s.n[to]-s.n[from], s.d[to]-s.d[from]
	shrink := s.spread / (1 + s.spread*n)
	return shrink * d * d, math.Log1p(s.spread * n), shrink * d
}

// hypothesis is a set of steps with its levels.
type hypothesis struct {
	first, second int // 0 for none
	levels        [2]float64
	log           float64 // of its posterior, up to a constant; later its weight
	rest          float64 // remaining sum of squares
}

// Check returns an error for invalid evidence.
func (e Evidence) Check() error {
	if e.Candidates < 1 || e.Candidates > MaxCandidates {
		return fmt.Errorf("%d candidates after the good end, but 1 to %d can be searched", e.Candidates, MaxCandidates)
	}
	for _, p := range e.Probes {
		if p.Candidate < 0 || p.Candidate > e.Candidates || math.IsNaN(p.D) || math.IsInf(p.D, 0) {
			return fmt.Errorf("candidate %d of %d has the difference %g", p.Candidate, e.Candidates, p.D)
		}
	}
	for _, u := range e.Unusable {
		if u < 1 || u >= e.Candidates {
			return fmt.Errorf("candidate %d of %d is an end, which has to be usable", u, e.Candidates)
		}
	}
	return nil
}

// Posterior computes the weights of the hypotheses.
func (e Evidence) Posterior() (*Posterior, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	all := e.hypotheses()
	best := slices.MaxFunc(all, func(a, b hypothesis) int {
		if a.log < b.log {
			return -1
		}
		return 1
	})
	total := 0.0
	for i := range all {
		all[i].log = math.Exp(all[i].log - best.log)
		total += all[i].log
	}
	p := &Posterior{Step: make([]float64, e.Candidates+1), evidence: e}
	p.SD = math.Sqrt(best.rest / float64(max(len(e.Probes), 1)))
	// Levels change at steps only, so their sums over the hypotheses are collected there.
	level, square := make([]float64, e.Candidates+2), make([]float64, e.Candidates+2)
	for _, h := range all {
		w := h.log / total
		before := 0.0
		switch {
		case h.first == 0:
			p.None += w
		case h.second != 0:
			p.Two += w
		}
		for i, at := range []int{h.first, h.second} {
			if at > 0 {
				p.Step[at] += w
				level[at] += w * (h.levels[i] - before)
				square[at] += w * (h.levels[i]*h.levels[i] - before*before)
				before = h.levels[i]
			}
		}
	}
	p.Level, p.disagreement = make([]float64, e.Candidates+1), make([]float64, e.Candidates+1)
	sum, squares := 0.0, 0.0
	for c := range p.Level {
		sum += level[c]
		squares += square[c]
		p.Level[c], p.disagreement[c] = sum, max(0, squares-sum*sum)
	}
	return p, nil
}

// hypotheses returns all hypotheses with the logarithms of their posterior.
func (e Evidence) hypotheses() []hypothesis {
	s, last := e.sums(), e.Candidates
	pairs := last * (last - 1) / 2
	all := make([]hypothesis, 0, 1+last+pairs)
	n := float64(len(e.Probes))
	least := max(n*e.Rounding*e.Rounding, math.SmallestNonzeroFloat64)
	add := func(h hypothesis, prior, explained, cost float64) {
		h.rest = max(s.square-explained, least)
		h.log = math.Log(prior) - cost/2 - n/2*math.Log(h.rest)
		all = append(all, h)
	}
	one, two := 1-priorNone, 0.0
	if pairs > 0 {
		one, two = 1-priorNone-priorTwo, priorTwo/float64(pairs)
	}
	add(hypothesis{}, priorNone, 0, 0)
	for k := 1; k <= last; k++ {
		explained, cost, level := s.segment(k, last+1)
		add(hypothesis{first: k, levels: [2]float64{level}}, one/float64(last), explained, cost)
		for l := k + 1; l <= last; l++ {
			middle, middleCost, middleLevel := s.segment(k, l)
			end, endCost, endLevel := s.segment(l, last+1)
			add(hypothesis{first: k, second: l, levels: [2]float64{middleLevel, endLevel}}, two, middle+end, middleCost+endCost)
		}
	}
	return all
}

// Next returns the candidate to probe: the one on which the hypotheses disagree most.
func (p *Posterior) Next() int {
	best := p.evidence.Candidates
	for c := range p.disagreement {
		if c > 0 && p.disagreement[c] > p.disagreement[best] && !slices.Contains(p.evidence.Unusable, c) {
			best = c
		}
	}
	return best
}

// Range is a range of candidates, one of which brought a step. The step lies between Good, which
// does not have it, and Bad, which does.
type Range struct{ Good, Bad int }

// Single reports whether only one candidate is left.
func (r Range) Single() bool { return r.Bad == r.Good+1 }

// At returns the candidates that no probe can distinguish from a step at one of them: those after
// the last usable candidate before it, up to the next usable one.
func (e Evidence) At(step int) Range {
	r := Range{step - 1, step}
	for slices.Contains(e.Unusable, r.Bad) {
		r.Bad++
	}
	for slices.Contains(e.Unusable, r.Good) {
		r.Good--
	}
	return r
}

// Probability returns the probability that a step lies in a range.
func (p *Posterior) Probability(r Range) float64 {
	sum := 0.0
	for _, x := range p.Step[r.Good+1 : r.Bad+1] {
		sum += x
	}
	return sum
}

// Narrow returns the shortest range between usable candidates that holds a step with a probability,
// or the whole list if none does.
func (p *Posterior) Narrow(confidence float64) Range {
	best := Range{0, p.evidence.Candidates}
	if p.Probability(best) < confidence {
		return best
	}
	for good := range p.evidence.Candidates {
		if slices.Contains(p.evidence.Unusable, good) {
			continue
		}
		sum := 0.0
		for bad := good + 1; bad <= p.evidence.Candidates && bad-good < best.Bad-best.Good; bad++ {
			if sum += p.Step[bad]; sum >= confidence && !slices.Contains(p.evidence.Unusable, bad) {
				best = Range{good, bad}
				break
			}
		}
	}
	return best
}
