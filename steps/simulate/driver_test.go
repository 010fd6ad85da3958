package simulate

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/model/modeltest"
)

// TestDriverKeepsModelTime: served live, a request gets its tokens at the same model
// times as in a replay.
func TestDriverKeepsModelTime(t *testing.T) {
	const input, output, seed = 256, 32, 5
	server, err := NewServer([]string{"vllm", "serve", "m"}, Options{Settings: Settings{LaunchSeed: seed}, Clock: &clock.Free{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Drive(ctx) })
	defer wg.Wait()
	defer cancel()
	prompt := make([]int, input)
	var got []time.Duration
	err = server.driver.generate(ctx, 0, prompt, output, nil, func(tk token) error {
		got = append(got, tk.at)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := modeltest.Model{Config: server.Config()}.Replay([]model.Arrival{{Input: input, Output: output, Prompt: prompt}}, seed)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want[0].Tokens) {
		t.Errorf("live %v\nreplay %v", got, want[0].Tokens)
	}
}

// TestKVThatMissesItsStepIsLate: KV that a step has begun without did not keep the model's time.
func TestKVThatMissesItsStepIsLate(t *testing.T) {
	server, err := NewServer([]string{"vllm", "serve", "m"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDriver(server.Config(), 1, &clock.Free{}, Failures{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.begun = 5 * time.Millisecond
	for _, at := range []time.Duration{4 * time.Millisecond, 5 * time.Millisecond, 6 * time.Millisecond} {
		d.arrived(at, 1, 0)
	}
	if n := d.late.Missed(); n != 1 {
		t.Errorf("%d transfers missed their step, want 1", n)
	}
}
