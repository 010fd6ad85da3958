package model

import (
	"slices"
	"time"
)

// admitRemote starts the first waiting sequence, whose KV comes from another server. It returns
// false if there is no room for its blocks. The prompt does not count against the budget, because
// it is not computed here.
func (e *Engine) admitRemote(s *sequence) bool {
	hits := e.pool.match(s.hashes[:min(len(s.hashes), (s.total()-1)/e.cfg.BlockSize)])
	fresh := ceilDiv(s.total(), e.cfg.BlockSize) - len(hits)
	if e.pool.free-e.pool.idle(hits)-fresh < e.cfg.watermarkBlocks() {
		return false
	}
	e.allot(s, hits, fresh)
	e.stats.ExternalQueries += s.req.Input - s.computed
	s.req.Remote = false // only once: after a preemption all tokens are computed here
	if !e.cfg.BlockingTransfer {
		e.fetching = append(e.fetching, s)
		e.wanted = append(e.wanted, s.req.ID)
		return true
	}
	e.running = append(e.running, s)
	e.add(slice{seq: s, tokens: s.total() - s.computed, prefill: true, fetch: true})
	return true
}

// admitFetched admits sequences whose KV has arrived to the batch. They hold blocks already, so
// they precede those without blocks; otherwise both could block each other.
func (e *Engine) admitFetched(budget int) int {
	used := 0
	for len(e.fetched) > 0 && e.fetched[0].ready <= e.now && len(e.running) < e.cfg.MaxSeqs && used < budget {
		s := e.fetched[0]
		n := s.total() - s.computed
		if n > budget-used {
			if !e.cfg.Chunked {
				break
			}
			n = budget - used
		}
		e.fetched = e.fetched[1:]
		e.running = append(e.running, s)
		// The model handles a single token as a decode: its step uses the CUDA graph.
		e.add(slice{seq: s, tokens: n, prefill: n > 1})
		used += n
	}
	return used
}

// TakeFetches returns the requests that have got their blocks since the last call and whose KV must
// be fetched now. Arrived must follow for each, unless it is aborted.
func (e *Engine) TakeFetches() []int {
	ids := e.wanted
	e.wanted = nil
	return ids
}

// Missing returns the number of prompt tokens whose KV a fetching request waits for; 0 if the
// engine does not have it.
func (e *Engine) Missing(id int) int {
	for _, queue := range [][]*sequence{e.fetching, e.running} {
		if i := slices.IndexFunc(queue, func(s *sequence) bool { return s.req.ID == id }); i >= 0 {
			return queue[i].req.Input - queue[i].computed
		}
	}
	return 0
}

// Arrived records that the KV of the next tokens of a fetching request arrives at the given time.
// Missing tokens are computed here, and always the last one: its output is the next token.
func (e *Engine) Arrived(at time.Duration, id, tokens int) {
	i := slices.IndexFunc(e.fetching, func(s *sequence) bool { return s.req.ID == id })
	if i < 0 {
		return
	}
	s := e.fetching[i]
	e.fetching = slices.Delete(e.fetching, i, i+1)
	tokens = min(max(tokens, 0), s.req.Input-s.computed)
	e.stats.ExternalHits += tokens
	s.computed = min(s.computed+tokens, s.total()-1)
	e.publish(s)
	s.ready = at
	e.fetched = insertReady(e.fetched, s)
}

// Fetched sets how many tokens of each of Step.Fetches arrived. If one is incomplete, the model
// runs over all prompts of the step (bypass_model_exec is all or nothing in vLLM before V1).
// Fetched returns the step with its new end.
func (e *Engine) Fetched(step Step, tokens map[int]int) Step {
	var w work
	complete := true
	for i, sl := range e.plan {
		if !sl.fetch {
			continue
		}
		s := sl.seq
		got := min(max(tokens[s.req.ID], 0), sl.tokens)
		e.plan[i].fetch = false
		e.stats.ExternalHits += got
		complete = complete && got == sl.tokens
		w.addPrefill(s.computed, sl.tokens)
	}
	if complete {
		return step
	}
	d := e.cfg.stepTime(w)
	step.PrefillTokens += w.prefillTokens
	step.End += seconds(d.Seconds() * e.noise.factor(step.End))
	return step
}

// Release frees the KV of a complete request that was held. It returns false if there is none.
func (e *Engine) Release(id int) bool {
	i := slices.IndexFunc(e.held, func(s *sequence) bool { return s.req.ID == id })
	if i < 0 {
		return false
	}
	e.pool.release(e.held[i].blocks)
	e.held = slices.Delete(e.held, i, i+1)
	return true
}
