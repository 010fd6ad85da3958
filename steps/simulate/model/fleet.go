package model

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Fleet is a target in virtual time: one server, servers that take requests in turn, or
// prefill and decode servers with KV that moves between them. It lives as long as one
// launch: its clock goes on from run to run, and so do noise, drift and counters.
//
// It is not safe for concurrent use.
type Fleet struct {
	spec FleetSpec
	// servers are all of them; prefill and decode are its two parts, in this order.
	servers, prefill, decode []*fleetNode

	now    time.Duration
	queue  moments
	order  int
	events []Event // of the last step, kept for its memory
	// submitted counts the requests that were given to servers, and names them.
	submitted int
	run       *fleetRun
	blocking  *blockingPair // nil but for connectors before V1
	err       error
}

// FleetSpec says what a fleet consists of.
type FleetSpec struct {
	// Prefill servers, none where every server does both. Decode are all others.
	Prefill, Decode []Node
	// Concurrent routers send a request to both servers at once; the others wait for the
	// answer of the prefill server.
	Concurrent bool
	// Hop is the time that a router takes to pass a request, or a server's answer, on.
	Hop time.Duration
	// Pick chooses the servers of the n-th request by their indices; nil takes all in turn.
	Pick func(n int) (prefill, decode int)
	// Every so often a run notes what its servers hold; 0 means never.
	Every time.Duration
}

// Node is one server of a fleet.
type Node struct {
	Config Config
	// Seed draws the noise of this launch.
	Seed uint64
	// Transfer says how KV leaves or reaches it.
	Transfer Transfer
}

// fleetNode is a server that works on one step at a time.
type fleetNode struct {
	*Engine
	node  Node
	busy  bool
	nics  *NICQueue
	moved Moved
	notes []Note
}

// Moved is the KV that a server has got from others.
type Moved struct {
	Bytes float64
	Time  time.Duration
}

// Note is what a server holds at a moment of the fleet's time.
type Note struct {
	At    time.Duration
	Stats Stats
	Moved Moved
	// Joules that its devices have used.
	Joules float64
}

// errBlocking is a fleet that the connectors before V1 do not have.
var errBlocking = errors.New("connectors before V1 join exactly one prefill and one decode server")

// NewFleet returns idle servers.
func NewFleet(spec FleetSpec) (*Fleet, error) {
	f := &Fleet{spec: spec}
	if len(spec.Decode) == 0 {
		return nil, errors.New("a fleet without a server that answers")
	}
	if f.spec.Pick == nil {
		f.spec.Pick = func(n int) (int, int) { return n % max(len(spec.Prefill), 1), n % len(spec.Decode) }
	}
	var err error
	if f.servers, err = newFleetNodes(slices.Concat(spec.Prefill, spec.Decode)); err != nil {
		return nil, err
	}
	f.prefill, f.decode = f.servers[:len(spec.Prefill)], f.servers[len(spec.Prefill):]
	if f.pairs() && f.decode[0].node.Config.BlockingTransfer {
		if len(f.prefill) != 1 || len(f.decode) != 1 {
			return nil, errBlocking
		}
		f.blocking = &blockingPair{fleet: f, prefill: f.prefill[0], decode: f.decode[0]}
	}
	return f, nil
}

func newFleetNodes(list []Node) ([]*fleetNode, error) {
	out := make([]*fleetNode, len(list))
	for i, n := range list {
		e, err := NewEngine(n.Config, n.Seed)
		if err != nil {
			return nil, err
		}
		out[i] = &fleetNode{Engine: e, node: n, nics: NewNICQueue(n.Transfer.Link)}
	}
	return out, nil
}

// pairs reports whether prompts are computed on other servers than their answers.
func (f *Fleet) pairs() bool { return len(f.prefill) > 0 }

// Now is the fleet's time, from its launch on.
func (f *Fleet) Now() time.Duration { return f.now }

// Note is what a server has done since the launch and holds now. Servers count from the
// first prefill server on, then come the others.
func (f *Fleet) Note(server int) Note { return f.servers[server].note(f.now) }

// Notes is what a server held in the course of the last run.
func (f *Fleet) Notes(server int) []Note { return f.servers[server].notes }

// Record keeps the steps of a server that begin in a span of the fleet's time, for Recorded.
func (f *Fleet) Record(server int, from, to time.Duration) { f.servers[server].Record(from, to) }

// Recorded takes the steps of a server that were recorded.
func (f *Fleet) Recorded(server int) []RecordedStep { return f.servers[server].Recorded() }

func (n *fleetNode) note(now time.Duration) Note {
	s := n.Stats()
	return Note{now, s, n.moved, n.cfg.Joules(now, s.Busy)}
}

// ResetPrefixCaches forgets what the servers have cached.
func (f *Fleet) ResetPrefixCaches() {
	for _, n := range f.servers {
		n.ResetPrefixCache()
	}
}

// Serve serves all requests of a run in virtual time, and is over when the last answer is.
// The times of what it returns count from the run's start, in the order of the requests.
func (f *Fleet) Serve(ctx context.Context, t Traffic) ([]Served, error) {
	f.begin(t)
	for n := 0; len(f.queue) > 0; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		next := heap.Pop(&f.queue).(moment)
		if next.idle && f.run.scheduler.Over() {
			continue
		}
		f.now = next.at
		next.do()
		if f.err != nil {
			return nil, fmt.Errorf("virtual time: %w", f.err)
		}
	}
	if !f.run.scheduler.Over() {
		return nil, fmt.Errorf("virtual time: %w", errStuck)
	}
	return f.run.served, nil
}

// errStuck is a fleet that has nothing left to do and has not answered everything.
var errStuck = errors.New("the servers wait for each other, and some requests get no answer")

func (f *Fleet) at(t time.Duration, do func()) {
	f.order++
	heap.Push(&f.queue, moment{at: t, order: f.order, do: do})
}

// unless does something at a time if the run is not over before.
func (f *Fleet) unless(t time.Duration, do func()) {
	f.order++
	heap.Push(&f.queue, moment{at: t, order: f.order, do: do, idle: true})
}

// submit hands a request to a server, whose scheduler sees it after the front end's time.
// One that does not fit is refused, as the server would.
func (f *Fleet) submit(n *fleetNode, q *fleetRequest, r Request) {
	if q.over {
		return // its client has given up
	}
	r.ID = q.id
	if err := n.Submit(f.now, r); err != nil {
		f.run.refuse(q, err)
		return
	}
	f.at(f.now+n.cfg.Profile.Frontend, func() { f.kick(n) })
}

// kick begins a step if the server is idle and has work.
func (f *Fleet) kick(n *fleetNode) {
	if n.busy {
		return
	}
	step, busy := n.Begin(f.now)
	for _, id := range n.TakeFetches() {
		q := f.run.byID[id]
		q.wanted = true
		f.fetch(q)
	}
	if !busy {
		return
	}
	n.busy = true
	if f.blocking != nil {
		f.blocking.begin(n, step)
		return
	}
	f.at(step.End, func() { f.finish(n) })
}

// finish ends a server's step: prompts go on to the decode server, tokens to the client.
func (f *Fleet) finish(n *fleetNode) {
	n.busy = false
	f.events = n.End(f.events[:0])
	for _, ev := range f.events {
		q := f.run.byID[ev.ID]
		switch {
		case q == nil || q.over:
			n.Release(ev.ID) // its client is gone
		case n == q.prefill:
			f.prefilled(q)
		default:
			f.run.token(q, ev)
		}
	}
	f.kick(n)
}

// moment is something that happens at a time; those of the same time keep their order.
type moment struct {
	at    time.Duration
	order int
	do    func()
	// idle ones are of no interest once the run is over.
	idle bool
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
	old[len(old)-1] = moment{} // keeps nothing alive
	*m = old[:len(old)-1]
	return last
}
