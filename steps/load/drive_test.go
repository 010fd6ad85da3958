package load

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/timer"
)

// asking records when the prompts of requests are asked for, which is when they are prepared.
type asking struct {
	dataset.Source
	mu sync.Mutex
	at map[int]time.Time
}

func (s *asking) Prompt(i int, seeds dataset.Seeds) dataset.Prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[i] = time.Now()
	return s.Source.Prompt(i, seeds)
}

// TestRequestsArePreparedAhead: the prompt and the connection of a planned request are ready before its time, so that
// neither delays its send.
func TestRequestsArePreparedAhead(t *testing.T) {
	w := workload(20)
	w.Load = steps.Load{Arrival: Poisson, Rate: 8, Requests: 20}
	r, err := prepare(t.Context(), Options{BaseURL: serve(t, healthy).URL, Model: "m", Workload: w, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.client.pool.close()
	r.client.pool.target.addr = "127.0.0.1:1" // only when a connection is asked for matters
	synctest.Test(t, func(t *testing.T) {
		source := &asking{Source: r.work.src, at: map[int]time.Time{}}
		r.work.src, r.work.prompts, r.work.wires = source, nil, nil
		d := r.newDriver(t.Context(), planOf(r.opt.Workload.Load, r.schedule, r.sessions))
		d.until = func(ctx context.Context, at time.Time) error { return timer.Sleep(ctx, time.Until(at)) }
		r.t0 = time.Now().Add(lead)
		r.client.clock = newClock(r.t0)
		d.run()
		if len(source.at) != len(r.schedule) || len(r.schedule) < 2 {
			t.Fatalf("%d of %d requests were prepared", len(source.at), len(r.schedule))
		}
		for i, at := range r.schedule {
			if ahead := d.wallTime(at).Sub(source.at[i]); ahead != lead {
				t.Errorf("request %d was prepared %s before its time, want %s", i, ahead, lead)
			}
		}
	})
}
