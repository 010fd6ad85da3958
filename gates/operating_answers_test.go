package gates_test

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// answerLength is the number of tokens of the simulated answers.
const answerLength = 64

// floorNoise is by what launches of one server answer otherwise than the next.
type floorNoise struct {
	label   string
	prompts int
	// diverge is the share of prompts that a launch answers in a way of its own.
	diverge float64
	// either is the share of prompts that have two answers, of which each launch takes one.
	either float64
	// half is the share of prompts that every other launch, by chance, answers otherwise, all of
	// them in the same way.
	half float64
	// jitter is the standard deviation of the log-probabilities that launches differ by, and
	// launches that of this deviation between launches.
	jitter, launches float64
}

var answerNoises = []floorNoise{
	{label: "in nothing", prompts: 500},
	{label: "1 % of prompts diverge in a launch", prompts: 1000, diverge: 0.01, jitter: 0.01},
	{label: "5 % of prompts diverge in a launch", prompts: 2000, diverge: 0.05, jitter: 0.01, launches: 0.3},
	{label: "20 % of prompts have two answers", prompts: 500, either: 0.20, jitter: 0.01},
	{label: "2 % have two answers, 1 % diverge", prompts: 1000, either: 0.02, diverge: 0.01, jitter: 0.01, launches: 0.3},
	{label: "2 % are answered otherwise by every other launch", prompts: 500, half: 0.02, jitter: 0.01},
}

// answered is what one launch says: the way in which each prompt is answered, 0 for the usual
// one, and the token from which on it is another one.
type answered struct {
	way, at []int
	jitter  float64
}

// ways are numbers of answers that no other launch gives.
type ways struct{ next int }

// launch draws the answers of a launch, of which a share is corrupted.
func (s *simulator) launch(f floorNoise, corrupt float64, w *ways) answered {
	a := answered{way: make([]int, f.prompts), at: make([]int, f.prompts), jitter: f.jitter * math.Exp(f.launches*s.rng.NormFloat64())}
	odd := s.rng.IntN(2) == 0
	for i := range a.way {
		share := float64(i) / float64(f.prompts)
		a.at[i] = 7 * i % answerLength
		switch {
		case share < f.either && s.rng.IntN(2) == 0, share >= 1-f.half && odd:
			a.way[i] = 1
		}
		if s.rng.Float64() < f.diverge+corrupt {
			w.next++
			a.way[i], a.at[i] = 1+w.next, s.rng.IntN(answerLength)
		}
	}
	return a
}

// alike compares two answers to a prompt. Log-probabilities differ by the mean of so many
// absolute differences of normal ones.
func (s *simulator) alike(a, b answered, prompt int) gates.Alike {
	x := gates.Alike{Tokens: answerLength, Equal: a.way[prompt] == b.way[prompt]}
	switch {
	case x.Equal:
	case a.way[prompt] == 0:
		x.Tokens = b.at[prompt]
	case b.way[prompt] == 0:
		x.Tokens = a.at[prompt]
	default:
		x.Tokens = min(a.at[prompt], b.at[prompt])
	}
	if x.Nats = math.NaN(); x.Tokens > 0 {
		uniform := math.Sqrt(12) * (s.rng.Float64() - 0.5) // of variance 1, as good as a normal number for a mean
		x.Nats = math.Hypot(a.jitter, b.jitter) * (math.Sqrt(2/math.Pi) + math.Sqrt((1-2/math.Pi)/float64(x.Tokens))*uniform)
	}
	return x
}

// answers is a file of the three metrics of answers.
func (s *simulator) answers(f floorNoise, corrupt float64, repeats int) gates.Family {
	var launches [2][]answered
	w := &ways{}
	set := gates.Answers{Prompts: f.prompts}
	for r := range repeats {
		launches[0], launches[1] = append(launches[0], s.launch(f, 0, w)), append(launches[1], s.launch(f, corrupt, w))
		set.Repeats = append(set.Repeats, r)
	}
	set.Alike = func(head bool, repeat, against, prompt int) (gates.Alike, bool) {
		side := 0
		if head {
			side = 1
		}
		return s.alike(launches[side][repeat], launches[0][against], prompt), true
	}
	values := set.Relate()
	relative := []gates.Relative{values.Agreement, values.FirstDivergence, values.LogprobDifference}
	family := gates.Family{Alpha: 0.05}
	for k, m := range []struct {
		id     string
		margin metric.Margin
	}{{"agreement.share", 0.01}, {"first_divergence.mean", 0.5}, {"logprob_difference.mean", 0.002}} {
		of, _ := metric.Lookup(m.id)
		family.Comparisons = append(family.Comparisons, gates.Comparison{
			ID: m.id, Gate: "gate.answers", Metric: of, Claim: gates.Claim{Margin: m.margin}, CanFail: true,
			Relative: relative[k], Pairs: relative[k].All().Pairs, Clusters: relative[k].All().Clusters,
		})
	}
	return family
}

func answers() chart {
	c := chart{
		checked: fewFiles,
		title: fmt.Sprintf("**Answers** of %d tokens: agreement (margin 1 percentage point), first divergence (0.5 tokens) and difference of "+
			"log-probabilities (0.002 nats) in one file. "+
			"Equal sides are judged after %s repeats, the corrupted head after 4 and 6.", answerLength, numbers(fiveLooks)),
		columns: []string{"launches of one server differ", "equal sides: regression", "equal sides: all pass",
			"2 % of the head's answers corrupted: found", "mean pairs"},
	}
	for _, f := range answerNoises {
		label := fmt.Sprintf("%s, %d prompts", f.label, f.prompts)
		same := looked("answers, "+label, func(s *simulator) gates.Family { return s.answers(f, 0, 12) })
		corrupted := inStages("corrupted answers, "+label, func(s *simulator) gates.Sequence {
			return gates.Sequence{Family: s.answers(f, 0.02, 6), Looks: gates.LooksBetween(4, 6), Ended: true}
		})
		c.lines = append(c.lines, line{label, []cell{
			{same, isRed, atMostPercent(5)}, {same, isGreen, bound{}}, {corrupted, isFound, atLeastPercent(95)}, {corrupted, nil, bound{most: 6}},
		}})
	}
	return c
}
