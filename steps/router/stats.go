package router

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// stats are counted while requests pass.
type stats struct {
	start    time.Time
	inFlight atomic.Int64
	outcomes [outcomes]atomic.Uint64

	chunk, dispatch, prefill, handover histogram

	recomputed atomic.Uint64

	logging  sync.Mutex
	log      func(string)
	mu       sync.Mutex
	failures map[FailureCount]uint64 // by what is counted, whose own Count is 0
}

// outcome of a request.
type outcome int

const (
	outcomeOK      outcome = iota
	outcomeFailed          // a server or its connection
	outcomeRefused         // the request was wrong, or there was no room for it
	outcomeGone            // the client left
	outcomes
)

func (s *stats) begin() { s.inFlight.Add(1) }

func (s *stats) end(o outcome) {
	s.inFlight.Add(-1)
	s.outcomes[o].Add(1)
}

// fail counts a failure and logs the first of its kind.
func (s *stats) fail(f *failure) {
	key := FailureCount{Class: f.class}
	if f.member != nil {
		key.Member, key.Role = f.member.Name, f.member.role
	}
	s.mu.Lock()
	if s.failures == nil {
		s.failures = map[FailureCount]uint64{}
	}
	s.failures[key]++
	first := s.failures[key] == 1
	s.mu.Unlock()
	if first {
		s.say(fmt.Sprintf("request failed (%s): %v; further failures of this kind are only counted", f.class, f))
	}
}

// say logs a line; one at a time, whoever says it.
func (s *stats) say(line string) {
	if s.log != nil {
		s.logging.Lock()
		defer s.logging.Unlock()
		s.log(line)
	}
}

// Stats is what the router knows of itself.
type Stats struct {
	Protocol string  `json:"protocol"`
	Uptime   float64 `json:"uptime_seconds"`
	InFlight int64   `json:"in_flight"`
	// Requests that ended: a request that failed, was refused as wrong or for want of room, or whose client
	// left has not succeeded.
	Succeeded  uint64 `json:"succeeded"`
	Failed     uint64 `json:"failed"`
	Refused    uint64 `json:"refused"`
	ClientGone uint64 `json:"client_gone"`
	// Recomputed requests went to decode without parameters of a transfer, as allowed.
	Recomputed uint64         `json:"recomputed"`
	Failures   []FailureCount `json:"failures"`
	// Chunk is from the moment a chunk was read from a server until it was written to the
	// client's connection. A client that does not read makes it long.
	Chunk Latency `json:"chunk"`
	// Dispatch is from the start of a client's request until it leaves for a server.
	Dispatch Latency `json:"dispatch"`
	// Handover is from prefill's answer until decode is asked.
	Handover Latency `json:"handover"`
	// Prefill is from the dispatch until prefill has answered in full.
	Prefill Latency       `json:"prefill"`
	Members []MemberStats `json:"members"`
}

// FailureCount counts failures of one class on one server; no server where the client is
// to blame. A failure of prefill while decode already answers is counted here, although
// its request succeeded.
type FailureCount struct {
	Member string `json:"member,omitempty"`
	Role   string `json:"role,omitempty"`
	Class  string `json:"class"`
	Count  uint64 `json:"count"`
}

// MemberStats counts what was sent to a server.
type MemberStats struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	URL      string `json:"url"`
	Requests uint64 `json:"requests"`
}

// Stats returns what has been counted so far.
func (r *Router) Stats() Stats {
	s := &r.stats
	out := Stats{
		Protocol: r.protocol.name, Uptime: r.now().Sub(s.start).Seconds(), InFlight: s.inFlight.Load(),
		Succeeded: s.outcomes[outcomeOK].Load(), Failed: s.outcomes[outcomeFailed].Load(),
		Refused: s.outcomes[outcomeRefused].Load(), ClientGone: s.outcomes[outcomeGone].Load(),
		Recomputed: s.recomputed.Load(), Failures: s.failureCounts(),
		Chunk: s.chunk.latency(), Dispatch: s.dispatch.latency(), Handover: s.handover.latency(), Prefill: s.prefill.latency(),
	}
	for _, m := range r.all() {
		out.Members = append(out.Members, MemberStats{Name: m.Name, Role: m.role, URL: m.base.Redacted(), Requests: m.requests.Load()})
	}
	return out
}

func (s *stats) failureCounts() []FailureCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]FailureCount, 0, len(s.failures))
	for k, n := range s.failures {
		k.Count = n
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b FailureCount) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Member, b.Member), cmp.Compare(a.Class, b.Class))
	})
	return out
}
