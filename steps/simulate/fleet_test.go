package simulate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/model/modeltest"
	"github.com/servegate/pipeline/steps/traffic"
)

// fleetOf is a pair of simulated vLLM servers with KV that goes one way.
func fleetOf(t *testing.T, way model.Way, concurrent bool) *model.Fleet {
	t.Helper()
	c := pairConfig(t, "0.33.0")
	c.Noise = model.Noise{}
	transfer := model.Transfer{Way: way, Link: model.Link{Bandwidth: 1e9, Latency: time.Millisecond}}
	f, err := model.NewFleet(model.FleetSpec{
		Prefill: []model.Node{{Config: c, Transfer: transfer}}, Decode: []model.Node{{Config: c, Transfer: transfer}}, Concurrent: concurrent,
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
		way        model.Way
		concurrent bool
	}{
		{"given", model.Given, false}, {"fetched", model.Fetched, false}, {"at once", model.Fetched, true}, {"pushed", model.Pushed, false},
		{"delivered", model.Delivered, false}, {"stored", model.Stored, false}, {"computed", model.Computed, false},
	} {
		f := fleetOf(t, tt.way, tt.concurrent)
		served, err := modeltest.Serve(t.Context(), f, model.Traffic{Plan: traffic.Plan{Times: []time.Duration{0}},
			Request: func(int) (model.Arrival,
				error) {
				return model.Arrival{Input: input, Output: 4}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		first[tt.name] = served[0].Tokens[0]
	}
	c := pairConfig(t, "0.33.0")
	link := model.Link{Bandwidth: 1e9, Latency: time.Millisecond}.Time(input * c.Shape.KVBytesPerToken)
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
	f := fleetOf(t, model.Fetched, false)
	inputs := []int{4096, 9000, 512}
	served, err := modeltest.Serve(t.Context(), f, model.Traffic{
		Plan: traffic.Plan{Times: []time.Duration{0, 0, time.Second}}, Timeout: 100 * time.Millisecond,
		Request: func(i int) (model.Arrival, error) { return model.Arrival{Input: inputs[i], Output: 2}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := served[0]; !errors.Is(s.Err, model.ErrRequestTimeout) || s.Done != 100*time.Millisecond || len(s.Tokens) > 0 {
		t.Errorf("4,096 tokens within 100 ms: %+v", s)
	}
	if s := served[1]; !errors.Is(s.Err, model.ErrTooLong) {
		t.Errorf("9,000 tokens for a model of 8,192: %+v", s)
	}
	if s := served[2]; s.Err != nil || len(s.Tokens) != 2 {
		t.Errorf("a request after those: %+v", s)
	}
	if end := f.Now(); end > 2*time.Second {
		t.Errorf("the clock stands at %v: timeouts that nobody waits for took time", end)
	}
	unmade := errors.New("not made")
	if _, err := modeltest.Serve(t.Context(), f, model.Traffic{Plan: traffic.Plan{Times: []time.Duration{0}},
		Request: func(int) (model.Arrival,
			error) {
			return model.Arrival{}, unmade
		}}); !errors.Is(err, unmade) {
		t.Errorf("a request that cannot be made: %v", err)
	}
}

func TestFleetRefusals(t *testing.T) {
	c := pairConfig(t, "0.33.0")
	c.BlockingTransfer = true
	n := model.Node{Config: c, Transfer: model.Transfer{Way: model.Blocking}}
	for name, spec := range map[string]model.FleetSpec{"nobody answers": {Prefill: []model.Node{n}},
		"two for one buffer": {Prefill: []model.Node{n, n}, Decode: []model.Node{n}}} {
		if _, err := model.NewFleet(spec); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
