package model

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps/traffic"
	"pgregory.net/rapid"
)

// drawFleet draws servers of any number and any way of KV.
func drawFleet(t *rapid.T) FleetSpec {
	c := smallConfig(t)
	way := rapid.SampledFrom([]Way{Computed, Fetched, Pushed, Delivered, Stored, Given}).Draw(t, "way")
	transfer := Transfer{Way: way, Link: Link{Bandwidth: 1e8, Latency: time.Millisecond, NICs: rapid.IntRange(1, 3).Draw(t, "nics")},
		Recompute: rapid.Bool().Draw(t, "recompute")}
	spec := FleetSpec{Hop: time.Millisecond, Concurrent: rapid.Bool().Draw(t, "concurrent"), Every: 10 * time.Millisecond}
	for i := range rapid.IntRange(0, 3).Draw(t, "prefill") {
		spec.Prefill = append(spec.Prefill, Node{Config: c, Seed: uint64(i), Transfer: transfer})
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "decode") {
		spec.Decode = append(spec.Decode, Node{Config: c, Seed: uint64(10 + i), Transfer: transfer})
	}
	return spec
}

// drawTraffic draws an open or a closed loop of requests that all fit.
func drawTraffic(t *rapid.T, limit int) Traffic {
	arrivals := drawArrivals(t, limit)
	sent := Traffic{
		Request: func(i int) (Arrival, error) { return arrivals[i], nil },
		Plan:    traffic.Plan{Limit: rapid.IntRange(1, 5).Draw(t, "limit")},
	}
	if rapid.Bool().Draw(t, "closed") {
		sent.Requests, sent.Think = len(arrivals), time.Duration(rapid.IntRange(0, 5).Draw(t, "think"))*time.Millisecond
		return sent
	}
	for _, a := range arrivals {
		sent.Times = append(sent.Times, a.At)
	}
	if rapid.Bool().Draw(t, "unbounded") {
		sent.Limit = 0
	}
	return sent
}

// TestFleetInvariants: every request of every traffic gets all of its tokens, in order and
// after it was sent; no more are in flight than may be; the same arguments give the same
// nanoseconds, and a second run starts where the first has ended.
func TestFleetInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawFleet(t)
		sent := drawTraffic(t, spec.Decode[0].Config.MaxModelLen)
		serve := func() (*Fleet, []Served) {
			f, err := NewFleet(spec)
			if err != nil {
				t.Fatal(err)
			}
			all, err := served(t.Context(), f, sent)
			if err != nil {
				t.Fatal(err)
			}
			return f, all
		}
		f, all := serve()
		for i, s := range all {
			a, _ := sent.Request(i)
			if s.Err != nil || len(s.Tokens) != a.Output || !slices.IsSorted(s.Tokens) || s.Tokens[0] <= s.Sent ||
				s.Done != s.Tokens[len(s.Tokens)-1] {
				t.Fatalf("request %d, %d tokens wanted: %+v", i, a.Output, s)
			}
			if sent.Times != nil && (s.Planned != sent.Times[i] || s.Sent < s.Planned) || sent.Times == nil && s.Planned != -1 {
				t.Fatalf("request %d is planned at %v and sent at %v", i, s.Planned, s.Sent)
			}
		}
		if n := mostAtOnce(all); sent.Limit > 0 && n > sent.Limit {
			t.Fatalf("%d requests in flight, %d may be", n, sent.Limit)
		}
		_, again := serve()
		if diff := cmp.Diff(all, again); diff != "" {
			t.Fatalf("the same fleet differs: %s", diff)
		}
		before := f.Now()
		if _, err := served(t.Context(), f, sent); err != nil || f.Now() <= before {
			t.Fatalf("a second run ends at %v after %v: %v", f.Now(), before, err)
		}
		held := 0
		for i := range len(spec.Prefill) + len(spec.Decode) {
			s := f.Note(i).Stats
			held += s.Running + s.Waiting
			if !spec.Decode[0].Config.PrefixCache && s.KVUsage > 0 {
				t.Fatalf("server %d holds %g of its cache after all is done", i, s.KVUsage)
			}
		}
		if held > 0 {
			t.Fatalf("%d requests are left on the servers", held)
		}
	})
}

// served returns the served requests of a run by their indices.
func served(ctx context.Context, f *Fleet, t Traffic) ([]Served, error) {
	var all []Served
	t.Ended = func(s Served) { all = append(all, s) }
	err := f.Serve(ctx, t)
	slices.SortFunc(all, func(a, b Served) int { return a.Index - b.Index })
	return all, err
}

// mostAtOnce is the largest number of requests in flight.
func mostAtOnce(served []Served) int {
	most := 0
	for _, a := range served {
		n := 0
		for _, b := range served {
			if b.Sent <= a.Sent && a.Sent < b.Done {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestPairInvariants: every request gets its tokens in order, not before its transfer could
// be over, and the same arguments give the same nanoseconds.
func TestPairInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := smallConfig(t)
		link := Link{Bandwidth: 1e8, Latency: time.Millisecond, NICs: rapid.IntRange(1, 3).Draw(t, "nics")}
		transfer := Transfer{Way: Fetched, Link: link}
		decode := c
		if decode.BlockingTransfer = rapid.Bool().Draw(t, "blocking"); decode.BlockingTransfer {
			transfer.Way = Blocking
		}
		spec := FleetSpec{
			Prefill: []Node{{Config: c, Seed: 3, Transfer: transfer}}, Decode: []Node{{Config: decode, Seed: 4, Transfer: transfer}},
			Hop: time.Millisecond,
		}
		arrivals := drawArrivals(t, c.MaxModelLen)
		served := serveAll(t, spec, arrivals)
		for i, s := range served {
			a := arrivals[i]
			if len(s.Tokens) != a.Output || !slices.IsSorted(s.Tokens) {
				t.Fatalf("request %d: %d of %d tokens, at %v", i, len(s.Tokens), a.Output, s.Tokens)
			}
			if least := a.At + 2*spec.Hop + 2*c.Profile.Frontend + link.Latency; s.Tokens[0] < least {
				t.Fatalf("request %d: first token at %v, possible from %v on", i, s.Tokens[0], least)
			}
		}
		if diff := cmp.Diff(served, serveAll(t, spec, arrivals)); diff != "" {
			t.Fatalf("a second run differs: %s", diff)
		}
	})
}

// serveAll serves arrivals in the order of their times, all of which are to be answered.
func serveAll(t *rapid.T, spec FleetSpec, arrivals []Arrival) []Served {
	f, err := NewFleet(spec)
	if err != nil {
		t.Fatal(err)
	}
	times := make([]time.Duration, len(arrivals))
	for i, a := range arrivals {
		times[i] = a.At
	}
	all, err := served(t.Context(), f, Traffic{
		Plan: traffic.Plan{Times: times}, Request: func(i int) (Arrival, error) { return arrivals[i], nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Err != nil {
			t.Fatal(s.Err)
		}
	}
	return all
}
