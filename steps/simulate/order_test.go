package simulate_test

import (
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
)

const ms = time.Millisecond

// TestRequestsAreServedAsTheyCame: of requests that are heard of in another order than
// they came in, the first that came is the first served, and KV that arrives before it
// is there waits until it is.
func TestRequestsAreServedAsTheyCame(t *testing.T) {
	server, err := simulate.NewServer([]string{"vllm", "serve", "m", "--max-num-seqs", "1"}, simulate.Options{Clock: &clock.Free{}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := model.NewEngine(server.Config(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for id, at := range []time.Duration{30 * ms, 10 * ms, 20 * ms, 10 * ms} {
		if err := e.Submit(at, model.Request{ID: id, Input: 8, Output: 1}); err != nil {
			t.Fatal(err)
		}
	}
	var order []int
	for now, ok := e.NextStart(0); ok; now, ok = e.NextStart(now) {
		step, busy := e.Begin(now)
		if !busy {
			t.Fatalf("nothing begins at %v", now)
		}
		now = step.End
		for _, ev := range e.End(nil) {
			order = append(order, ev.ID)
		}
	}
	if len(order) != 4 || order[0] != 1 || order[1] != 3 || order[2] != 2 || order[3] != 0 {
		t.Errorf("served in the order %v", order)
	}
}

func TestKVThatIsOnItsWayIsWaitedFor(t *testing.T) {
	server, err := simulate.NewServer([]string{"vllm", "serve", "m"}, simulate.Options{Clock: &clock.Free{}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := model.NewEngine(server.Config(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Submit(0, model.Request{ID: 0, Input: 8, Output: 1, Remote: true}); err != nil {
		t.Fatal(err)
	}
	at, _ := e.NextStart(0)
	if _, busy := e.Begin(at); busy || len(e.TakeFetches()) != 1 {
		t.Fatal("no transfer is asked for")
	}
	if _, ok := e.NextStart(at); ok || e.Blocked() {
		t.Error("something begins without KV")
	}
	there := at + 50*ms
	e.Arrived(there, 0, 8)
	if next, ok := e.NextStart(at); !ok || next != there {
		t.Errorf("the step begins at %v, %v; the KV is there at %v", next, ok, there)
	}
	if _, busy := e.Begin(at); busy {
		t.Error("a step begins before the KV is there")
	}
	if _, busy := e.Begin(there); !busy {
		t.Error("no step begins with the KV there")
	}
}
