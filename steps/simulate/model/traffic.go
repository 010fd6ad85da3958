package model

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/servegate/pipeline/steps/traffic"
)

// Traffic describes the requests of a run's clients.
type Traffic struct {
	traffic.Plan
	// Request returns the request of an index; its At is ignored. An error ends the run.
	Request func(i int) (Arrival, error)
	// Ended is called with each request when it ends.
	Ended func(Served)
	// Timeout limits a single request; 0 means none.
	Timeout time.Duration
}

// Served is the result of a request. Times count from the start of the run.
type Served struct {
	Timeline
	Index int
	// Planned is -1 in a closed loop, and for requests that depend on others. Sent is later than
	// Planned if the number of requests in flight was limited; Timeline.Arrival is Sent.
	Planned, Sent time.Duration
	Input         int
	// Done is the time of the last token, or of the failure.
	Done time.Duration
	// Err is the reason of a failure: ErrTooLong or ErrRequestTimeout.
	Err error
}

// ErrRequestTimeout reports that a request took longer than its timeout.
var ErrRequestTimeout = errors.New("the request took longer than its timeout")

// fleetRequest is a request in flight.
type fleetRequest struct {
	id              int
	prefill, decode *fleetNode // prefill is nil if one server does both
	input, output   int
	ids             []int
	// there is true once the decode server's source has the KV, wanted once the decode server has
	// requested it.
	there, wanted bool
	over          bool
	served        Served // until over
}

// fleetRun drives the traffic of one run in the fleet's time.
type fleetRun struct {
	fleet     *Fleet
	t         Traffic
	start     time.Duration
	byID      map[int]*fleetRequest
	scheduler *traffic.Scheduler
}

// begin starts a run now.
func (f *Fleet) begin(t Traffic) {
	r := &fleetRun{fleet: f, t: t, start: f.now, byID: map[int]*fleetRequest{}}
	f.run, f.err = r, nil
	for _, n := range f.servers {
		n.notes = nil
	}
	r.scheduler = traffic.New(t.Plan, r)
	r.scheduler.Start()
	r.arrive(t.Planned())
	if f.spec.Every > 0 {
		f.unless(f.now+f.spec.Every, r.note)
	}
}

// arrive schedules the planned requests one after the other, so that the queue does not hold a million of them. Each keeps
// the place among the events of its time that it would have if all were scheduled now.
func (r *fleetRun) arrive(planned []int) {
	slices.SortStableFunc(planned, func(i, j int) int { return cmp.Compare(r.t.Times[i], r.t.Times[j]) })
	before := r.fleet.order + 1
	r.fleet.order += len(planned)
	var arrival func(k int)
	arrival = func(k int) {
		if k == len(planned) {
			return
		}
		r.fleet.queue.push(moment{at: r.start + r.t.Times[planned[k]], order: before + k, do: func() {
			arrival(k + 1)
			r.scheduler.Due(planned[k])
		}})
	}
	arrival(0)
}

// Now implements traffic.Driver.
func (r *fleetRun) Now() time.Duration { return r.fleet.now - r.start }

// At implements traffic.Driver.
func (r *fleetRun) At(t time.Duration, do func()) { r.fleet.at(r.start+t, do) }

// note records the state of the servers, until the run is over.
func (r *fleetRun) note() {
	for _, n := range r.fleet.servers {
		n.notes = append(n.notes, n.note(r.fleet.now))
	}
	r.fleet.unless(r.fleet.now+r.fleet.spec.Every, r.note)
}

// Send implements traffic.Driver. It submits a request to its servers.
func (r *fleetRun) Send(req traffic.Request) {
	f := r.fleet
	a, err := r.t.Request(req.Index)
	if err != nil {
		f.err = err
		return
	}
	q := &fleetRequest{id: f.submitted, input: a.Input, output: a.Output, ids: a.Prompt}
	sent := f.now - r.start
	q.served = Served{Index: req.Index, Planned: req.Planned, Sent: sent, Input: a.Input}
	q.served.Arrival, q.served.Tokens = sent, make([]time.Duration, 0, max(a.Output, 0))
	p, d := f.spec.Pick(f.submitted)
	f.submitted++
	q.decode = f.decode[d]
	r.byID[q.id] = q
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

// token records a generated token.
func (r *fleetRun) token(q *fleetRequest, ev Event) {
	s := &q.served
	s.Tokens, s.Cached = append(s.Tokens, r.fleet.now-r.start), ev.Cached
	if ev.Last {
		r.end(q, nil)
	}
}

// refuse ends a request that a server rejects.
func (r *fleetRun) refuse(q *fleetRequest, err error) {
	if !errors.Is(err, ErrTooLong) {
		r.fleet.err = err
		return
	}
	r.end(q, err)
}

// giveUp ends a request after its timeout.
func (r *fleetRun) giveUp(q *fleetRequest) {
	if !q.over {
		r.end(q, ErrRequestTimeout)
	}
}

// end removes a request from its servers and starts the next one.
func (r *fleetRun) end(q *fleetRequest, err error) {
	s := q.served
	s.Done, s.Err = r.fleet.now-r.start, err
	q.over, q.ids, q.served = true, nil, Served{}
	r.t.Ended(s)
	if err == nil {
		delete(r.byID, q.id)
		r.scheduler.Ended(s.Index, s.Done)
		return
	}
	for _, n := range []*fleetNode{q.prefill, q.decode} {
		if n != nil && n.Abort(q.id) {
			r.fleet.at(r.fleet.now, func() { r.fleet.kick(n) }) // other requests have room now
		}
	}
	r.scheduler.Ended(s.Index, s.Done)
}

// Arrival is one request of a replay.
type Arrival struct {
	At            time.Duration
	Input, Output int
	// Prompt holds the token IDs (length Input); nil means unique content.
	Prompt []int
}

// Timeline holds the times of one arrival, in model time since the start.
type Timeline struct {
	Arrival time.Duration
	// Tokens holds the time of each output token.
	Tokens []time.Duration
	// Cached is the number of prompt tokens from the prefix cache.
	Cached int
}
