package model

import (
	"math"
	"math/rand/v2"
	"time"
)

// Speculation is how tokens are drafted for the model to verify in one step: the first of them up
// to the first that it would not have chosen are accepted, and one of its own follows.
type Speculation struct {
	// Tokens that are drafted for each sequence and step; 0 for none.
	Tokens int
	// Accept is the chance that a draft is accepted where those before it are.
	Accept float64
	// Layers of the head or model that drafts, which runs once for each token; 0 for drafts that
	// come from the text so far and cost nothing.
	Layers int
}

// Length is the number of tokens that a verified step is expected to give: the accepted drafts and
// the model's own.
func (s Speculation) Length() float64 {
	length := 1.0
	for i := range s.Tokens {
		length += math.Pow(s.Accept, float64(i+1))
	}
	return length
}

// Drafts count what became of drafts since the start.
type Drafts struct {
	// Steps of a sequence with drafts, the tokens drafted for them, and those that were accepted.
	Steps, Tokens, Accepted int
	// Positions are the accepted tokens by their place in a draft.
	Positions []int
}

func newDraws(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x647261667473)) }

// drafts is how many tokens are drafted for a sequence: what the budget and the longest context
// leave room for.
func (e *Engine) drafts(s *sequence, budget int) int {
	return max(0, min(e.cfg.Speculation.Tokens, budget, e.cfg.MaxModelLen-s.total()))
}

// verify emits the drafts that the model accepts behind its own token. All accepted ones count,
// also those beyond the end of the answer, as engines count them.
func (e *Engine) verify(s *sequence, drafts int, events []Event) []Event {
	if drafts == 0 {
		return events
	}
	c := &e.stats.Drafts
	if c.Positions == nil {
		c.Positions = make([]int, e.cfg.Speculation.Tokens)
	}
	c.Steps++
	c.Tokens += drafts
	for i := range drafts {
		if e.draws.Float64() >= e.cfg.Speculation.Accept {
			break
		}
		c.Accepted++
		c.Positions[i]++
		if s.produced < s.req.Output {
			s.computed++
			events = append(events, e.emit(s))
		}
	}
	return events
}

// draftTime is what the drafting of a step takes: a pass through the layers that draft for each
// token, one after the other, with their part of the weights and of the fixed cost of a step.
func (c Config) draftTime(plan []slice) time.Duration {
	if c.Speculation.Layers == 0 {
		return 0
	}
	var w work
	passes := 0
	for _, sl := range plan {
		if sl.drafts > 0 {
			w.addDecode(sl.seq.computed, 1)
			passes = max(passes, sl.drafts)
		}
	}
	if passes == 0 {
		return 0
	}
	share := float64(c.Speculation.Layers) / float64(max(c.Shape.Layers, 1))
	return time.Duration(float64(passes) * share * float64(c.stepTime(w)))
}
