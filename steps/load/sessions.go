package load

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/traffic"
)

// sessions holds the requests of a run that wait for each other, recorded or made up, and the answers in them. The
// wait counts neither as queue nor as lag. After a failed request its session continues, with a made-up answer where a
// prompt repeats answers. The load thus stays as planned.
type sessions struct {
	src dataset.Sessions
	n   int // requests of the run, 0 if that is not known
	// think is the time that a user waits between two turns of a conversation. In recorded sessions the
	// recording determines it.
	think time.Duration
	// times holds when the requests of a round began in the recording, nil for sessions that are made up.
	times []time.Duration

	mu        sync.Mutex
	byRequest map[int]map[int]json.RawMessage // answers of the sessions that have not ended, by request
}

// newSessions returns nil for prompts that do not wait for each other.
func newSessions(src dataset.Source, l steps.Load, n int) (*sessions, error) {
	in, ok := src.(dataset.Sessions)
	if !ok {
		return nil, nil
	}
	s := &sessions{src: in, n: n, byRequest: map[int]map[int]json.RawMessage{}}
	if timed, ok := in.(dataset.Timed); ok {
		s.times = timed.Times(timed.Len())
		return s, dataset.CheckSessions(l)
	}
	if l.Closed() {
		s.think = l.ThinkTime
	}
	return s, nil
}

// recorded reports whether the sessions are from a trace, which has times for requests that do not wait.
func (s *sessions) recorded() bool {
	_, ok := s.src.(dataset.Timed)
	return ok
}

// planOf returns the plan of a load whose requests have a schedule, sessions, or neither.
func planOf(l steps.Load, schedule []time.Duration, s *sessions) traffic.Plan {
	p := traffic.Plan{Times: schedule, Limit: l.MaxConcurrency, Requests: l.Requests, Duration: l.Duration, Think: l.ThinkTime}
	if s != nil {
		p.Sessions, p.Timed = s, !s.recorded()
	}
	return p
}

// Session implements traffic.Sessions.
func (s *sessions) Session(i int) int { return s.src.Session(i) }

// After implements traffic.Sessions.
func (s *sessions) After(i int) ([]int, time.Duration) {
	after, wait := s.src.After(i)
	return after, wait + s.think
}

// requests returns the requests of a session that the run has.
func (s *sessions) requests(number int) (out []int) {
	for _, i := range s.src.Requests(number) {
		if s.n == 0 || i < s.n {
			out = append(out, i)
		}
	}
	return out
}

// Begin implements traffic.Sessions.
func (s *sessions) Begin(number int) (requests []int, at []time.Duration) {
	requests = s.requests(number)
	at = make([]time.Duration, len(requests))
	if n := len(s.times); n > 0 {
		for k, i := range requests {
			at[k] = s.times[i%n] - s.times[requests[0]%n]
		}
	}
	return requests, at
}

// number writes the number of its recorded session into each request. If the end of the run cut a session, none is
// numbered: the longest are cut first, and more of them on a slower server. The times of the others would make that
// server look faster.
func (s *sessions) number(requests *record.List) {
	if s == nil || !s.recorded() {
		return
	}
	sent := map[int]int{}
	for _, r := range requests.All() {
		sent[s.src.Session(r.Index)]++
	}
	for number, n := range sent {
		if n < len(s.requests(number)) {
			return
		}
	}
	requests.Edit(func(r *record.Request) { r.Session = new(s.src.Session(r.Index)) })
}

// keep stores the answer to a request, for prompts that repeat it.
func (s *sessions) keep(i int, answer json.RawMessage) {
	if s == nil || answer == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.src.Session(i)
	if s.byRequest[number] == nil {
		s.byRequest[number] = map[int]json.RawMessage{}
	}
	s.byRequest[number][i] = answer
}

// forget drops the answers of a session that is over, identified by one of its requests.
func (s *sessions) forget(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byRequest, s.src.Session(i))
}

// continues reports whether the prompt of request i repeats answers of the server.
func (s *sessions) continues(i int) bool { return s != nil && len(s.src.Answers(i)) > 0 }

// answers returns the answers that the prompt of request i repeats. The answer to a failed request is nil.
func (s *sessions) answers(i int) []json.RawMessage {
	repeated := s.src.Answers(i)
	s.mu.Lock()
	defer s.mu.Unlock()
	answers := make([]json.RawMessage, len(repeated))
	for k, p := range repeated {
		answers[k] = s.byRequest[s.src.Session(i)][p]
	}
	return answers
}
