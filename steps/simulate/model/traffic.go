package model

import (
	"errors"
	"time"
)

// Traffic is what the clients of a run send.
type Traffic struct {
	// Request makes the request of an index; its At is not used. An error ends the run.
	Request func(i int) (Arrival, error)
	// Times at which requests are planned, ascending, from the start of the run; nil for a closed loop.
	Times []time.Duration
	// Limit is how many requests may be in flight in an open loop (0 for no bound), or the
	// number of users of a closed one.
	Limit int
	// Requests and Duration end a closed loop, what comes first; 0 is no bound. Think is how
	// long a user waits after an answer.
	Requests        int
	Duration, Think time.Duration
	// Timeout ends a single request; 0 means none.
	Timeout time.Duration
	// After are the requests that must have ended before one is sent, and how long it waits after
	// the last of them; nil where none waits. Times say nothing of those that wait.
	After func(i int) (requests []int, wait time.Duration)
	// Session, where it is not nil, are the requests of a closed loop's session by its number,
	// and how long after its begin those begin that wait for none; without requests there are no
	// more. Each user has one after the other.
	Session func(number int) (requests []int, at []time.Duration)
}

// Served is what became of a request. Times count from the start of the run.
type Served struct {
	Timeline
	Index int
	// Planned is -1 in a closed loop, and of requests that waited for others. Sent is later than it where requests waited for a
	// place among those in flight; Timeline.Arrival is Sent.
	Planned, Sent time.Duration
	Input, Output int
	// Done is the time of the last token, or of the failure.
	Done time.Duration
	// Err is why there is no answer: ErrTooLong or ErrRequestTimeout.
	Err error
}

// ErrRequestTimeout is a request that took longer than its client waits.
var ErrRequestTimeout = errors.New("the request took longer than its timeout")

// fleetRequest is a request on its way.
type fleetRequest struct {
	id, index       int
	prefill, decode *fleetNode // prefill is nil where one server does both
	input, output   int
	ids             []int
	// there where the decode server gets its KV from, wanted by it.
	there, wanted bool
	over          bool
}

// fleetRun is one run of traffic.
type fleetRun struct {
	fleet  *Fleet
	t      Traffic
	start  time.Duration
	served []Served
	byID   map[int]*fleetRequest
	// waiting requests are planned and have no place among those in flight.
	waiting  []int
	inFlight int
	open     int // requests or users that will still do something
	waits    *waits
}

// begin plans a run from now on.
func (f *Fleet) begin(t Traffic) {
	r := &fleetRun{fleet: f, t: t, start: f.now, byID: map[int]*fleetRequest{}, waits: newWaits(t)}
	f.run, f.err = r, nil
	for _, n := range f.servers {
		n.notes = nil
	}
	if t.Times == nil {
		r.open = t.Limit
		for range t.Limit {
			f.at(f.now, r.user)
		}
	} else {
		r.open = len(t.Times)
		r.served = make([]Served, len(t.Times))
		r.waits.add(len(t.Times), 0, nil)
		for i, at := range t.Times {
			if r.served[i].Index = i; r.waits.on(i) {
				r.served[i].Planned = -1
				continue
			}
			f.at(r.start+at, func() {
				r.served[i].Planned = f.now - r.start
				r.due(i)
			})
		}
	}
	if f.spec.Every > 0 {
		f.unless(f.now+f.spec.Every, r.note)
	}
}

// note writes down what the servers hold, until the run is over.
func (r *fleetRun) note() {
	for _, n := range r.fleet.servers {
		n.notes = append(n.notes, n.note(r.fleet.now))
	}
	r.fleet.unless(r.fleet.now+r.fleet.spec.Every, r.note)
}

// due sends a request of an open loop, or lets it wait for a place.
func (r *fleetRun) due(i int) {
	if r.t.Limit > 0 && r.inFlight >= r.t.Limit {
		r.waiting = append(r.waiting, i)
		return
	}
	r.send(i)
}

// user sends the next request of a closed loop, or leaves.
func (r *fleetRun) user() {
	if r.t.Session != nil {
		r.session()
		return
	}
	n := len(r.served)
	if r.t.Requests > 0 && n >= r.t.Requests || r.t.Duration > 0 && r.fleet.now-r.start >= r.t.Duration {
		r.open--
		return
	}
	r.served = append(r.served, Served{Index: n, Planned: -1})
	r.send(n)
}

// send gives the request at a place in what is served to its servers.
func (r *fleetRun) send(at int) {
	f := r.fleet
	s := &r.served[at]
	a, err := r.t.Request(s.Index)
	if err != nil {
		f.err = err
		return
	}
	q := &fleetRequest{id: f.submitted, index: at, input: a.Input, output: a.Output, ids: a.Prompt}
	p, d := f.spec.Pick(f.submitted)
	f.submitted++
	q.decode = f.decode[d]
	r.byID[q.id] = q
	r.inFlight++
	s.Sent, s.Input, s.Output = f.now-r.start, a.Input, a.Output
	s.Arrival, s.Tokens = s.Sent, make([]time.Duration, 0, max(a.Output, 0))
	if r.t.Timeout > 0 {
		f.unless(f.now+r.t.Timeout, func() { r.giveUp(q) })
	}
	if !f.pairs() {
		f.at(f.now+f.spec.Hop, func() { f.submit(q.decode, q, Request{Input: q.input, Output: q.output, IDs: q.ids}) })
		return
	}
	q.prefill = f.prefill[p]
	hold := q.decode.node.Transfer.Way == Fetched
	f.at(f.now+f.spec.Hop, func() {
		f.submit(q.prefill, q, Request{Input: q.input, Output: 1, IDs: q.ids, Hold: hold})
		if f.spec.Concurrent {
			f.handOn(q)
		}
	})
}

// token notes one that a server has made.
func (r *fleetRun) token(q *fleetRequest, ev Event) {
	s := &r.served[q.index]
	s.Tokens, s.Cached = append(s.Tokens, r.fleet.now-r.start), ev.Cached
	if ev.Last {
		r.end(q, nil)
	}
}

// refuse ends a request that a server does not take.
func (r *fleetRun) refuse(q *fleetRequest, err error) {
	if !errors.Is(err, ErrTooLong) {
		r.fleet.err = err
		return
	}
	r.end(q, err)
}

// giveUp ends a request whose client waits no longer.
func (r *fleetRun) giveUp(q *fleetRequest) {
	if !q.over {
		r.end(q, ErrRequestTimeout)
	}
}

// end takes a request from its servers and lets the next one go.
func (r *fleetRun) end(q *fleetRequest, err error) {
	s := &r.served[q.index]
	s.Done, s.Err = r.fleet.now-r.start, err
	q.over = true
	q.ids = nil
	if err != nil {
		for _, n := range []*fleetNode{q.prefill, q.decode} {
			if n != nil && n.Abort(q.id) {
				r.fleet.at(r.fleet.now, func() { r.fleet.kick(n) }) // others have room now
			}
		}
	}
	r.inFlight--
	r.release(s.Index)
	if r.t.Session != nil {
		return
	}
	if r.t.Times == nil {
		r.fleet.at(r.fleet.now+r.t.Think, r.user)
		return
	}
	r.open--
	if len(r.waiting) > 0 {
		next := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.send(next)
	}
}

// Arrival is one request of a replay.
type Arrival struct {
	At            time.Duration
	Input, Output int
	// Prompt holds the token ids (length Input); nil means content that no other request shares.
	Prompt []int
}

// Timeline is what happened to one arrival, in model time since the start.
type Timeline struct {
	Arrival time.Duration
	// Tokens holds the time of each output token.
	Tokens []time.Duration
	// Cached prompt tokens that came from the prefix cache.
	Cached int
}
