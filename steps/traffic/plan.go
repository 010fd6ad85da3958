// Package traffic decides when the requests of a run are sent: by a schedule or by users who wait for answers, after
// the requests that they wait for, and within a bound on those in flight. It has no clock and sends nothing itself:
// a [Driver] does both, over connections or in virtual time.
package traffic

import "time"

// Plan says what is known of the requests of a run beforehand.
type Plan struct {
	// Times at which requests are planned, ascending, from the start of the run; nil for a closed loop.
	Times []time.Duration
	// Limit bounds the requests in flight of an open loop, 0 for no bound, and is the
	// number of users of a closed one.
	Limit int
	// Requests and Duration end a closed loop, what comes first; 0 is no bound.
	Requests int
	Duration time.Duration
	// Think is how long a user waits after an answer, or after a session.
	Think time.Duration
	// Sessions are requests that wait for each other; nil where none does. Users of a closed loop have one
	// session after the other.
	Sessions Sessions
	// Timed says that requests which wait for others are not sent before their planned times either. Without it
	// Times says nothing of them.
	Timed bool
}

// Sessions are the sessions of a run, numbered from 0.
type Sessions interface {
	// Session returns the number of the session that a request is part of.
	Session(i int) int
	// After returns the requests that must have ended before a request is sent, all of its own session, and how
	// long it waits after the last of them.
	After(i int) (requests []int, wait time.Duration)
	// Begin returns the requests of a session, ascending, and how long after its begin each is sent that waits for
	// none. Without requests there are no more sessions.
	Begin(session int) (requests []int, at []time.Duration)
}

// Waits reports whether a request waits for others.
func (p Plan) Waits(i int) bool {
	if p.Sessions == nil {
		return false
	}
	after, _ := p.Sessions.After(i)
	return len(after) > 0
}

// Planned returns the requests that Times are those of, in their order.
func (p Plan) Planned() []int {
	out := make([]int, 0, len(p.Times))
	for i := range p.Times {
		if p.Timed || !p.Waits(i) {
			out = append(out, i)
		}
	}
	return out
}
