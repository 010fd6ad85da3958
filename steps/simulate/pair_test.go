package simulate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func pairConfig(t *testing.T, version string, flags ...string) Config {
	t.Helper()
	s, err := NewServer(append([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--max-model-len", "8192"}, flags...), Options{Settings: Settings{Version: version}})
	if err != nil {
		t.Fatal(err)
	}
	return s.Config()
}

func evenArrivals(n, input, output int, gap time.Duration) []Arrival {
	arrivals := make([]Arrival, n)
	for i := range arrivals {
		arrivals[i] = Arrival{At: time.Duration(i) * gap, Input: input, Output: output}
	}
	return arrivals
}

// TestPairOverLinks: the faster the link the earlier the first token, with either
// generation of connectors, and decode is steadier than on one server.
func TestPairOverLinks(t *testing.T) {
	net := fastNetwork()
	links := []Link{net.NVLink, net.link(transportRDMA, 2), net.link(transportRDMA, 1), net.TCP}
	for _, blocking := range []bool{false, true} {
		arrivals := evenArrivals(200, 1024, 32, 55*time.Millisecond)
		c := pairConfig(t, "0.6.4")
		decode := c
		decode.BlockingTransfer = blocking
		var last time.Duration
		for i, l := range links {
			timelines, err := Pair{Prefill: c, Decode: decode, Link: l}.Replay(arrivals, 7)
			if err != nil {
				t.Fatal(err)
			}
			var first []time.Duration
			for _, tl := range timelines {
				if len(tl.Tokens) != 32 {
					t.Fatalf("%d tokens of 32", len(tl.Tokens))
				}
				first = append(first, tl.FirstToken()-tl.Arrival)
			}
			slices.Sort(first)
			if median := first[100]; median <= last {
				t.Errorf("blocking %v: link %d has a median TTFT of %v, the faster one before it %v", blocking, i, median, last)
			} else {
				last = median
			}
			if blocking || i > 0 {
				continue
			}
			alone, err := Model{Config: c}.Replay(arrivals, 7)
			if err != nil {
				t.Fatal(err)
			}
			if pair, one := summarize(timelines), summarize(alone); pair.tpotMean > 0.8*one.tpotMean {
				t.Errorf("mean TPOT is %.2f ms on the pair, %.2f on one server whose prefills stop decodes", pair.tpotMean, one.tpotMean)
			}
		}
	}
}

// TestPairInvariants: every request gets its tokens in order, not before its transfer could
// be over, and the same arguments give the same nanoseconds.
func TestPairInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := smallConfig(t)
		p := Pair{Prefill: c, Decode: c, Hop: time.Millisecond, Link: Link{Bandwidth: 1e8, Latency: time.Millisecond, NICs: rapid.IntRange(1, 3).Draw(t, "nics")}}
		p.Decode.BlockingTransfer = rapid.Bool().Draw(t, "blocking")
		arrivals := drawArrivals(t, c.MaxModelLen)
		timelines, err := p.Replay(arrivals, 3)
		if err != nil {
			t.Fatal(err)
		}
		for i, tl := range timelines {
			a := arrivals[i]
			if len(tl.Tokens) != a.Output || !slices.IsSorted(tl.Tokens) {
				t.Fatalf("request %d: %d of %d tokens, at %v", i, len(tl.Tokens), a.Output, tl.Tokens)
			}
			if least := a.At + 2*p.Hop + 2*c.Profile.Frontend + p.Link.Latency; tl.FirstToken() < least {
				t.Fatalf("request %d: first token at %v, possible from %v on", i, tl.FirstToken(), least)
			}
		}
		again, err := p.Replay(arrivals, 3)
		if err != nil || cmp.Diff(timelines, again) != "" {
			t.Fatalf("a second replay differs: %v", err)
		}
	})
}

func TestPairRefusals(t *testing.T) {
	c := pairConfig(t, "0.33.0")
	bad := c
	bad.BlockSize = 0
	if _, err := (Pair{Prefill: bad, Decode: c}).Replay(nil, 1); err == nil {
		t.Error("a prefill server without blocks is accepted")
	}
	if _, err := (Pair{Prefill: c, Decode: bad}).Replay(nil, 1); err == nil {
		t.Error("a decode server without blocks is accepted")
	}
	if _, err := (Pair{Prefill: c, Decode: c, Link: Link{Bandwidth: 1}}).Replay(evenArrivals(1, 8192, 1, 0), 1); err == nil {
		t.Error("a prompt that leaves no room for a token is accepted")
	}
}
