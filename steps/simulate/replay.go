package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/servegate/pipeline/steps/record"
)

// Model is a simulated server that is run in virtual time.
type Model struct {
	Config Config
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

// FirstToken is the time of the first output token.
func (t Timeline) FirstToken() time.Duration { return t.Tokens[0] }

// Replay serves all arrivals in virtual time and returns one timeline for each, in their
// order. The same arguments give the same result to the nanosecond. The seed draws the
// noise of one launch of the server.
func (m Model) Replay(arrivals []Arrival, launchSeed uint64) ([]Timeline, error) {
	f, err := NewFleet(FleetSpec{Decode: []Node{{Config: m.Config, Seed: launchSeed}}})
	if err != nil {
		return nil, err
	}
	return f.replay(arrivals)
}

// byTime sorts arrivals: their indices in the order of their times, and the times.
func byTime(arrivals []Arrival) (order []int, times []time.Duration) {
	order, times = make([]int, len(arrivals)), make([]time.Duration, len(arrivals))
	for i := range arrivals {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(arrivals[i].At, arrivals[j].At) })
	for i, at := range order {
		times[i] = arrivals[at].At
	}
	return order, times
}

// Records writes timelines down as the load generator would have: one event for each
// token, sent exactly as planned, nothing failed.
func Records(arrivals []Arrival, timelines []Timeline) []record.Request {
	requests := make([]record.Request, len(timelines))
	for i, t := range timelines {
		events := make([]record.Event, len(t.Tokens))
		for j, at := range t.Tokens {
			events[j] = record.Event{At: int64(at), Tokens: j + 1}
		}
		first, last := int64(t.Tokens[0]), int64(t.Tokens[len(t.Tokens)-1])
		requests[i] = record.Request{
			Index: i, Planned: int64(t.Arrival), Sent: int64(t.Arrival), Headers: first, Done: last, Events: events,
			PromptTokens: arrivals[i].Input, WantTokens: arrivals[i].Output, OutputTokens: len(t.Tokens), CachedTokens: t.Cached,
			Status: 200, Finish: "length",
		}
	}
	return requests
}
