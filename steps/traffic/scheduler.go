package traffic

import "time"

// Request is a request to send now.
type Request struct {
	Index int
	// Planned is its time in the schedule, -1 without one.
	Planned time.Duration
	// Due is when the client could send it: its time had come, the requests before it had ended, and it had a place.
	Due time.Duration
}

// Driver executes the decisions of a [Scheduler]. Times count from the start of the run.
type Driver interface {
	Now() time.Duration
	// At calls do at a time. If the time is past, it may call do before it returns.
	At(t time.Duration, do func())
	// Send starts sending a request without waiting for the answer. The driver calls [Scheduler.Ended] when the
	// request has ended.
	Send(r Request)
}

// Scheduler decides when the requests of a plan are sent. It is not safe for concurrent use: its driver makes
// one call after the other.
type Scheduler struct {
	plan   Plan
	driver Driver
	graph  graph
	// waiting holds due requests that exceed the limit in flight.
	waiting  []Request
	inFlight int
	// open counts the requests, or users, that are not finished.
	open int
	// next is the number of the next request, or session, for a user to begin.
	next int
}

// New returns a scheduler that has not started.
func New(p Plan, d Driver) *Scheduler {
	s := &Scheduler{plan: p, driver: d, graph: newGraph(p), open: len(p.Times)}
	for i := range p.Times {
		s.graph.add(i)
	}
	if p.Times == nil {
		s.open = p.Limit
	}
	return s
}

// Start starts the users of a closed loop. The requests of an open loop start with Due.
func (s *Scheduler) Start() {
	if s.plan.Times != nil {
		return
	}
	for range s.plan.Limit {
		s.driver.At(s.driver.Now(), s.user)
	}
}

// Over reports whether everything is finished.
func (s *Scheduler) Over() bool { return s.open == 0 }

// Due records that the planned time of a request has come. The driver calls it for each of [Plan.Planned].
func (s *Scheduler) Due(i int) {
	at := s.plan.Times[i]
	if s.graph.waits[i] != nil {
		s.loosen(i, at)
		return
	}
	s.ready(Request{i, at, at})
}

// Ready reports, before the planned time of a request, whether all its other conditions are met.
func (s *Scheduler) Ready(i int) bool {
	w := s.graph.waits[i]
	return w == nil || w.left == 1 && w.due <= s.plan.Times[i]
}

// Ended records that a request ended at a time. It reports whether it was the last of its session.
func (s *Scheduler) Ended(i int, at time.Duration) (session bool) {
	s.inFlight--
	over := s.release(i, at)
	switch {
	case s.plan.Times == nil && s.plan.Sessions == nil:
		s.driver.At(s.driver.Now()+s.plan.Think, s.user)
	case s.plan.Times != nil:
		s.open--
		if len(s.waiting) > 0 {
			next := s.waiting[0]
			s.waiting = s.waiting[1:]
			next.Due = s.driver.Now()
			s.send(next)
		}
	}
	return over
}

// release frees the requests that waited only for a request, and a user whose session has ended.
func (s *Scheduler) release(i int, at time.Duration) (over bool) {
	for _, k := range s.graph.children[i] {
		s.loosen(k, at+s.graph.waits[k].then)
	}
	over = s.graph.end(i)
	if over && s.plan.Times == nil {
		s.driver.At(s.driver.Now()+s.plan.Think, s.user)
	}
	return over
}

// loosen records that one condition of a request is met. After the last one the request is sent when due.
func (s *Scheduler) loosen(i int, at time.Duration) {
	due, free := s.graph.loosen(i, at)
	if !free {
		return
	}
	s.driver.At(due, func() {
		switch {
		case s.plan.Times == nil:
			s.begin(Request{i, -1, due})
		case s.graph.timed:
			s.ready(Request{i, s.plan.Times[i], due})
		default:
			s.ready(Request{i, -1, due})
		}
	})
}

// ready sends a request of an open loop, or makes it wait for the limit.
func (s *Scheduler) ready(r Request) {
	if s.plan.Limit > 0 && s.inFlight >= s.plan.Limit {
		s.waiting = append(s.waiting, r)
		return
	}
	s.send(r)
}

func (s *Scheduler) send(r Request) {
	s.inFlight++
	s.driver.Send(r)
}

// expired reports whether the duration of a closed loop has passed.
func (s *Scheduler) expired() bool { return s.plan.Duration > 0 && s.driver.Now() >= s.plan.Duration }

// user begins the next request or session of a user, who leaves if there is none.
func (s *Scheduler) user() {
	switch {
	case s.expired():
		s.open--
	case s.plan.Sessions != nil:
		s.session()
	case s.plan.Requests > 0 && s.next >= s.plan.Requests:
		s.open--
	default:
		s.next++
		s.send(Request{s.next - 1, -1, s.driver.Now()})
	}
}

func (s *Scheduler) session() {
	requests, at := s.plan.Sessions.Begin(s.next)
	if len(requests) == 0 {
		s.open--
		return
	}
	s.next++
	for _, i := range requests {
		s.graph.add(i)
	}
	begin := s.driver.Now()
	for k, i := range requests {
		if !s.plan.Waits(i) {
			due := begin + at[k]
			s.driver.At(due, func() { s.begin(Request{i, -1, due}) })
		}
	}
}

// begin sends a request of a closed loop's session. After the end of the run it skips the request and those that wait
// for it.
func (s *Scheduler) begin(r Request) {
	if s.expired() {
		s.release(r.Index, s.driver.Now())
		return
	}
	s.send(r)
}
