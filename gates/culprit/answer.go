package culprit

// Answer is the conclusion from a posterior at a confidence.
type Answer struct {
	// None reports that no candidate brought a step.
	None bool
	// Several reports that no single candidate brought the whole change. One step is then no answer, and
	// where more are not found, Stretch is.
	Several bool
	// Steps that are known with the confidence, in order. The pairs at each show at least half of it.
	Steps []Step
	// Done is set if the search ends: with None, or with all probable steps found.
	Done bool
	// Next is the candidate to probe if it does not.
	Next int
}

// Step is the location of a step.
type Step struct {
	Range
	// Probability that one of the range brought a step, and its change on the scale of the
	// differences.
	Probability, Change float64
}

// probableTwo is the probability of a second step from which on the search looks for it.
const probableTwo = 0.5

// Answer returns the conclusion. One step is enough if two are improbable.
func (p *Posterior) Answer(confidence float64) Answer {
	a := Answer{None: p.None >= confidence, Next: p.Next()}
	unshown := false
	for c := 1; c < len(p.Step); c++ {
		r := p.evidence.At(c)
		if c != r.Bad {
			continue // probes cannot distinguish it from the next usable one
		}
		s := p.step(r)
		if s.Probability < confidence {
			continue
		}
		if ok, next := p.shown(s, 1-confidence); !ok {
			a.Next, unshown = next, true
			continue
		}
		a.Steps = append(a.Steps, s)
	}
	a.Several = !a.None && p.evidence.several(1-confidence)
	a.Done = a.None || len(a.Steps) > 1 || len(a.Steps) == 1 && p.Two < probableTwo && !unshown && !a.Several
	return a
}

// Rest returns the shortest range that holds a step with the confidence, if no single candidate
// does.
func (p *Posterior) Rest(confidence float64) Step { return p.step(p.Narrow(confidence)) }

// Stretch returns the shortest range between probed candidates that brings more than half of the
// change, if several candidates brought it.
func (p *Posterior) Stretch(confidence float64) Step { return p.evidence.stretch(1 - confidence) }

func (p *Posterior) step(r Range) Step {
	return Step{r, min(1, p.Probability(r)), p.Level[r.Bad] - p.Level[r.Good]}
}
