package simulate

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawFleet draws servers of any number and any way of KV.
func drawFleet(t *rapid.T) FleetSpec {
	c := smallConfig(t)
	way := rapid.SampledFrom([]Way{Computed, Fetched, Pushed, Delivered, Stored, Given}).Draw(t, "way")
	transfer := Transfer{Way: way, Link: Link{Bandwidth: 1e8, Latency: time.Millisecond, NICs: rapid.IntRange(1, 3).Draw(t, "nics")}, Recompute: rapid.Bool().Draw(t, "recompute")}
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
	traffic := Traffic{
		Request: func(i int) (Arrival, error) { return arrivals[i], nil },
		Limit:   rapid.IntRange(1, 5).Draw(t, "limit"),
	}
	if rapid.Bool().Draw(t, "closed") {
		traffic.Requests, traffic.Think = len(arrivals), time.Duration(rapid.IntRange(0, 5).Draw(t, "think"))*time.Millisecond
		return traffic
	}
	for _, a := range arrivals {
		traffic.Times = append(traffic.Times, a.At)
	}
	if rapid.Bool().Draw(t, "unbounded") {
		traffic.Limit = 0
	}
	return traffic
}

// TestFleetInvariants: every request of every traffic gets all of its tokens, in order and
// after it was sent; no more are in flight than may be; the same arguments give the same
// nanoseconds, and a second run starts where the first has ended.
func TestFleetInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawFleet(t)
		traffic := drawTraffic(t, spec.Decode[0].Config.MaxModelLen)
		serve := func() (*Fleet, []Served) {
			f, err := NewFleet(spec)
			if err != nil {
				t.Fatal(err)
			}
			served, err := f.Serve(t.Context(), traffic)
			if err != nil {
				t.Fatal(err)
			}
			return f, served
		}
		f, served := serve()
		for i, s := range served {
			a, _ := traffic.Request(i)
			if s.Err != nil || len(s.Tokens) != a.Output || !slices.IsSorted(s.Tokens) || s.FirstToken() <= s.Sent || s.Done != s.Tokens[len(s.Tokens)-1] {
				t.Fatalf("request %d, %d tokens wanted: %+v", i, a.Output, s)
			}
			if traffic.Times != nil && (s.Planned != traffic.Times[i] || s.Sent < s.Planned) || traffic.Times == nil && s.Planned != -1 {
				t.Fatalf("request %d is planned at %v and sent at %v", i, s.Planned, s.Sent)
			}
		}
		if n := mostAtOnce(served); traffic.Limit > 0 && n > traffic.Limit {
			t.Fatalf("%d requests in flight, %d may be", n, traffic.Limit)
		}
		_, again := serve()
		if diff := cmp.Diff(served, again); diff != "" {
			t.Fatalf("the same fleet differs: %s", diff)
		}
		before := f.Now()
		if _, err := f.Serve(t.Context(), traffic); err != nil || f.Now() <= before {
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

// fleetOf is a pair of simulated vLLM servers with KV that goes one way.
func fleetOf(t *testing.T, way Way, concurrent bool) *Fleet {
	t.Helper()
	c := pairConfig(t, "0.33.0")
	c.Noise = Noise{}
	transfer := Transfer{Way: way, Link: Link{Bandwidth: 1e9, Latency: time.Millisecond}}
	f, err := NewFleet(FleetSpec{
		Prefill: []Node{{Config: c, Transfer: transfer}}, Decode: []Node{{Config: c, Transfer: transfer}}, Concurrent: concurrent,
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestWays: what one request waits for. A transfer takes the link's time wherever it is
// waited for, a store takes it twice, and sending to both servers at once saves the way
// through the second's front end.
func TestWays(t *testing.T) {
	const input = 1024
	first := map[string]time.Duration{}
	for _, tt := range []struct {
		name       string
		way        Way
		concurrent bool
	}{
		{"given", Given, false}, {"fetched", Fetched, false}, {"at once", Fetched, true}, {"pushed", Pushed, false},
		{"delivered", Delivered, false}, {"stored", Stored, false}, {"computed", Computed, false},
	} {
		f := fleetOf(t, tt.way, tt.concurrent)
		served, err := f.Serve(t.Context(), Traffic{Times: []time.Duration{0}, Request: func(int) (Arrival, error) { return Arrival{Input: input, Output: 4}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		first[tt.name] = served[0].FirstToken()
	}
	c := pairConfig(t, "0.33.0")
	link := Link{Bandwidth: 1e9, Latency: time.Millisecond}.Time(input * c.Shape.KVBytesPerToken)
	for _, tt := range []struct {
		name, over string
		more       time.Duration
	}{
		{"fetched", "given", link}, {"delivered", "given", link}, {"stored", "given", 2 * link},
		{"at once", "fetched", -c.Profile.Frontend},
		// The push begins while the router hands the request on.
		{"pushed", "given", link - c.Profile.Frontend},
	} {
		if got := first[tt.name] - first[tt.over]; got != tt.more {
			t.Errorf("%s takes %v longer than %s, want %v", tt.name, got, tt.over, tt.more)
		}
	}
	if first["computed"] <= first["given"] {
		t.Errorf("a prompt that is computed twice has its first token after %v, one that is given after %v", first["computed"], first["given"])
	}
}

// TestFleetEnds: requests that do not fit, or take too long, end as such, and leave room
// for the others.
func TestFleetEnds(t *testing.T) {
	f := fleetOf(t, Fetched, false)
	inputs := []int{4096, 9000, 512}
	served, err := f.Serve(t.Context(), Traffic{
		Times: []time.Duration{0, 0, time.Second}, Timeout: 100 * time.Millisecond,
		Request: func(i int) (Arrival, error) { return Arrival{Input: inputs[i], Output: 2}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := served[0]; !errors.Is(s.Err, ErrRequestTimeout) || s.Done != 100*time.Millisecond || len(s.Tokens) > 0 {
		t.Errorf("4,096 tokens within 100 ms: %+v", s)
	}
	if s := served[1]; !errors.Is(s.Err, ErrTooLong) {
		t.Errorf("9,000 tokens for a model of 8,192: %+v", s)
	}
	if s := served[2]; s.Err != nil || len(s.Tokens) != 2 {
		t.Errorf("a request after those: %+v", s)
	}
	if end := f.Now(); end > 2*time.Second {
		t.Errorf("the clock stands at %v: timeouts that nobody waits for took time", end)
	}
	unmade := errors.New("not made")
	if _, err := f.Serve(t.Context(), Traffic{Times: []time.Duration{0}, Request: func(int) (Arrival, error) { return Arrival{}, unmade }}); !errors.Is(err, unmade) {
		t.Errorf("a request that cannot be made: %v", err)
	}
}

func TestFleetRefusals(t *testing.T) {
	c := pairConfig(t, "0.33.0")
	c.BlockingTransfer = true
	n := Node{Config: c, Transfer: Transfer{Way: Blocking}}
	for name, spec := range map[string]FleetSpec{"nobody answers": {Prefill: []Node{n}}, "two for one buffer": {Prefill: []Node{n, n}, Decode: []Node{n}}} {
		if _, err := NewFleet(spec); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestStartVirtual: a command line becomes a part of a fleet, with the log and the end of
// the process that it would start.
func TestStartVirtual(t *testing.T) {
	for _, tt := range []struct {
		name, settings string
		flags          []string
		way            Way
		status         int    // of a server that fails to start
		fails          string // other errors
		log            string
	}{
		{name: "alone", log: "Application startup complete."},
		{name: "NIXL", flags: kvFlag("NixlConnector", "both", ""), way: Fetched},
		{name: "P2P", flags: kvFlag("P2pNcclConnector", "consumer", ""), settings: `{"version":"0.20.0"}`, way: Pushed},
		{name: "flag", flags: []string{"--no-such-flag"}, status: 2, log: "unrecognized arguments: --no-such-flag"},
		{name: "memory", settings: `{"fail":["oom"]}`, status: 1, log: "CUDA out of memory"},
		{name: "port", settings: `{"fail":["port_in_use"]}`, status: 1, log: "Address already in use"},
		{name: "crash", settings: `{"fail":["crash_after=3"]}`, fails: "crash_after"},
		{name: "never", settings: `{"fail":["never_ready"]}`, fails: "never_ready"},
		{name: "settings", settings: `{`, fails: SettingsEnv},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			argv := append([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct"}, tt.flags...)
			v, err := StartVirtual(argv, func(name string) string {
				if name == SettingsEnv {
					return tt.settings
				}
				return ""
			}, &log)
			var ended *StartError
			switch {
			case tt.fails != "":
				if err == nil || errors.As(err, &ended) || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("error %v, want one of %q", err, tt.fails)
				}
				return
			case tt.status != 0:
				if !errors.As(err, &ended) || ended.Status != tt.status {
					t.Fatalf("error %v, want exit status %d", err, tt.status)
				}
			case err != nil:
				t.Fatal(err)
			case v.Node.Transfer.Way != tt.way || v.Startup != 300*time.Millisecond:
				t.Errorf("%+v", v.Node.Transfer)
			}
			if !strings.Contains(log.String(), tt.log) {
				t.Errorf("the log lacks %q:\n%s", tt.log, log.String())
			}
		})
	}
}
