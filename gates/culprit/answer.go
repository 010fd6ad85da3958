package culprit

// Answer is what a posterior comes to at a confidence.
type Answer struct {
	// None is set where there is no step.
	None bool
	// Steps that are known with the confidence, in order.
	Steps []Step
	// Done is set where the search ends, for None or for all steps that are probable.
	Done bool
	// Next is the candidate to probe where it does not.
	Next int
}

// Step is where a step lies.
type Step struct {
	Range
	// Probability that one of the range brought a step, and the change that it brought, on the
	// scale of the differences.
	Probability, Change float64
}

// probableTwo is the probability of a second step from which on it is searched for.
const probableTwo = 0.5

// Answer sums up. One step is enough where two are improbable.
func (p *Posterior) Answer(confidence float64) Answer {
	a := Answer{None: p.None >= confidence, Next: p.Next()}
	for c := 1; c < len(p.Step); c++ {
		r := p.evidence.At(c)
		if c != r.Bad {
			continue // a probe tells it from those of the next usable one as little
		}
		if s := p.step(r); s.Probability >= confidence {
			a.Steps = append(a.Steps, s)
		}
	}
	a.Done = a.None || len(a.Steps) > 1 || len(a.Steps) == 1 && p.Two < probableTwo
	return a
}

// Rest is the shortest range that holds a step with the confidence where no single one does.
func (p *Posterior) Rest(confidence float64) Step { return p.step(p.Narrow(confidence)) }

func (p *Posterior) step(r Range) Step {
	return Step{r, min(1, p.Probability(r)), p.Level[r.Bad] - p.Level[r.Good]}
}
