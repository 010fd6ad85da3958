// Package modeltest replays arrivals on simulated servers in virtual time, for tests.
package modeltest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/traffic"
)

// Model is a simulated server that is run in virtual time.
type Model struct {
	Config model.Config
}

// Replay serves all arrivals in virtual time and returns one timeline for each, in their
// order. The same arguments give the same result to the nanosecond. The seed draws the
// noise of one launch of the server.
func (m Model) Replay(arrivals []model.Arrival, launchSeed uint64) ([]model.Timeline, error) {
	f, err := model.NewFleet(model.FleetSpec{Decode: []model.Node{{Config: m.Config, Seed: launchSeed}}})
	if err != nil {
		return nil, err
	}
	return replay(f, arrivals)
}

// byTime sorts arrivals: their indices in the order of their times, and the times.
func byTime(arrivals []model.Arrival) (order []int, times []time.Duration) {
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

// Pair is a prefill and a decode server behind a router, run in virtual time. The decode
// server's BlockingTransfer says which generation of connectors joins them: with it, the
// lookup buffer of vLLM before V1; without it, transfers go beside the steps of both, and
// share the link.
type Pair struct {
	Prefill, Decode model.Config
	Link            model.Link
	// Hop is the time that the router takes to pass a request, or a server's answer, on.
	Hop time.Duration
}

// Replay serves all arrivals in virtual time: each goes to the prefill server for one
// token and then to the decode server for all. The timelines are those of the client.
func (p Pair) Replay(arrivals []model.Arrival, launchSeed uint64) ([]model.Timeline, error) {
	t := model.Transfer{Way: model.Fetched, Link: p.Link}
	if p.Decode.BlockingTransfer {
		t.Way = model.Blocking
	}
	f, err := model.NewFleet(model.FleetSpec{
		Prefill: []model.Node{{Config: p.Prefill, Seed: launchSeed, Transfer: t}},
		Decode:  []model.Node{{Config: p.Decode, Seed: launchSeed + 1, Transfer: t}},
		Hop:     p.Hop,
	})
	if err != nil {
		return nil, err
	}
	return replay(f, arrivals)
}

// Serve returns the served requests of a run by their indices.
func Serve(ctx context.Context, f *model.Fleet, t model.Traffic) ([]model.Served, error) {
	var served []model.Served
	t.Ended = func(s model.Served) { served = append(served, s) }
	err := f.Serve(ctx, t)
	slices.SortFunc(served, func(a, b model.Served) int { return a.Index - b.Index })
	return served, err
}

// replay serves arrivals that are all to be answered.
func replay(f *model.Fleet, arrivals []model.Arrival) ([]model.Timeline, error) {
	order, times := byTime(arrivals)
	served, err := Serve(context.Background(), f, model.Traffic{Plan: traffic.Plan{Times: times}, Request: func(i int) (model.Arrival,
		error) {
		return arrivals[order[i]], nil
	}})
	if err != nil {
		return nil, err
	}
	timelines := make([]model.Timeline, len(arrivals))
	for i, s := range served {
		if s.Err != nil {
			return nil, fmt.Errorf("replay: %w", s.Err)
		}
		timelines[order[i]] = s.Timeline
	}
	return timelines, nil
}
