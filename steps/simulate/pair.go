package simulate

import (
	"container/heap"
	"fmt"
	"time"
)

// Pair is a prefill and a decode server behind a router, run in virtual time. The decode
// server's BlockingTransfer says which generation of connectors joins them:
//
//   - with it, the lookup buffer of vLLM before V1. A decode step asks for the KV of its
//     new prompts one after the other and waits. A transfer that is asked for once the
//     kernels of a prefill step are queued waits for the step, since its copies go behind
//     them in the same CUDA stream; otherwise the step stands while the transfer goes on,
//     since tensors are serialized in its own process, one thread at a time.
//   - without it, transfers go beside the steps of both, and share the link.
type Pair struct {
	Prefill, Decode Config
	Link            Link
	// Hop is the time that the router takes to pass a request, or a server's answer, on.
	Hop time.Duration
}

// Replay serves all arrivals in virtual time: each goes to the prefill server for one
// token and then to the decode server for all. The timelines are those of the client.
func (p Pair) Replay(arrivals []Arrival, launchSeed uint64) ([]Timeline, error) {
	r, err := p.start(arrivals, launchSeed)
	if err != nil {
		return nil, err
	}
	for len(r.queue) > 0 {
		next := heap.Pop(&r.queue).(moment)
		r.now = next.at
		next.do()
		if r.err != nil {
			return nil, fmt.Errorf("replay: %w", r.err)
		}
	}
	return r.timelines, nil
}

func (p Pair) start(arrivals []Arrival, launchSeed uint64) (*pairRun, error) {
	prefill, err := NewEngine(p.Prefill, launchSeed)
	if err != nil {
		return nil, err
	}
	decode, err := NewEngine(p.Decode, launchSeed+1)
	if err != nil {
		return nil, err
	}
	r := &pairRun{pair: p, arrivals: arrivals, timelines: make([]Timeline, len(arrivals)), nics: newNICQueue(p.Link)}
	r.prefill, r.decode = &pairEngine{Engine: prefill}, &pairEngine{Engine: decode}
	for i, a := range arrivals {
		r.timelines[i] = Timeline{Arrival: a.At, Tokens: make([]time.Duration, 0, max(a.Output, 0))}
		r.at(a.At+p.Hop, func() {
			r.submit(r.prefill, Request{ID: i, Input: a.Input, Output: 1, IDs: a.Prompt, Hold: !p.Decode.BlockingTransfer})
		})
	}
	return r, nil
}

// pairRun is the state of a replay: a queue of what happens when.
type pairRun struct {
	pair            Pair
	arrivals        []Arrival
	timelines       []Timeline
	now             time.Duration
	queue           moments
	order           int
	prefill, decode *pairEngine
	nics            *nicQueue
	// transferEnd is when the last blocking transfer ends.
	transferEnd time.Duration
	// prefillStart and prefillEnd are those of the prefill server's step; transfer waits for its end.
	prefillStart, prefillEnd time.Duration
	transfer                 func()
	err                      error
}

// pairEngine is an engine that works on one step at a time.
type pairEngine struct {
	*Engine
	busy bool
}

func (r *pairRun) at(t time.Duration, do func()) {
	r.order++
	heap.Push(&r.queue, moment{at: t, order: r.order, do: do})
}

func (r *pairRun) submit(e *pairEngine, q Request) {
	if err := e.Submit(r.now, q); err != nil {
		r.err = err
		return
	}
	r.at(r.now+e.cfg.Profile.Frontend, func() { r.kick(e) })
}

// kick begins a step if the engine is idle and has work.
func (r *pairRun) kick(e *pairEngine) {
	if e.busy {
		return
	}
	step, busy := e.Begin(r.now)
	for _, id := range e.TakeFetches() {
		end := r.nics.reserve(r.now, float64(e.Missing(id))*e.cfg.Shape.KVBytesPerToken)
		r.at(end, func() {
			e.Arrived(r.now, id, r.arrivals[id].Input)
			r.prefill.Release(id)
			r.kick(e)
			r.kick(r.prefill)
		})
	}
	if !busy {
		return
	}
	e.busy = true
	switch {
	case !r.pair.Decode.BlockingTransfer:
		r.at(step.End, func() { r.finish(e) })
	case e == r.prefill:
		step = step.shift(r.transferEnd)
		r.prefillStart, r.prefillEnd = step.Start, step.End
		r.at(r.prefillEnd, r.endPrefill)
	default:
		r.fetch(step, step.Fetches)
	}
}

// fetch makes the transfers of a decode step, one by one, and then ends it.
func (r *pairRun) fetch(step Step, ids []int) {
	if len(ids) == 0 {
		tokens := make(map[int]int, len(step.Fetches))
		for _, id := range step.Fetches {
			tokens[id] = r.arrivals[id].Input
		}
		if len(tokens) > 0 {
			step = r.decode.Fetched(step.shift(r.now), tokens)
		}
		r.at(step.End, func() { r.finish(r.decode) })
		return
	}
	staging := r.prefill.cfg.Profile.Staging
	begin := func() {
		shape := r.decode.cfg.Shape
		bytes := float64(r.decode.Missing(ids[0])) * (shape.KVBytesPerToken + shape.hiddenBytes())
		r.transferEnd = r.nics.reserve(r.now, bytes) + staging.time(bytes)
		if r.prefill.busy {
			r.prefillEnd += r.transferEnd - r.now
		}
		r.at(r.transferEnd, func() { r.fetch(step, ids[1:]) })
	}
	if r.prefill.busy && r.now-r.prefillStart >= staging.Launch {
		r.transfer = begin
		return
	}
	begin()
}

// endPrefill ends the prefill server's step, unless transfers have put the end off.
func (r *pairRun) endPrefill() {
	if r.now < r.prefillEnd {
		r.at(r.prefillEnd, r.endPrefill)
		return
	}
	r.prefill.busy = false
	if begin := r.transfer; begin != nil {
		r.transfer = nil
		begin() // before the next step
	}
	r.finish(r.prefill)
}

// finish ends an engine's step: prompts go on to the decode server, tokens to the client.
func (r *pairRun) finish(e *pairEngine) {
	e.busy = false
	for _, ev := range e.End(nil) {
		if e == r.prefill {
			a := r.arrivals[ev.ID]
			r.at(r.now+r.pair.Hop, func() {
				r.submit(r.decode, Request{ID: ev.ID, Input: a.Input, Output: a.Output, IDs: a.Prompt, Remote: true})
			})
			continue
		}
		t := &r.timelines[ev.ID]
		t.Tokens, t.Cached = append(t.Tokens, r.now), ev.Cached
	}
	r.kick(e)
}

// moment is something that happens at a time; those of the same time keep their order.
type moment struct {
	at    time.Duration
	order int
	do    func()
}

type moments []moment

func (m moments) Len() int { return len(m) }
func (m moments) Less(i, j int) bool {
	return m[i].at < m[j].at || m[i].at == m[j].at && m[i].order < m[j].order
}
func (m moments) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any)   { *m = append(*m, x.(moment)) }
func (m *moments) Pop() any {
	old := *m
	last := old[len(old)-1]
	*m = old[:len(old)-1]
	return last
}
