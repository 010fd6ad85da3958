package model

import (
	"math/rand/v2"
	"time"
)

// Speculation describes speculative decoding: tokens are drafted and the model verifies them in one
// step. It accepts the drafts up to the first that it would not have chosen, and adds one token.
type Speculation struct {
	// Tokens that are drafted for each sequence and step; 0 for none.
	Tokens int
	// Accept is the probability that a draft is accepted if all drafts before it are.
	Accept float64
	// Layers of the head or model that drafts, which runs once for each token; 0 for drafts from
	// the previous text, which take no time.
	Layers int
}

// Drafts counts drafts and their results since the start.
type Drafts struct {
	// Steps counts steps of a sequence with drafts, Tokens the drafted tokens, and Accepted the
	// accepted ones.
	Steps, Tokens, Accepted int
	// Positions holds the number of accepted tokens for each position of a draft.
	Positions []int
}

func newDraws(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x647261667473)) }

// drafts returns how many tokens are drafted for a sequence, limited by the budget and the maximum
// length.
func (e *Engine) drafts(s *sequence, budget int) int {
	return max(0, min(e.cfg.Speculation.Tokens, budget, e.cfg.MaxModelLen-s.total()))
}

// verify emits the accepted drafts after the model's token. The counters include accepted drafts
// beyond the end of the answer, as in the engines.
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

// draftTime returns the time to draft the tokens of a step: a pass through the drafting layers for
// each token, one after the other, with their share of the weights and of the fixed cost of a step.
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
