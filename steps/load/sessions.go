package load

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/timer"
)

// order lets the requests of recorded sessions wait for each other: one is sent when all
// that it came after have ended and the time of its tools has passed. That time is neither queue
// nor lag. After a request that failed its session goes on, so that the load stays what was planned.
type order struct {
	src dataset.Sessions
	n   int // requests of the run, 0 if that is not known
	// members are the requests of each session of the first round.
	members [][]int

	mu   sync.Mutex
	open map[int]*session // those that have begun and have not ended
}

// session is one in progress.
type session struct {
	left     int                     // requests that have not ended
	waits    map[int]*wait           // of requests that wait
	children map[int][]int           // requests that wait for one
	said     map[int]json.RawMessage // answers that prompts of the session repeat
}

// wait is what a request waits for.
type wait struct {
	left int
	last time.Time // when the last of what is over ended
	then time.Duration
}

// follower is a request whose wait is known.
type follower struct {
	index int
	due   time.Time
}

// newOrder returns nil for prompts that are not those of sessions.
func newOrder(src dataset.Source, l steps.Load, n int) (*order, error) {
	s, ok := src.(dataset.Sessions)
	if !ok {
		return nil, nil
	}
	if err := dataset.CheckSessions(l); err != nil {
		return nil, err
	}
	o := &order{src: s, n: n, open: map[int]*session{}}
	for i := range s.Len() {
		at := s.Session(i)
		for len(o.members) <= at {
			o.members = append(o.members, nil)
		}
		o.members[at] = append(o.members[at], i)
	}
	return o, nil
}

// starts are those of the first n requests that begin at their own time: all of them where
// none waits.
func (o *order) starts(n int) []int {
	var out []int
	for i := range n {
		if o == nil || o.root(i) {
			out = append(out, i)
		}
	}
	return out
}

func (o *order) root(i int) bool {
	after, _ := o.src.After(i)
	return len(after) == 0
}

// requests are those of a session that the run has.
func (o *order) requests(number int) []int {
	round := number / len(o.members)
	var out []int
	for _, i := range o.members[number%len(o.members)] {
		if i += round * o.src.Len(); o.n == 0 || i < o.n {
			out = append(out, i)
		}
	}
	return out
}

// over reports whether the run has no sessions from a number on.
func (o *order) over(number int) bool {
	return o.n > 0 && number/len(o.members)*o.src.Len() >= o.n
}

// offset is when request i began in the recording, from the begin of its round.
func (o *order) offset(i int) time.Duration {
	at := i % o.src.Len()
	return o.src.Times(at + 1)[at]
}

// describe adds what waits for what to the traffic of a model.
func (o *order) describe(t *ModelTraffic) {
	if o == nil {
		return
	}
	t.After = o.src.After
	if t.Times != nil {
		return
	}
	t.Session = func(number int) ([]int, []time.Duration) {
		if o.over(number) {
			return nil, nil
		}
		requests := o.requests(number)
		at := make([]time.Duration, len(requests))
		for k, i := range requests {
			at[k] = o.offset(i) - o.offset(requests[0])
		}
		return requests, at
	}
}

// number writes down which session requests are part of. Where the end of the run cut any, none is
// numbered: the longest are cut first, and more of them on a slower server, so that the times of the
// others would make it look faster.
func (o *order) number(requests []record.Request) {
	if o == nil {
		return
	}
	sent := map[int]int{}
	for i := range requests {
		sent[o.src.Session(requests[i].Index)]++
	}
	for number, n := range sent {
		if n < len(o.requests(number)) {
			return
		}
	}
	for i := range requests {
		number := o.src.Session(requests[i].Index)
		requests[i].Session = &number
	}
}

// of returns the session of request i, which begins with its first request.
func (o *order) of(i int) *session {
	number := o.src.Session(i)
	s := o.open[number]
	if s != nil {
		return s
	}
	s = &session{waits: map[int]*wait{}, children: map[int][]int{}, said: map[int]json.RawMessage{}}
	for _, k := range o.requests(number) {
		s.left++
		after, then := o.src.After(k)
		if len(after) > 0 {
			s.waits[k] = &wait{left: len(after), then: then}
		}
		for _, p := range after {
			s.children[p] = append(s.children[p], k)
		}
	}
	o.open[number] = s
	return s
}

// end notes that request i ended with an answer, and returns what waited for it alone.
func (o *order) end(i int, said json.RawMessage, at time.Time, wall func(time.Duration) time.Duration) []follower {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.of(i)
	if said != nil {
		s.said[i] = said
	}
	var ready []follower
	for _, k := range s.children[i] {
		w := s.waits[k]
		w.left, w.last = w.left-1, later(w.last, at)
		if w.left == 0 {
			ready = append(ready, follower{k, w.last.Add(wall(w.then))})
		}
	}
	if s.left--; s.left == 0 {
		delete(o.open, o.src.Session(i))
	}
	return ready
}

// answers are those that the prompt of request i repeats.
func (o *order) answers(i int) []json.RawMessage {
	repeated := o.src.Answers(i)
	if len(repeated) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.of(i)
	said := make([]json.RawMessage, len(repeated))
	for k, p := range repeated {
		said[k] = s.said[p]
	}
	return said
}

// slots are places among the requests in flight; nil is no bound.
type slots chan struct{}

// take waits for a place until one is free, and returns when that was: the given time if one was free then.
func (s slots) take(ctx context.Context, due time.Time) (time.Time, bool) {
	if s == nil {
		return due, true
	}
	select {
	case s <- struct{}{}: // at once, so that a late wake-up counts as lag
		return due, true
	default:
	}
	select {
	case s <- struct{}{}:
		return time.Now(), true
	case <-ctx.Done():
		return due, false
	}
}

func (s slots) give() {
	if s != nil {
		<-s
	}
}

// carry sends a request, which has its place among those in flight, and then those that waited for it.
func (r *runner) carry(ctx context.Context, wg *sync.WaitGroup, places slots, i int, planned time.Duration, due time.Time,
	release <-chan struct{}) {
	for {
		ready := r.send(ctx, i, planned, due, release)
		places.give()
		if len(ready) == 0 {
			return
		}
		for _, f := range ready[1:] {
			wg.Go(func() { r.follow(ctx, wg, places, f) })
		}
		var ok bool
		if due, ok = r.await(ctx, places, ready[0]); !ok {
			return
		}
		i, planned, release = ready[0].index, -1, nil
	}
}

// follow sends a request that waited, and those that wait for it.
func (r *runner) follow(ctx context.Context, wg *sync.WaitGroup, places slots, f follower) {
	if due, ok := r.await(ctx, places, f); ok {
		r.carry(ctx, wg, places, f.index, -1, due, nil)
	}
}

// await waits until a request that waited for others is due, and for its place.
func (r *runner) await(ctx context.Context, places slots, f follower) (due time.Time, ok bool) {
	if timer.Precise(ctx, time.Until(f.due)) != nil || r.expired() {
		return due, false
	}
	return places.take(ctx, f.due)
}

// expired reports whether the time of a closed loop is over, which has no schedule.
func (r *runner) expired() bool {
	l := r.opt.Workload.Load
	return l.Closed() && l.Duration > 0 && time.Since(r.t0) >= r.wall(l.Duration)
}

// sessions is the closed loop of recorded sessions: each user has one after the other.
func (r *runner) sessions(ctx context.Context) {
	l := r.opt.Workload.Load
	var (
		users sync.WaitGroup
		mu    sync.Mutex
		next  int
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, ctx.Err() == nil && !r.expired() && !r.order.over(next-1)
	}
	for range l.MaxConcurrency {
		users.Go(func() {
			for number, ok := take(); ok; number, ok = take() {
				r.session(ctx, r.order.requests(number))
				if l.ThinkTime > 0 && !sleepUntil(ctx, time.Now().Add(r.wall(l.ThinkTime))) {
					return
				}
			}
		})
	}
	users.Wait()
}

// session sends the requests of one session, from now on.
func (r *runner) session(ctx context.Context, requests []int) {
	var wg sync.WaitGroup
	begin := time.Now()
	for _, i := range requests {
		if r.order.root(i) {
			due := begin.Add(r.wall(r.order.offset(i) - r.order.offset(requests[0])))
			wg.Go(func() { r.follow(ctx, &wg, nil, follower{i, due}) })
		}
	}
	wg.Wait()
}
