package model

import "slices"

// schedule fills e.plan with the next step. The order within a step follows vLLM. Mixed steps
// contain decodes, then prompts in progress, then new ones (vllm/v1/core/sched/scheduler.py, and
// the chunked scheduler of 0.6). Other steps contain only prompts while there are any
// (_schedule_default of 0.6, get_next_batch_to_run of SGLang).
func (e *Engine) schedule() {
	e.plan = e.plan[:0]
	budget := e.cfg.Budget
	if !e.cfg.Mixed {
		budget -= e.continuePrefills(budget)
		e.admit(budget)
		if len(e.plan) == 0 {
			e.continueDecodes(e.cfg.MaxSeqs * (1 + e.cfg.Speculation.Tokens))
		}
		if len(e.plan) == 0 { // see below
			e.admit(budget)
		}
		return
	}
	preempted := e.stats.Preemptions
	budget -= e.continueDecodes(budget)
	budget -= e.continuePrefills(budget)
	// If the last running sequence was preempted in favour of fetching or held KV, the step would
	// be empty although work waits.
	if e.stats.Preemptions == preempted || len(e.plan) == 0 {
		e.admit(budget)
	}
}

// continueDecodes plans one token and the drafts behind it for every decoding sequence, and returns
// their number.
func (e *Engine) continueDecodes(budget int) int {
	used := 0
	for i := 0; i < len(e.running) && used < budget; i++ {
		s := e.running[i]
		if !s.decoding() {
			continue
		}
		drafts := e.drafts(s, budget-used-1)
		if !e.reserve(s, 1+drafts) {
			break // s itself was preempted
		}
		e.add(slice{seq: s, tokens: 1, drafts: drafts})
		used += 1 + drafts
	}
	return used
}

// continuePrefills plans the next chunks of prompts in progress, in order, and returns the number
// of their tokens.
func (e *Engine) continuePrefills(budget int) int {
	used := 0
	for i := 0; i < len(e.running) && used < budget; i++ {
		s := e.running[i]
		if s.planned || s.decoding() {
			continue
		}
		n := min(s.total()-s.computed, budget-used)
		if !e.reserve(s, n) {
			break
		}
		e.add(slice{seq: s, tokens: n, prefill: true})
		used += n
	}
	return used
}

// admit starts waiting requests in order, and stops at the first that does not fit, so that none is
// overtaken.
func (e *Engine) admit(budget int) {
	budget -= e.admitFetched(budget)
	for len(e.waiting) > 0 && len(e.running) < e.cfg.MaxSeqs && budget > 0 {
		s := e.waiting[0]
		if s.req.Remote {
			if !e.admitRemote(s) {
				return
			}
			continue
		}
		// The last token is always computed: its output is the next token.
		hits := e.pool.match(s.hashes[:min(len(s.hashes), (s.total()-1)/e.cfg.BlockSize)])
		cached := len(hits) * e.cfg.BlockSize
		n := s.total() - cached
		if n > budget {
			if !e.cfg.Chunked {
				return
			}
			n = budget
		}
		fresh := ceilDiv(cached+n, e.cfg.BlockSize) - len(hits)
		// If prompts precede decodes, a prompt that cannot be completed would block them forever,
		// so all of it must fit.
		claim := fresh
		if !e.cfg.Mixed {
			claim = ceilDiv(s.total(), e.cfg.BlockSize) - len(hits)
		}
		if e.pool.free-e.pool.idle(hits)-claim < e.cfg.watermarkBlocks() {
			return
		}
		e.start(s, hits, fresh)
		e.add(slice{seq: s, tokens: n, prefill: true})
		budget -= n
	}
}

// start moves the first waiting sequence to the running ones, with its blocks.
func (e *Engine) start(s *sequence, hits []int32, fresh int) {
	e.allot(s, hits, fresh)
	e.running = append(e.running, s)
}

// allot assigns blocks to the first waiting sequence.
func (e *Engine) allot(s *sequence, hits []int32, fresh int) {
	e.waiting = e.waiting[1:]
	for _, id := range hits {
		e.pool.share(id)
	}
	s.blocks = append(s.blocks[:0], hits...)
	for range fresh {
		s.blocks = append(s.blocks, e.pool.take())
	}
	s.computed = len(hits) * e.cfg.BlockSize
	if s.cached < 0 {
		s.cached = s.computed
		e.stats.PrefixQueries += s.req.Input
		e.stats.PrefixHits += s.cached
		s.waited = max(e.now-s.ready, 0)
		e.stats.Queued++
		e.stats.QueueTime += s.waited
	}
}

// reserve allocates blocks for n more tokens of a running sequence, and preempts the latest
// arrivals if necessary. It returns false if it preempted s itself.
func (e *Engine) reserve(s *sequence, n int) bool {
	need := ceilDiv(s.computed+n, e.cfg.BlockSize) - len(s.blocks)
	for e.pool.free < need {
		victim := e.victim(s)
		e.preempt(victim)
		if victim == s {
			return false
		}
	}
	for range need {
		s.blocks = append(s.blocks, e.pool.take())
	}
	return true
}

// victim returns the latest admitted sequence that is not part of the step, at most s.
func (e *Engine) victim(s *sequence) *sequence {
	for _, v := range slices.Backward(e.running) {
		if v == s || !v.planned {
			return v
		}
	}
	return s
}

// preempt frees all blocks of a sequence and moves it to the front of the queue. Its prompt and
// output so far are computed again when it is admitted.
func (e *Engine) preempt(s *sequence) {
	e.stats.Preemptions++
	e.pool.release(s.blocks)
	s.blocks, s.computed = nil, 0
	e.running = slices.DeleteFunc(e.running, func(r *sequence) bool { return r == s })
	e.waiting = slices.Insert(e.waiting, 0, s)
}

func (e *Engine) add(sl slice) {
	sl.seq.planned = true
	e.plan = append(e.plan, sl)
}
