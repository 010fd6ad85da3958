package traffic

import "time"

// graph holds the requests that wait for others. Sessions are added before their requests are sent, and removed
// when their last request has ended.
type graph struct {
	sessions Sessions
	// timed is true if waiting requests also wait for their planned times.
	timed bool
	waits map[int]*wait
	// children maps a request to those that wait for it.
	children map[int][]int
	// left counts the unfinished requests of each session.
	left map[int]int
}

// wait is the state of one waiting request.
type wait struct {
	left int           // unmet conditions: ends of requests, and the planned time
	then time.Duration // time between the end of the last request and the send
	due  time.Duration // latest time so far
}

func newGraph(p Plan) graph {
	return graph{
		sessions: p.Sessions, timed: p.Timed && p.Times != nil,
		waits: map[int]*wait{}, children: map[int][]int{}, left: map[int]int{},
	}
}

// add adds a request of a session.
func (g *graph) add(i int) {
	if g.sessions == nil {
		return
	}
	g.left[g.sessions.Session(i)]++
	after, then := g.sessions.After(i)
	if len(after) == 0 {
		return
	}
	w := &wait{left: len(after), then: then}
	if g.timed {
		w.left++
	}
	g.waits[i] = w
	for _, p := range after {
		g.children[p] = append(g.children[p], i)
	}
}

// loosen records that one condition of a request is met, and that it is due at the given time at the earliest.
// It reports whether that was the last one, and when the request is due.
func (g *graph) loosen(i int, at time.Duration) (due time.Duration, free bool) {
	w := g.waits[i]
	w.left, w.due = w.left-1, max(w.due, at)
	if w.left > 0 {
		return 0, false
	}
	delete(g.waits, i)
	return w.due, true
}

// end records that a request ended, and reports whether it was the last of its session.
func (g *graph) end(i int) (over bool) {
	if g.sessions == nil {
		return false
	}
	delete(g.children, i)
	number := g.sessions.Session(i)
	if g.left[number]--; g.left[number] > 0 {
		return false
	}
	delete(g.left, number)
	return true
}
