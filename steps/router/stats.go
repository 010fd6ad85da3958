package router

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// stats holds the router's counters.
type stats struct {
	start    time.Time
	inFlight atomic.Int64
	outcomes [outcomes]atomic.Uint64

	chunk, dispatch, prefill, handover histogram

	recomputed atomic.Uint64

	logging  sync.Mutex
	log      func(string)
	mu       sync.Mutex
	failures map[FailureCount]uint64 // the key's Count is 0
}

// outcome is the result of a request.
type outcome int

const (
	outcomeOK      outcome = iota
	outcomeFailed          // failure of a server or its connection
	outcomeRefused         // invalid request, or no memory for it
	outcomeGone            // the client closed its connection
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

// say logs a line; concurrent calls are serialized.
func (s *stats) say(line string) {
	if s.log != nil {
		s.logging.Lock()
		defer s.logging.Unlock()
		s.log(line)
	}
}

// Stats holds the router's statistics.
type Stats struct {
	Protocol string  `json:"protocol"`
	Uptime   float64 `json:"uptime_seconds"`
	InFlight int64   `json:"in_flight"`
	// Succeeded, Failed, Refused and ClientGone count completed requests. Refused ones were invalid or
	// exceeded a memory limit.
	Succeeded  uint64 `json:"succeeded"`
	Failed     uint64 `json:"failed"`
	Refused    uint64 `json:"refused"`
	ClientGone uint64 `json:"client_gone"`
	// Recomputed counts requests that were sent to decode without transfer parameters, as allowed.
	Recomputed uint64         `json:"recomputed"`
	Failures   []FailureCount `json:"failures"`
	// Chunk is the time from reading a chunk from a server to writing it to the client's connection. A client
	// that does not read increases it.
	Chunk Latency `json:"chunk"`
	// Dispatch is the time from the start of a client's request to its dispatch to a server.
	Dispatch Latency `json:"dispatch"`
	// Handover is the time from prefill's answer to the request to decode.
	Handover Latency `json:"handover"`
	// Prefill is the time from the dispatch to prefill's complete answer.
	Prefill Latency       `json:"prefill"`
	Members []MemberStats `json:"members"`
}

// FailureCount counts failures of one class on one server; the server is empty if the client caused them. It
// includes failures of prefill while decode already answers, although the request succeeds.
type FailureCount struct {
	Member string `json:"member,omitempty"`
	Role   string `json:"role,omitempty"`
	Class  string `json:"class"`
	Count  uint64 `json:"count"`
}

// MemberStats counts the requests to a server.
type MemberStats struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	URL      string `json:"url"`
	Requests uint64 `json:"requests"`
}

// Stats returns the statistics since the start.
func (r *Router) Stats() Stats {
	s := &r.stats
	out := Stats{
		Protocol: r.protocol.name, Uptime: time.Since(s.start).Seconds(), InFlight: s.inFlight.Load(),
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
