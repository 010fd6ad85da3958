package model

import "time"

// Transfer describes how a server's KV is transferred, as far as it affects time.
type Transfer struct {
	Way  Way
	Link Link
	// Recompute makes a decode server discard the KV that it gets and compute prompts again.
	Recompute bool
}

// Way is the method by which the KV of a prompt reaches the decode server.
type Way int

// The ways to transfer KV.
const (
	// Computed transfers no KV: every server computes the prompts of its requests.
	Computed Way = iota
	// Fetched KV is read by the decode server once it has room. The prefill server retains the
	// blocks until then: NIXL, Mooncake, SGLang.
	Fetched
	// Pushed KV is sent by the prefill server when the prompt is computed: P2pNccl.
	Pushed
	// Delivered KV is pushed, and the prefill server answers only after that: LMCache.
	Delivered
	// Stored KV is written to a shared store before the prefill server answers, and read from
	// there: stores and shared folders.
	Stored
	// Given KV takes no time: the engines' dummy connectors.
	Given
	// Blocking makes steps wait, as the lookup buffers of vLLM before V1 do; see
	// Config.BlockingTransfer.
	Blocking
)

// remote reports whether a decode server waits for KV instead of computing it.
func (t Transfer) remote() bool { return t.Way != Computed }

// prefilled continues a request whose prompt is computed.
func (f *Fleet) prefilled(q *fleetRequest) {
	answer := f.now
	switch q.decode.node.Transfer.Way {
	case Pushed, Delivered, Stored:
		end := q.prefill.nics.Reserve(f.now, f.bytes(q.decode, q.input))
		if q.decode.node.Transfer.Way != Pushed {
			answer = end
		}
		f.at(end, func() {
			q.there = true
			f.fetch(q)
		})
	default:
		q.there = true
		f.fetch(q)
	}
	if !f.spec.Concurrent {
		f.at(answer+f.spec.Hop, func() { f.handOn(q) })
	}
}

// handOn submits a request to its decode server.
func (f *Fleet) handOn(q *fleetRequest) {
	f.submit(q.decode, q, Request{Input: q.input, Output: q.output, IDs: q.ids, Remote: q.decode.node.Transfer.remote()})
}

// fetch transfers the KV of a request once it is computed and the decode server has room for it.
func (f *Fleet) fetch(q *fleetRequest) {
	if !q.wanted || !q.there || q.over {
		return
	}
	t := q.decode.node.Transfer
	missing := q.decode.Missing(q.id)
	bytes, end := f.bytes(q.decode, missing), f.now
	switch {
	case t.Recompute:
	case t.Way == Fetched:
		// The devices of both sides carry it, in addition to other transfers of each.
		end = max(q.prefill.nics.Reserve(f.now, bytes), q.decode.nics.Reserve(f.now, bytes))
	case t.Way == Stored:
		end = q.decode.nics.Reserve(f.now, bytes)
	}
	from := f.now
	f.at(end, func() {
		if t.Recompute {
			missing = 0
		} else if t.Way != Given {
			q.decode.moved.Bytes += bytes
			q.decode.moved.Time += f.now - from
		}
		q.decode.Arrived(f.now, q.id, missing)
		q.prefill.Release(q.id)
		f.kick(q.decode)
		f.kick(q.prefill)
	})
}

// bytes returns the size of n tokens' KV.
func (f *Fleet) bytes(n *fleetNode, tokens int) float64 {
	return float64(tokens) * n.cfg.Shape.KVBytesPerToken
}

// blockingPair models the lookup buffer of vLLM before V1. A decode step requests the KV of its new
// prompts one after the other and waits. If a transfer is requested after the kernels of a prefill
// step were queued, it waits for the step, since its copies follow them in the same CUDA stream.
// Otherwise the step pauses during the transfer, since its process serializes tensors in one thread
// at a time.
type blockingPair struct {
	fleet           *Fleet
	prefill, decode *fleetNode
	// transferEnd is the end of the last transfer.
	transferEnd time.Duration
	// prefillStart and prefillEnd are the times of the prefill server's step; transfer starts after
	// its end.
	prefillStart, prefillEnd time.Duration
	transfer                 func()
}

// begin starts a step of a server.
func (p *blockingPair) begin(n *fleetNode, step Step) {
	if n == p.decode {
		p.fetch(step, step.Fetches)
		return
	}
	step = step.Shift(p.transferEnd)
	p.prefillStart, p.prefillEnd = step.Start, step.End
	p.fleet.at(p.prefillEnd, p.endPrefill)
}

// fetch makes the transfers of a decode step, one by one, and then ends it.
func (p *blockingPair) fetch(step Step, ids []int) {
	f := p.fleet
	if len(ids) == 0 {
		tokens := make(map[int]int, len(step.Fetches))
		for _, id := range step.Fetches {
			tokens[id] = f.run.byID[id].input
			if p.decode.node.Transfer.Recompute {
				tokens[id] = 0
			}
		}
		if len(tokens) > 0 {
			step = p.decode.Fetched(step.Shift(f.now), tokens)
		}
		f.at(step.End, func() { f.finish(p.decode) })
		return
	}
	staging := p.prefill.cfg.Profile.Staging
	begin := func() {
		shape := p.decode.cfg.Shape
		bytes := float64(p.decode.Missing(ids[0])) * (shape.KVBytesPerToken + shape.HiddenBytes())
		if p.decode.node.Transfer.Recompute {
			bytes = 0
		}
		from := f.now
		p.transferEnd = p.prefill.nics.Reserve(f.now, bytes) + staging.Time(bytes)
		if p.prefill.busy {
			p.prefillEnd += p.transferEnd - f.now
		}
		f.at(p.transferEnd, func() {
			p.decode.moved.Bytes += bytes
			p.decode.moved.Time += f.now - from
			p.fetch(step, ids[1:])
		})
	}
	if p.prefill.busy && f.now-p.prefillStart >= staging.Launch {
		p.transfer = begin
		return
	}
	begin()
}

// endPrefill ends the prefill server's step, unless transfers have delayed the end.
func (p *blockingPair) endPrefill() {
	f := p.fleet
	if f.now < p.prefillEnd {
		f.at(p.prefillEnd, p.endPrefill)
		return
	}
	p.prefill.busy = false
	if begin := p.transfer; begin != nil {
		p.transfer = nil
		begin() // before the next step
	}
	f.finish(p.prefill)
}
