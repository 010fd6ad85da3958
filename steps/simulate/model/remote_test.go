package model

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRemoteInvariants drives servers whose requests get their KV from elsewhere, or keep
// it for others, in random order and amount.
func TestRemoteInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := smallConfig(t)
		c.BlockingTransfer = rapid.Bool().Draw(t, "blocking")
		arrivals := drawArrivals(t, c.MaxModelLen)
		e, err := NewEngine(c, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for i, a := range arrivals {
			r := Request{ID: i, Input: a.Input, Output: a.Output, IDs: a.Prompt, Remote: rapid.Bool().Draw(t, "remote"),
				Hold: rapid.Bool().Draw(t, "hold")}
			if err := e.Submit(a.At, r); err != nil {
				t.Fatal(err)
			}
			want += a.Output
		}
		var now time.Duration
		var fetching, held []int
		for steps := 0; ; steps++ {
			if steps > 50_000 {
				t.Fatalf("not done after %d steps: a request starves; %+v", steps, e.Stats())
			}
			step, busy := e.Begin(now)
			fetching = append(fetching, e.TakeFetches()...)
			if busy {
				tokens := map[int]int{}
				for _, id := range step.Fetches {
					tokens[id] = rapid.IntRange(0, e.Missing(id)).Draw(t, "part")
				}
				if len(tokens) > 0 {
					step = e.Fetched(step, tokens)
				}
				now = step.End
				for _, ev := range e.End(nil) {
					if ev.Last && ev.Blocks != nil {
						held = append(held, ev.ID)
					}
				}
			}
			// Peers answer and take when they like, at the latest when nothing else goes on.
			if len(fetching) > 0 && (!busy || rapid.Bool().Draw(t, "arrives")) {
				id := fetching[0]
				fetching = fetching[1:]
				e.Arrived(now, id, rapid.IntRange(0, e.Missing(id)).Draw(t, "arrived"))
				continue
			}
			if len(held) > 0 && (!busy || rapid.Bool().Draw(t, "taken")) {
				if !e.Release(held[0]) || e.Release(held[0]) {
					t.Fatalf("request %d is not held exactly once", held[0])
				}
				held = held[1:]
				continue
			}
			if busy {
				continue
			}
			next, more := e.NextReady()
			if !more {
				break
			}
			now = max(now, next)
		}
		st := e.Stats()
		if st.OutputTokens != want || st.Running != 0 || st.Waiting != 0 {
			t.Fatalf("made %d of %d tokens: %+v", st.OutputTokens, want, st)
		}
		if st.ExternalHits > st.ExternalQueries {
			t.Fatalf("more tokens came than were asked for: %+v", st)
		}
		if e.pool.free != len(e.pool.blocks) {
			t.Fatalf("%d of %d blocks are free at the end", e.pool.free, len(e.pool.blocks))
		}
	})
}

// TestNICQueue: transfers share the NICs first in, first out, and take at least the link's time.
func TestNICQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Link{Bandwidth: 1e9, Latency: time.Microsecond * time.Duration(rapid.IntRange(0, 100).Draw(t, "latency")),
			NICs: rapid.IntRange(1, 4).Draw(t, "nics")}
		q := NewNICQueue(l)
		var now, last time.Duration
		total := 0.0
		first := time.Duration(-1)
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			now += time.Duration(rapid.IntRange(0, 5_000_000).Draw(t, "gap"))
			bytes := float64(rapid.IntRange(1, 10_000_000).Draw(t, "bytes"))
			if first < 0 {
				first = now
			}
			end := q.Reserve(now, bytes)
			if end < last || end < now+l.Time(bytes)-time.Microsecond {
				t.Fatalf("a transfer of %v bytes asked at %v ends at %v, the one before at %v", bytes, now, end, last)
			}
			total, last = total+bytes, end
		}
		if busy := seconds(total / (l.Bandwidth * float64(l.NICs))); last < first+busy-time.Microsecond {
			t.Fatalf("%v bytes passed in %v, the NICs need %v", total, last-first, busy)
		}
	})
	one, two := (Link{Bandwidth: 1e9, NICs: 1}), (Link{Bandwidth: 1e9, NICs: 2})
	if one.Time(1e9) != time.Second || two.Time(1e9) != time.Second/2 {
		t.Errorf("1 GB takes %v over one NIC and %v over two", one.Time(1e9), two.Time(1e9))
	}
}
