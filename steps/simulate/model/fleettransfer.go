package model

import "time"

// Transfer says how a server's KV travels, as far as the time that it takes goes.
type Transfer struct {
	Way  Way
	Link Link
	// Recompute makes a decode server throw away what it gets and compute prompts again.
	Recompute bool
}

// Way is how the KV of one prompt gets from the server that computes it to the one that
// decodes.
type Way int

// The ways of KV.
const (
	// Computed: none moves, every server computes its own.
	Computed Way = iota
	// Fetched by the decode server once it has room, which keeps the blocks on the prefill
	// server until it has them: NIXL, Mooncake, SGLang.
	Fetched
	// Pushed by the prefill server when the prompt is computed: P2pNccl.
	Pushed
	// Delivered is pushed, and the prefill server's answer waits for it: LMCache.
	Delivered
	// Stored is written to a place that both reach, which the prefill server's answer waits
	// for, and read from there: stores and shared folders.
	Stored
	// Given needs no time: the engines' own dummies.
	Given
	// Blocking makes steps wait, as the lookup buffers of vLLM before V1 do, see Config.BlockingTransfer.
	Blocking
)

// remote reports whether a decode server waits for KV instead of computing it.
func (t Transfer) remote() bool { return t.Way != Computed }

// prefilled goes on with a prompt that is computed.
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

// handOn gives a request to its decode server.
func (f *Fleet) handOn(q *fleetRequest) {
	f.submit(q.decode, q, Request{Input: q.input, Output: q.output, IDs: q.ids, Remote: q.decode.node.Transfer.remote()})
}

// fetch lets the KV of a request travel once it is computed and the decode server has
// room for it.
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
		// Both sides' devices carry it, each with its own other transfers.
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

// bytes of KV of n tokens.
func (f *Fleet) bytes(n *fleetNode, tokens int) float64 {
	return float64(tokens) * n.cfg.Shape.KVBytesPerToken
}

// blockingPair is the lookup buffer of vLLM before V1. A decode step asks for the KV of its
// new prompts one after the other and waits. A transfer that is asked for once the kernels
// of a prefill step are queued waits for the step, since its copies go behind them in the
// same CUDA stream; otherwise the step stands while the transfer goes on, since tensors are
// serialized in its own process, one thread at a time.
type blockingPair struct {
	fleet           *Fleet
	prefill, decode *fleetNode
	// transferEnd is when the last transfer ends.
	transferEnd time.Duration
	// prefillStart and prefillEnd are those of the prefill server's step; transfer waits for its end.
	prefillStart, prefillEnd time.Duration
	transfer                 func()
}

// begin lets a step's time go by.
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

// endPrefill ends the prefill server's step, unless transfers have put the end off.
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
