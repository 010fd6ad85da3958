package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Fleet is a target in virtual time: one server, servers that take requests in turn, or prefill and
// decode servers with KV transfer. It lives as long as one launch: its clock, noise, drift and
// counters continue across runs.
//
// It is not safe for concurrent use.
type Fleet struct {
	spec FleetSpec
	// servers is the concatenation of prefill and decode.
	servers, prefill, decode []*fleetNode

	now    time.Duration
	queue  moments
	order  int
	events []Event // of the last step, reused to save memory
	// submitted counts the requests that were submitted to servers; it is the source of their IDs.
	submitted int
	run       *fleetRun
	blocking  *blockingPair // only for connectors before V1
	err       error
}

// FleetSpec describes a fleet.
type FleetSpec struct {
	// Prefill servers, empty if every server does both. Decode holds all others.
	Prefill, Decode []Node
	// Concurrent routers send a request to both servers at once; the others wait for the answer of
	// the prefill server.
	Concurrent bool
	// Hop is the time that a router takes to forward a request or a server's answer.
	Hop time.Duration
	// Pick returns the servers of the n-th request by their indices; nil uses all in turn.
	Pick func(n int) (prefill, decode int)
	// Every is the interval at which a run records the state of its servers; 0 means never.
	Every time.Duration
}

// Node is one server of a fleet.
type Node struct {
	Config Config
	// Seed of the noise of this launch.
	Seed uint64
	// Transfer describes how KV leaves or reaches the server.
	Transfer Transfer
}

// fleetNode is a server with its state; it runs one step at a time.
type fleetNode struct {
	*Engine
	node  Node
	busy  bool
	nics  *NICQueue
	moved Moved
	notes []Note
}

// Moved is the amount of KV that a server has received from others, and the time that it took.
type Moved struct {
	Bytes float64
	Time  time.Duration
}

// Note is the state of a server at a time of the fleet's clock.
type Note struct {
	At    time.Duration
	Stats Stats
	Moved Moved
	// Joules that its devices have used.
	Joules float64
}

// errBlocking reports a fleet that the connectors before V1 do not support.
var errBlocking = errors.New("connectors before V1 join exactly one prefill and one decode server")

// NewFleet returns a fleet of idle servers.
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

// pairs reports whether prefill and decode run on different servers.
func (f *Fleet) pairs() bool { return len(f.prefill) > 0 }

// Now returns the time since the fleet's launch.
func (f *Fleet) Now() time.Duration { return f.now }

// Note returns the current state of a server. Servers are numbered from the first prefill server,
// then the others follow.
func (f *Fleet) Note(server int) Note { return f.servers[server].note(f.now) }

// Notes returns the states of a server during the last run.
func (f *Fleet) Notes(server int) []Note { return f.servers[server].notes }

// Record records the steps of a server that begin in a span of the fleet's time, for Recorded.
func (f *Fleet) Record(server int, from, to time.Duration) { f.servers[server].Record(from, to) }

// Recorded returns the recorded steps of a server, and ends the recording.
func (f *Fleet) Recorded(server int) []RecordedStep { return f.servers[server].Recorded() }

func (n *fleetNode) note(now time.Duration) Note {
	s := n.Stats()
	return Note{now, s, n.moved, n.cfg.Joules(now, s.Busy)}
}

// ResetPrefixCaches clears the prefix caches of all servers.
func (f *Fleet) ResetPrefixCaches() {
	for _, n := range f.servers {
		n.ResetPrefixCache()
	}
}

// Serve serves all requests of a run in virtual time until the last answer is complete.
func (f *Fleet) Serve(ctx context.Context, t Traffic) error {
	f.begin(t)
	for n := 0; len(f.queue) > 0; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		next := f.queue.pop()
		if next.idle && f.run.scheduler.Over() {
			continue
		}
		f.now = next.at
		next.do()
		if f.err != nil {
			return fmt.Errorf("virtual time: %w", f.err)
		}
	}
	if !f.run.scheduler.Over() {
		return fmt.Errorf("virtual time: %w", errStuck)
	}
	return nil
}

// errStuck reports a fleet without pending events before all requests are answered.
var errStuck = errors.New("the servers wait for each other, and some requests get no answer")

func (f *Fleet) at(t time.Duration, do func()) {
	f.order++
	f.queue.push(moment{at: t, order: f.order, do: do})
}

// unless schedules do at t, but skips it if the run is over before.
func (f *Fleet) unless(t time.Duration, do func()) {
	f.order++
	f.queue.push(moment{at: t, order: f.order, do: do, idle: true})
}

// submit submits a request to a server, whose scheduler gets it after the front end's time. It
// fails the request if the server would reject it as too long.
func (f *Fleet) submit(n *fleetNode, q *fleetRequest, r Request) {
	if q.over {
		return // the client has given up
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

// finish ends a server's step: prompts continue on the decode server, and tokens are sent to the
// client.
func (f *Fleet) finish(n *fleetNode) {
	n.busy = false
	f.events = n.End(f.events[:0])
	for _, ev := range f.events {
		q := f.run.byID[ev.ID]
		switch {
		case q == nil || q.over:
			n.Release(ev.ID) // the client has given up
		case n == q.prefill:
			f.prefilled(q)
		default:
			f.run.token(q, ev)
		}
	}
	f.kick(n)
}

// moment is an event at a time; events of the same time retain their order.
type moment struct {
	at    time.Duration
	order int
	do    func()
	// idle events are skipped once the run is over.
	idle bool
}

// before reports whether m happens before o.
func (m *moment) before(o *moment) bool { return m.at < o.at || m.at == o.at && m.order < o.order }

// moments is a binary heap with the next moment first. container/heap would allocate for each moment, and a run of a million
// requests has tens of millions.
type moments []moment

func (m *moments) push(x moment) {
	*m = append(*m, x)
	list, i := *m, len(*m)-1
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(&list[parent]) {
			break
		}
		list[i], i = list[parent], parent
	}
	list[i] = x
}

func (m *moments) pop() moment {
	list := *m
	first, n := list[0], len(list)-1
	x := list[n]
	list[n] = moment{} // release the closure
	if list = list[:n]; n > 0 {
		list.sink(x)
	}
	*m = list
	return first
}

// sink puts x in the place of the first moment, and restores the order.
func (m moments) sink(x moment) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(m) {
			break
		}
		if right := child + 1; right < len(m) && m[right].before(&m[child]) {
			child = right
		}
		if !m[child].before(&x) {
			break
		}
		m[i], i = m[child], child
	}
	m[i] = x
}
