// Package traffic decides when the requests of a run are sent: by a schedule or by users who wait for answers,
// after the requests that they wait for, and within a limit on requests in flight. It uses a
// [Driver] as its clock and to send requests, over connections or in virtual time.
package traffic

import "time"

// Plan describes the requests of a run beforehand.
type Plan struct {
	// Times holds the planned times of requests, ascending, from the start of the run; nil for a closed loop.
	Times []time.Duration
	// Limit is the largest number of requests in flight in an open loop, 0 for no limit. In a closed loop it is
	// the number of users.
	Limit int
	// Requests and Duration end a closed loop, whichever comes first; 0 means no limit.
	Requests int
	Duration time.Duration
	// Think is a user's waiting time after an answer, or after a session.
	Think time.Duration
	// Sessions holds requests that wait for each other; nil without any. Users of a closed loop have one
	// session after the other.
	Sessions Sessions
	// Timed is true if requests that wait for others also wait for their planned times. Otherwise Times does
	// not apply to them.
	Timed bool
}

// Sessions describes the sessions of a run, numbered from 0.
type Sessions interface {
	// Session returns the number of a request's session.
	Session(i int) int
	// After returns the requests that must have ended before a request is sent, all in the same session, and the
	// waiting time after the last of them.
	After(i int) (requests []int, wait time.Duration)
	// Begin returns the requests of a session, ascending. at holds, for those that wait for none, the time from
	// the start of the session. Without requests there are no more sessions.
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

// Planned returns the requests to which Times applies, in order.
func (p Plan) Planned() []int {
	out := make([]int, 0, len(p.Times))
	for i := range p.Times {
		if p.Timed || !p.Waits(i) {
			out = append(out, i)
		}
	}
	return out
}
